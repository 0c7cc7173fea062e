import { deepEqual, ok } from "node:assert/strict";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import type { FindQuery } from "../../../src/core/contract/search.ts";
import { type Cases, type Scene, failureOf, soon } from "./scene.ts";

/** `find`, as the tools use it. */
export const finding: Cases = {
  "files, folders and links are distinguished, with any names": async (scene) => {
    const { write, sh } = scene;
    for (const name of ["a/new\nline.txt", "a/b/-x.txt", ".hidden/c", "*/file"]) await write(name, "");
    await sh("mkdir empty; ln -s a link; ln -s nowhere a/dangling");
    deepEqual(await found(scene), {
      files: ["*/file", ".hidden/c", "a/b/-x.txt", "a/new\nline.txt"],
      folders: ["*", ".hidden", "a", "a/b", "empty"],
      links: ["a/dangling", "link"],
    });
  },

  "what .gitignore ignores is skipped, and so is .git unless it is requested": async (scene) => {
    const { write } = scene;
    const shown = ["keep.log", "sub/.gitignore", "sub/build/out", "src/x"];
    for (const name of [...shown, "build/out", "build/deep/out", "x.log", "sub/y", ".git/config"])
      await write(name, "");
    await write(".gitignore", "build/\n*.log\n!keep.log\n");
    await write("sub/.gitignore", "!build/\ny\n");
    deepEqual(await found(scene), {
      files: [".gitignore", ...shown].toSorted(),
      folders: ["src", "sub", "sub/build"],
      links: [],
    });
    const { files, folders } = await found(scene, { git: true });
    ok(files.includes(".git/config") && folders.includes(".git"));
  },

  "only the requested kinds are returned, and of them the picked ones": async (scene) => {
    for (const name of ["a/x.ts", "a/y.js", "b/x.ts"]) await scene.write(name, "");
    const pick = (paths: readonly string[]) => paths.filter((path) => path.startsWith("a"));
    deepEqual(await found(scene, { kinds: ["file"], pick }), { files: ["a/x.ts", "a/y.js"], folders: [], links: [] });
    deepEqual(await found(scene, { kinds: ["folder"], pick }), { files: [], folders: ["a"], links: [] });
  },

  "files of no requested name are skipped": async (scene) => {
    for (const name of ["x.ts", "y.js"]) await scene.write(name, "");
    const { files } = await found(scene, { kinds: ["file"], names: ["*.ts"] });
    deepEqual(files, ["x.ts"]);
  },

  "excepted paths are not searched, nor anything in them": async (scene) => {
    const { write, at } = scene;
    for (const name of ["open/x/file", "closed/x/file", "clo*ed/x/file", "cloXed/x/file"]) await write(name, "");
    const { files, folders } = await found(scene, { except: [at("closed"), at("clo*ed")] });
    deepEqual(folders, ["cloXed", "cloXed/x", "open", "open/x"]);
    deepEqual(files, ["cloXed/x/file", "open/x/file"]);
  },

  "a path that is not a folder is a failure": async ({ backend, write, at }) => {
    await write("file", "");
    for (const name of ["file", "none"]) ok((await failureOf(backend.find({ path: at(name) }))) !== "");
  },

  "a signal stops it": async ({ backend, folder }) => {
    const stopped = AbortSignal.abort(new ToolFailure("enough"));
    ok((await soon("it is stopped", failureOf(backend.find({ path: folder, signal: stopped })))) !== "");
  },
};

async function found(
  { backend, folder }: Scene,
  query: Omit<FindQuery, "path"> = {},
): Promise<{ files: readonly string[]; folders: readonly string[]; links: readonly string[] }> {
  const { files, folders, links, complaints } = await soon("it ends", backend.find({ path: folder, ...query }));
  deepEqual(complaints, "");
  return { files: files.toSorted(), folders: folders.toSorted(), links: links.toSorted() };
}
