import { deepEqual, equal, ok } from "node:assert/strict";
import { randomBytes } from "./random.ts";
import { type Cases, UNTIL_GO, exits, failureOf, inShell, run, soon, textOf, until } from "./scene.ts";

const GOES_ON = `echo one; ${UNTIL_GO}; echo two`;

/** `Process.output`, while it grows and afterwards. */
export const outputLogs: Cases = {
  "followed, it yields what exists and then what comes, and ends with the process": async (scene) => {
    const { backend, folder, write } = scene;
    const child = await backend.spawn(inShell(GOES_ON, { cwd: folder }));
    let seen = "";
    for await (const chunk of child.output.follow()) {
      seen += Buffer.from(chunk).toString();
      if (seen === "one\n") await write("go", "");
    }
    equal(seen, "one\ntwo\n");
    await exits(child, 0);
    let again = "";
    for await (const chunk of child.output.follow()) again += Buffer.from(chunk).toString();
    equal(again, seen);
  },

  "followed, five megabytes come once each and in order": async ({ backend, write, folder }) => {
    const block = randomBytes(1_048_577, 3);
    await write("block", block);
    const child = await backend.spawn(inShell("cat block block block block block", { cwd: folder }));
    const chunks: Uint8Array[] = [];
    for await (const chunk of child.output.follow()) chunks.push(Buffer.from(chunk));
    ok(Buffer.concat(chunks).equals(Buffer.concat(Array.from({ length: 5 }, () => block))));
    await exits(child, 0);
    await child.output.dispose();
  },

  "a signal ends the following, not the process": async ({ backend, folder, write }) => {
    const child = await backend.spawn(inShell(GOES_ON, { cwd: folder }));
    const enough = new AbortController();
    for await (const chunk of child.output.follow(enough.signal)) {
      equal(Buffer.from(chunk).toString(), "one\n");
      enough.abort();
    }
    await write("go", "");
    await exits(child, 0, "one\ntwo\n");
  },

  "waiting for growth ends when there is more, when no more will come, and when a signal fires": async (scene) => {
    const { backend, folder, write } = scene;
    const { output, exit } = await backend.spawn(inShell(GOES_ON, { cwd: folder }));
    await soon("there is something", output.grown(0));
    ok(output.kept > 0);
    await soon("the first line is there", output.grown(3));
    equal(output.kept, 4);
    const stop = new AbortController();
    const waiting = output.grown(1_000, stop.signal);
    stop.abort();
    await soon("the signal has ended it", waiting);
    await soon("a signal that has fired already ends it", output.grown(1_000, AbortSignal.abort()));
    const last = output.grown(1_000);
    await write("go", "");
    await soon("no more comes", last);
    await exit;
    equal(output.kept, 8);
    await soon("no more comes any more", output.grown(1_000));
  },

  "its ends and ranges are those of a buffer": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["printf", "0123456789"] });
    await child.exit;
    const log = child.output;
    const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
    deepEqual({ size: log.size, kept: log.kept }, { size: 10, kept: 10 });
    deepEqual(
      [
        await log.read(0, 3),
        await log.read(3, 10),
        await log.read(8, 99),
        await log.read(10, 20),
        await log.read(5, 5),
      ].map(text),
      ["012", "3456789", "89", "", ""],
    );
    deepEqual([await log.tail(3), await log.tail(10), await log.tail(99), await log.tail(0)].map(text), [
      "789",
      "0123456789",
      "0123456789",
      "",
    ]);
  },

  "what is there can be read while the process runs": async ({ backend }) => {
    const child = await backend.spawn(inShell("echo ready; exec sleep 1000"));
    await until("it has said so", async () => Buffer.from(await child.output.tail(6)).toString() === "ready\n");
    await child.kill();
    equal(await textOf(child), "ready\n");
  },

  "after dispose nothing can be read any more": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["echo", "x"], streams: "split" });
    await child.exit;
    await Promise.all([child.output.dispose(), child.output.dispose(), child.errors?.dispose()]);
    ok((await failureOf(child.output.read(0, 1))) !== "");
    ok((await failureOf(child.output.tail(1))) !== "");
  },

  "dispose while the process writes delays neither": async ({ backend }) => {
    const child = await backend.spawn(inShell("i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i + 1)); done; exit 6"));
    await child.output.dispose();
    await exits(child, 6);
    equal((await run(backend, { argv: ["echo", "next"] })).output, "next\n");
  },
};
