import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { type Cases, failureOf, run } from "./scene.ts";

/** `workDir`, `home`, and the forms of paths. */
export const paths: Cases = {
  "it has a name, and returns each notice once": async ({ backend }) => {
    notEqual(backend.name, "");
    backend.notices?.();
    deepEqual(backend.notices?.() ?? [], []);
  },

  "its shell for scripts exists": async ({ backend }) => {
    const { output } = await run(backend, { argv: [backend.shell ?? "bash", "-c", 'echo "$0 $1"', "a", "b c"] });
    equal(output, "a b c\n");
  },

  "its working directory is absolute and real, and commands start there": async ({ backend, sh }) => {
    match(backend.workDir, /^\//);
    equal(await backend.files.realPath("."), backend.workDir);
    equal((await sh("pwd -P", { cwd: "." })).output, `${backend.workDir}\n`);
  },

  "its home is absolute, and a command's HOME": async ({ backend, sh }) => {
    match(backend.home, /^\//);
    equal((await sh('printf %s "$HOME"')).output, backend.home);
  },

  "a path is absolute, or relative to the working directory": async ({ backend, write, folder, at }) => {
    await write("file", "content");
    const relative = `${folder.slice(backend.workDir.length).replace(/^\//, "")}/file`;
    for (const path of [at("file"), relative, `./${relative}`, `${folder}/./none/../file`]) {
      equal((await backend.files.stat(path))?.path, at("file"));
    }
  },

  "a path that begins with ~/ is in the home": async ({ backend }) => {
    const home = await backend.files.realPath(backend.home);
    const name = "handrail-suite-there-is-no-such-file";
    equal(await backend.files.realPath("~"), home);
    equal(await backend.files.realPath(`~/${name}`), home === "/" ? `/${name}` : `${home}/${name}`);
    equal(await backend.files.realPath("./~x"), `${backend.workDir === "/" ? "" : backend.workDir}/~x`);
  },

  "a NUL byte in a path is refused by everything": async ({ backend: { files }, at }) => {
    const path = at("a\0b");
    for (const operation of ["realPath", "stat", "open", "list", "remove"] as const) {
      ok((await failureOf(files[operation](path))) !== "");
    }
    ok((await failureOf(files.write(path, new Uint8Array()))) !== "");
  },
};
