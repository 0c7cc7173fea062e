import { deepEqual, equal, ok } from "node:assert/strict";
import { cksum } from "./cksum.ts";
import { type Cases, exits, failureOf, namesOf, inShell, textOf, until } from "./scene.ts";

/** The bytes of a number, such that no mixture of two contents is valid. */
const filled = (length: number, byte: number) => Buffer.alloc(length, byte);

/** `write`. */
export const writing: Cases = {
  "the file and missing folders are created, and commands see the content": async ({ backend, sh, at }) => {
    const info = await backend.files.write(at("a/b/c.txt"), Buffer.from("content\n"));
    deepEqual([info.path, info.kind, info.size, info.links], [at("a/b/c.txt"), "file", 8, 1]);
    equal((await sh("cat a/b/c.txt; ls -a a/b | wc -l | tr -d ' '")).output, "content\n3\n");
  },

  "a new file has the mode of the target's umask, an old one keeps its own": async ({ backend, sh, at }) => {
    const umask = parseInt((await sh("umask")).output, 8);
    equal((await backend.files.write(at("new"), Buffer.from("x"))).mode, 0o666 & ~umask);
    for (const mode of [0o600, 0o640, 0o755, 0o444]) {
      await sh(`rm -f file; echo old >file; chmod ${mode.toString(8)} file`);
      equal((await backend.files.write(at("file"), Buffer.from("new"))).mode, mode);
      equal((await backend.files.stat(at("file")))?.mode, mode);
    }
  },

  "only the version that is to be replaced is replaced": async ({ backend, write, read, sh, at }) => {
    await write("file", "one");
    const { version = "" } = (await backend.files.stat(at("file"))) ?? {};
    const { version: next } = await backend.files.write(at("file"), Buffer.from("two"), { replaces: version });
    ok(
      (await failureOf(backend.files.write(at("file"), Buffer.from("x"), { replaces: version }))).includes(at("file")),
    );
    await backend.files.write(at("file"), Buffer.from("three"), { replaces: next });
    equal((await read("file")).toString(), "three");
    await sh("rm file");
    await failureOf(backend.files.write(at("file"), Buffer.from("x"), { replaces: next }));
    equal(await backend.files.stat(at("file")), undefined);
  },

  "nothing of a longer old content is kept": async ({ write, read }) => {
    await write("file", "a long old content");
    await write("file", "new");
    equal((await read("file")).toString(), "new");
    await write("file", "");
    equal((await read("file")).length, 0);
  },

  "through a link, its target is written, also when it does not exist yet": async (scene) => {
    const { backend, write, sh, at } = scene;
    await write("target", "old");
    await sh("ln -s target link; ln -s link link-to-link; ln -s folder/new dangling");
    equal((await backend.files.write(at("link-to-link"), Buffer.from("new"))).path, at("target"));
    equal((await backend.files.write(at("dangling"), Buffer.from("made"))).path, at("folder/new"));
    equal((await sh("cat target folder/new; ls -l link link-to-link dangling | grep -c '^l'")).output, "newmade3\n");
  },

  "a file with several names keeps them all, and its mode, whether it grows or shrinks": async (scene) => {
    const { backend, write, sh, at } = scene;
    await write("one", "shared");
    await sh("ln one two; chmod 640 one");
    for (const content of ["something longer than before", "less", "", "again"]) {
      const { links, mode, size } = await backend.files.write(at("two"), Buffer.from(content));
      deepEqual({ links, mode, size }, { links: 2, mode: 0o640, size: content.length });
      equal((await sh("cat one; echo; cat two")).output, `${content}\n${content}`);
    }
  },

  "a reader meanwhile sees the old content or the new, never a part or a mixture": async (scene) => {
    const { backend, write, sh, at, folder } = scene;
    const contents = Array.from({ length: 8 }, (_, index) => filled(200_000 + index, 65 + index));
    await write("file", contents[0] ?? "");
    const reader = await backend.spawn(inShell("while [ ! -e stop ]; do cksum <file; done", { cwd: folder }));
    await until("it reads", () => reader.output.kept > 0);
    for (let round = 0; round < 24; round++) await write("file", contents[round % 8] ?? "");
    await write("stop", "");
    await exits(reader, 0);
    const seen = new Set((await textOf(reader)).trimEnd().split("\n"));
    const known = contents.map((content) => cksum(content));
    deepEqual(
      [...seen].filter((each) => !known.includes(each)),
      [],
    );
    equal((await sh("ls")).output, "file\nstop\n");
    await backend.files.remove(at("stop"));
  },

  "of parallel writes one wins whole, and no other file is left": async ({ backend, read, at, sh }) => {
    const contents = Array.from({ length: 8 }, (_, index) => filled(50_000, 65 + index));
    await Promise.all(contents.map((content) => backend.files.write(at("file"), content)));
    const left = await read("file");
    ok(contents.some((content) => content.equals(left)));
    equal((await sh("ls -A")).output, "file\n");
  },

  "files written in parallel into a new folder all exist": async ({ backend, sh, at }) => {
    const numbers = Array.from({ length: 10 }, (_, index) => index);
    await Promise.all(numbers.map((number) => backend.files.write(at(`new/er/${number}`), Buffer.from(`${number}`))));
    equal((await sh("cat new/er/?")).output, "0123456789");
  },

  "a folder, or a file instead of a folder, is a failure that names the path, and leaves no file": async (scene) => {
    const { backend, write, sh, at } = scene;
    await write("file", "content");
    await sh("mkdir folder");
    for (const name of ["folder", "file/below", "file/far/below"]) {
      ok((await failureOf(backend.files.write(at(name), Buffer.from("x")))).includes(at(name)), name);
    }
    ok((await failureOf(backend.files.write(at("n".repeat(300)), Buffer.from("x")))) !== "");
    equal((await sh("find . | sort; cat file")).output, ".\n./file\n./folder\ncontent");
  },

  "with `real`, a link on the path is a failure without effect": async (scene) => {
    const { backend, write, sh, at } = scene;
    const real = { real: true };
    await write("folder/file", "content");
    await sh("ln -s folder link; ln -s folder/file to-file; ln -s nowhere dangling");
    const { files } = backend;
    for (const path of [at("link/file"), at("to-file")]) {
      ok((await failureOf(files.open(path, real))) !== "", path);
      ok((await failureOf(files.stat(path, real))) !== "", path);
      ok((await failureOf(files.write(path, Buffer.from("x"), real))) !== "", path);
    }
    ok((await failureOf(files.stat(at("dangling"), real))) !== "");
    ok((await failureOf(files.write(at("dangling"), Buffer.from("x"), real))) !== "");
    ok((await failureOf(files.write(at("link/new"), Buffer.from("x"), real))) !== "");
    ok((await failureOf(files.list(at("link"), real))) !== "");
    ok((await failureOf(files.remove(at("link/file"), real))) !== "");
    equal((await sh("ls -A; ls -A folder; cat folder/file")).output, "dangling\nfolder\nlink\nto-file\nfile\ncontent");
  },

  "with `real` and a real path, everything works as usual": async ({ backend: { files }, write, at }) => {
    const real = { real: true };
    await write("folder/file", "old");
    await files.write(at("folder/file"), Buffer.from("newer"), real);
    await files.write(at("made/too"), Buffer.from("x"), real);
    equal((await files.stat(at("folder/file"), real))?.size, 5);
    equal(await files.stat(at("none"), real), undefined);
    const file = await files.open(at("folder/file"), real);
    equal(Buffer.from(await file.read(0, 10)).toString(), "newer");
    await file.close();
    deepEqual(namesOf(await files.list(at("."), real)), ["folder", "made"]);
    await files.remove(at("folder"), real);
    equal(await files.stat(at("folder")), undefined);
  },
};
