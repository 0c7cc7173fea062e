import { deepEqual, equal, ok } from "node:assert/strict";
import { type Cases, failureOf, run } from "./scene.ts";

/** Links and their targets. */
export const realPaths: Cases = {
  "every link is followed, and missing parts are appended to the real path of the rest": async (scene) => {
    const { backend, sh, at } = scene;
    await sh(`mkdir -p real/sub; ln -s real link; ln -s "$PWD/link/sub" deep; ln -s deep/../up odd`);
    for (const [path, expected] of [
      ["real", "real"],
      ["link", "real"],
      ["link/", "real"],
      ["deep", "real/sub"],
      ["link/none/at/all", "real/none/at/all"],
      ["none/at/all", "none/at/all"],
      // A link's target is resolved as the system does it, link by link.
      ["odd", "real/up"],
    ] as const) {
      equal(await backend.files.realPath(at(path)), at(expected), path);
    }
    // In a path as written, `..` is resolved before links are followed.
    equal(await backend.files.realPath(`${at("deep")}/../x`), at("x"));
    equal(await backend.files.realPath("/none/../none/./at/all/"), "/none/at/all");
  },

  "a broken link is followed too: writing through it would create its target": async (scene) => {
    const { backend, sh, at } = scene;
    await sh(`mkdir real; ln -s real link; ln -s link/new dangling; ln -s "$PWD/far/away" absolute`);
    equal(await backend.files.realPath(at("dangling")), at("real/new"));
    equal(await backend.files.realPath(at("dangling/below")), at("real/new/below"));
    equal(await backend.files.realPath(at("absolute")), at("far/away"));
  },

  "links with odd names are followed to odd names": async ({ backend, folder, at }) => {
    const names = ["a b", "new\nline", "-n", "'\"$(id)`id`\\", "*", "trailing\n", "漢字 😀"];
    for (const name of names) {
      await run(backend, { argv: ["sh", "-c", 'mkdir "./to $0" && ln -s "to $0" "./$0"', name], cwd: folder });
      equal(await backend.files.realPath(at(name)), at(`to ${name}`), JSON.stringify(name));
    }
  },

  "links that lead in a circle fail, and the path is named": async ({ backend, sh, at }) => {
    await sh("ln -s two one; ln -s one two; ln -s self/x self");
    for (const name of ["one", "one/x", "self", "self/y"]) {
      ok((await failureOf(backend.files.realPath(at(name)))).includes(at(name).slice(0, -2)), name);
    }
  },

  "many parallel requests each get their own answer": async ({ backend, sh, at }) => {
    await sh("i=0; while [ $i -lt 40 ]; do ln -s to-$i link-$i; i=$((i + 1)); done");
    const numbers = Array.from({ length: 40 }, (_, index) => index);
    const asked = await Promise.all(numbers.map((number) => backend.files.realPath(at(`link-${number}`))));
    deepEqual(
      asked,
      numbers.map((number) => at(`to-${number}`)),
    );
  },
};
