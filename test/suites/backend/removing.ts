import { deepEqual, equal, ok } from "node:assert/strict";
import { type Cases, failureOf } from "./scene.ts";

/** `remove`. */
export const removing: Cases = {
  "a file is removed, a link without its target, and a folder with its content": async ({ backend, write, sh, at }) => {
    await write("folder/deep/file", "content");
    await write("file", "");
    await sh("ln -s folder link; ln -s nowhere dangling; mkfifo fifo; mkdir empty; chmod 500 empty");
    for (const name of ["link", "dangling", "file", "fifo", "empty"]) await backend.files.remove(at(name));
    equal((await sh("ls -A; cat folder/deep/file")).output, "folder\ncontent");
    await backend.files.remove(`${at("folder")}/`);
    deepEqual(await backend.files.list(at(".")), []);
  },

  "links inside a folder are not followed": async ({ backend, write, sh, at }) => {
    await write("kept/file", "content");
    await sh('mkdir gone; ln -s ../kept gone/link; ln -s "$PWD/kept/file" gone/file');
    await backend.files.remove(at("gone"));
    equal((await sh("ls -A; cat kept/file")).output, "kept\ncontent");
  },

  "through a link to a folder, the content of its target is removed": async ({ backend, write, sh, at }) => {
    await write("folder/file", "content");
    await sh("ln -s folder link");
    await backend.files.remove(at("link/file"));
    equal((await sh("ls -A; ls -A folder")).output, "folder\nlink\n");
  },

  "dots at the end mean the folder that they name": async ({ backend, write, sh, folder }) => {
    await write("keep/me", "");
    await write("keep/go/away/file", "");
    await backend.files.remove(`${folder}/keep/go/away/.`);
    equal((await sh("ls -A keep/go")).output, "");
    await sh("mkdir keep/go/away");
    await backend.files.remove(`${folder}/keep/go/away/..`);
    equal((await sh("ls -A keep")).output, "me\n");
  },

  "a missing path is a failure that names it": async ({ backend, write, at }) => {
    await write("file", "content");
    for (const name of ["none", "none/at/all", "file/below"]) {
      ok((await failureOf(backend.files.remove(at(name)))).includes(at(name)), name);
    }
  },
};
