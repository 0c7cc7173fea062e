import { deepEqual, equal, notEqual } from "node:assert/strict";
import type { Cases } from "./scene.ts";

/** 2001-02-03 04:05:06 UTC in milliseconds since 1970. */
const THEN_MS = 981_173_106_000;
const TOUCHED = "TZ=UTC0 touch -t 200102030405.06";

/** `stat`. */
export const looking: Cases = {
  "stat returns the kind and the real path, through links too": async ({ backend, sh, at }) => {
    await sh("echo x >file; mkdir folder; mkfifo fifo; for to in file folder fifo; do ln -s $to to-$to; done");
    for (const kind of ["file", "folder", "fifo"] as const) {
      for (const name of [kind, `to-${kind}`]) {
        const info = await backend.files.stat(at(name));
        deepEqual({ kind: info?.kind, path: info?.path }, { kind, path: at(kind) });
      }
    }
    equal((await backend.files.stat("/dev/null"))?.kind, "device");
  },

  "a missing path is undefined, also below a file and behind a broken link": async ({ backend, sh, at }) => {
    await sh("echo x >file; ln -s nowhere dangling");
    for (const name of ["none", "none/at/all", "file/below", "dangling"]) {
      equal(await backend.files.stat(at(name)), undefined, name);
    }
  },

  "stat returns size, time, permissions and the number of names": async ({ backend, sh, at }) => {
    await sh(`printf 12345 >file; chmod 640 file; ln file other; ${TOUCHED} file; mkfifo -m 604 fifo`);
    const { size, modifiedMs, mode, links } = (await backend.files.stat(at("file"))) ?? {};
    deepEqual({ size, modifiedMs, mode, links }, { size: 5, modifiedMs: THEN_MS, mode: 0o640, links: 2 });
    const fifo = await backend.files.stat(at("fifo"));
    deepEqual({ size: fifo?.size, mode: fifo?.mode, links: fifo?.links }, { size: 0, mode: 0o604, links: 1 });
    await sh("mkdir folder; chmod 1750 folder");
    equal((await backend.files.stat(at("folder")))?.mode, 0o1750);
    equal((await backend.files.stat("/dev/null"))?.size, 0);
  },

  "write, open and stat return the same info of a file": async ({ backend, at }) => {
    const written = await backend.files.write(at("file"), Buffer.from("content"));
    deepEqual(await backend.files.stat(at("file")), written);
    const file = await backend.files.open(at("file"));
    deepEqual(file.info, written);
    await file.close();
  },

  "the version stays while the file is unchanged, and changes with it": async ({ backend, sh, at }) => {
    const version = async () => (await backend.files.stat(at("file")))?.version;
    const seen = [(await backend.files.write(at("file"), Buffer.from("same"))).version];
    equal(await version(), seen[0]);
    await sh("cat file; chmod 600 other 2>/dev/null; ls -l");
    equal(await version(), seen[0]);
    seen.push((await backend.files.write(at("file"), Buffer.from("same"))).version);
    for (const change of ["printf more >>file", `printf others.. >file; ${TOUCHED} file`, "echo x >new; mv new file"]) {
      await sh(change);
      seen.push((await version()) ?? "it has gone");
    }
    for (const [index, each] of seen.slice(1).entries()) notEqual(each, seen[index], `after change ${index}`);
  },

  "many parallel lookups each return the right info": async ({ backend, sh, at }) => {
    await sh("i=0; while [ $i -lt 40 ]; do printf %${i}s '' >file-$i; i=$((i + 1)); done");
    const infos = await Promise.all(Array.from({ length: 41 }, (_, index) => backend.files.stat(at(`file-${index}`))));
    deepEqual(
      infos.map((info) => info?.size),
      [...Array.from({ length: 40 }, (_, index) => index), undefined],
    );
  },
};
