import { deepEqual, equal } from "node:assert/strict";
import { oddText, randomNumbers } from "./random.ts";
import { type Cases, type Scene, namesOf, run } from "./scene.ts";

const ODD_NAMES = [
  ...[" ", "a b", " lead", "trail ", "new\nline", "\n", "trailing\n", "tab\tname", "return\r", "\x1b[31mred", "\x01"],
  ...["-rf", "--", "-", "'", '"', "\\", "\\n", "*", "?", "[a]", "{a,b}", "$HOME", "$(id)", "`id`", ";id", "&"],
  ...["|cat", "!x", "~", "~x", "#", "%s", "é", "漢字", "😀", "\u202egnp.exe", "\ufeff", ".hidden", "..."],
  ...["n".repeat(200), "name (deleted)", "a -> b"],
] as const;

/** File names with any characters. */
export const names: Cases = {
  "spaces, quotes, line breaks, leading dashes, globs and shell syntax are part of names": (scene) =>
    areNames(scene, ODD_NAMES),

  "names of random odd characters work": (scene) => {
    const next = randomNumbers(7);
    const made = Array.from({ length: 60 }, () => oddText(next, 8).replaceAll("/", "")).filter(
      (name) => name !== "" && name !== "." && name !== ".." && Buffer.byteLength(name) < 200,
    );
    // Some file systems treat the two spellings of an accent as one name.
    return areNames(scene, [...new Map(made.map((name) => [name.normalize("NFC"), name])).values()]);
  },

  "links to odd names return them": async ({ backend, folder, at }) => {
    const targets = ["nowhere\nat all", " ", "-> x", "to\n", "'\"", "漢字", "../../x"];
    await run(backend, {
      argv: ["sh", "-c", 'i=0; for to; do ln -s "./$to" link-$i; i=$((i + 1)); done', "sh", ...targets],
      cwd: folder,
    });
    deepEqual(
      (await backend.files.list(at("."))).map(({ kind, target }) => [kind, target]),
      targets.map((target) => ["link", `./${target}`]),
    );
  },
};

async function areNames({ backend, folder, at, read }: Scene, given: readonly string[]): Promise<void> {
  const { files } = backend;
  const under = (name: string) => `${folder}/${name}`;
  await Promise.all(given.map((name) => files.write(under(name), Buffer.from(name))));
  deepEqual(namesOf(await files.list(at("."))), given.toSorted());
  const there = await run(backend, { argv: ["sh", "-c", 'for f; do cat "./$f"; done', "sh", ...given], cwd: folder });
  equal(there.output, given.join(""));
  for (const name of given) {
    equal(await files.realPath(under(name)), under(name));
    equal((await files.stat(under(name)))?.path, under(name));
    equal((await read(name)).toString(), name);
  }
  await Promise.all(given.map((name) => files.remove(under(name))));
  deepEqual(await files.list(at(".")), []);
}
