import { deepEqual, equal, ok } from "node:assert/strict";
import type { HelperOptions } from "../../contract/backend.ts";
import { type Cases, type Scene, soon, whole } from "./scene.ts";

/** Everything but what it is given. */
const BELOW = ["-mindepth", "1"];

/** Hidden names and what lies in them are left out; of folders the path is written once, of links twice. */
const FOLDERS_AND_LINKS = [
  ...BELOW,
  ...["-type", "d", "(", "-name", ".*", "-prune", "-o", "-name", "ignored", "-prune", "-o", "-print0", ")"],
  ...["-o", "-type", "l", "-print0", "-print0"],
];

/** The helper `find`, asked as our tools ask it. */
export const finding: Cases = {
  "it walks the paths it is given, and writes a NUL byte behind each that it prints": async (scene) => {
    const { write, at } = scene;
    for (const name of ["a/new\nline.txt", "a/b/-x.txt", "a/none", "beside/y.txt"]) await write(name, "");
    deepEqual(
      await found(scene, ["-name", "*.txt", "-print0"], { paths: [at("a")] }),
      ["a/b/-x.txt", "a/new\nline.txt"].map(at),
    );
  },

  "it leaves out what is pruned, follows no link, and prints as often as it is told": async (scene) => {
    const { write, sh, at } = scene;
    for (const name of ["a/file", "a/b/file", ".hidden/c/file", "ignored/d/file", "*/file"]) await write(name, "");
    await sh("ln -s a link; ln -s nowhere a/dangling");
    const folders = ["*", "a", "a/b"];
    const links = ["a/dangling", "link"];
    deepEqual(await found(scene, FOLDERS_AND_LINKS), [...folders, ...links, ...links].toSorted().map(at));
  },

  "what is excepted is not looked at, nor anything under it": async (scene) => {
    const { write, at } = scene;
    for (const name of ["open/x/file", "closed/x/file", "clo*ed/x/file", "cloXed/x/file"]) await write(name, "");
    const except = [at("closed"), at("clo*ed")];
    const folders = ["cloXed", "cloXed/x", "open", "open/x"];
    deepEqual(await found(scene, FOLDERS_AND_LINKS, { paths: [at(".")], except }), folders.map(at));
  },

  "what is not there is told in its errors, by its path": async ({ backend, at }) => {
    const child = await backend.helper("find", [...BELOW, "-print0"], { paths: [at("none")] });
    const exit = await soon("it ends", child.exit);
    ok(exit.how === "exited" && exit.code !== 0, JSON.stringify(exit));
    equal(child.output.kept, 0);
    ok(child.errors !== undefined && (await whole(child.errors)).includes(at("none")));
  },
};

async function found(
  { backend, folder }: Scene,
  args: readonly string[],
  options: HelperOptions = { paths: [folder] },
): Promise<readonly string[]> {
  const child = await backend.helper("find", args, options);
  deepEqual(await soon("it ends", child.exit), { how: "exited", code: 0 });
  return (await whole(child.output)).toString().split("\0").slice(0, -1).toSorted();
}
