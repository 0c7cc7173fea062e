import { deepEqual, equal, ok } from "node:assert/strict";
import { type Cases, failureOf, namesOf } from "./scene.ts";

/** `list`. */
export const listing: Cases = {
  "entries are sorted by code units, with hidden ones, without the folder itself and its parent": async (scene) => {
    const { backend, at } = scene;
    // Sorting by bytes of UTF-8, or by a language's alphabet, would give another order.
    const names = ["b", "B", "a", "ä", "Z", "10", "9", ".x", "-", "_", "é", "z", "\u{1f600}", "\uffee", "a b", "a-"];
    await Promise.all(names.map((name) => backend.files.write(at(name), new Uint8Array())));
    deepEqual(namesOf(await backend.files.list(at("."))), names.toSorted());
  },

  "each entry has its kind, size and time, and a link its target as written": async ({ backend, sh, at }) => {
    await sh("printf 12345 >file; TZ=UTC0 touch -t 200102030405.06 file; mkdir folder; mkfifo pipe");
    await sh("ln -s folder link; ln -s nowhere dangling; ln -s /dev/null absolute");
    const entries = await backend.files.list(at("."));
    deepEqual(
      entries.map(({ name, kind, target }) => [name, kind, target]),
      [
        ["absolute", "link", "/dev/null"],
        ["dangling", "link", "nowhere"],
        ["file", "file", undefined],
        ["folder", "folder", undefined],
        ["link", "link", "folder"],
        ["pipe", "fifo", undefined],
      ],
    );
    const file = entries.find(({ name }) => name === "file");
    deepEqual([file?.size, file?.modifiedMs], [5, 981_173_106_000]);
    equal((await backend.files.list("/dev")).find(({ name }) => name === "null")?.kind, "device");
  },

  "an empty folder has no entries, and a folder of thousands has all": async ({ backend, sh, at }) => {
    await sh("mkdir empty many; cd many; i=0; while [ $i -lt 2000 ]; do : >file-$i; i=$((i + 1)); done");
    deepEqual(await backend.files.list(at("empty")), []);
    const names = (await backend.files.list(at("many"))).map(({ name }) => name);
    deepEqual(names, Array.from({ length: 2_000 }, (_, index) => `file-${index}`).sort());
  },

  "a folder is listed through a link, and with a slash at the end": async ({ backend, write, sh, at }) => {
    await write("folder/file", "");
    await sh("ln -s folder link");
    for (const path of [at("link"), `${at("link")}/`, `${at("folder")}/`]) {
      deepEqual(namesOf(await backend.files.list(path)), ["file"]);
    }
  },

  "a path that is not a folder, or is missing, is a failure that names it": async ({ backend, write, sh, at }) => {
    await write("file", "");
    await sh("mkfifo fifo; ln -s nowhere dangling");
    for (const name of ["none", "none/at/all", "file", "file/below", "fifo", "dangling"]) {
      ok((await failureOf(backend.files.list(at(name)))).includes(at(name)), name);
    }
  },
};
