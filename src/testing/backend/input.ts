import { deepEqual, equal, ok } from "node:assert/strict";
import { type Cases, failureOf, until, whole } from "./scene.ts";

/** stdin. */
export const input: Cases = {
  "closed, it is at its end at once, and cannot be written to": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sh", "-c", "cat; read x; echo $?; wc -c"] });
    ok((await failureOf(child.write("x"))) !== "");
    await child.endInput();
    deepEqual(await child.exit, { how: "exited", code: 0 });
    deepEqual((await whole(child.output)).toString().split(/\s+/), ["1", "0", ""]);
  },

  "it takes what is written, character for character, until it is ended": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["cat"], stdin: "pipe" });
    const texts = ["first\n", "", "'\"$(id)`\\\n", "漢字 😀\n", "\u0000\u0001\u001b", "\r\n", "no end"];
    for (const text of texts) await child.write(text);
    await child.endInput();
    deepEqual(await child.exit, { how: "exited", code: 0 });
    equal((await whole(child.output)).toString(), texts.join(""));
  },

  "it takes megabytes": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["wc", "-c"], stdin: "pipe" });
    for (let round = 0; round < 3; round++) await child.write("x".repeat(1_000_000));
    await child.endInput();
    deepEqual(await child.exit, { how: "exited", code: 0 });
    equal((await whole(child.output)).toString().trim(), "3000000");
  },

  "question and answer go back and forth": async ({ backend }) => {
    const child = await backend.spawn({
      argv: ["sh", "-c", 'while read -r word; do echo "got $word"; done; echo end'],
      stdin: "pipe",
    });
    for (const word of ["one", "two", "three"]) {
      await child.write(`${word}\n`);
      await until(`it has answered ${word}`, async () =>
        (await whole(child.output)).toString().endsWith(`got ${word}\n`),
      );
    }
    await child.endInput();
    deepEqual(await child.exit, { how: "exited", code: 0 });
    equal((await whole(child.output)).toString(), "got one\ngot two\ngot three\nend\n");
  },

  "ending it twice is as good as once; writing after that fails": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["cat"], stdin: "pipe" });
    await child.endInput();
    await child.endInput();
    ok((await failureOf(child.write("late"))) !== "");
    deepEqual(await child.exit, { how: "exited", code: 0 });
  },

  "a process that has ended takes nothing more, and did not wait for it": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sh", "-c", "exit 4"], stdin: "pipe" });
    deepEqual(await child.exit, { how: "exited", code: 4 });
    ok((await failureOf(child.write("late"))) !== "");
    await child.endInput();
  },

  "writing more than a process takes fails when it is killed, and hangs nothing": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sleep", "1000"], stdin: "pipe" });
    const writing = failureOf(child.write("x".repeat(4_000_000)));
    await child.kill();
    ok((await writing) !== "");
  },
};
