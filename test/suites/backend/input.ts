import { deepEqual, equal, ok } from "node:assert/strict";
import type { Backend } from "../../../src/core/contract/backend.ts";
import type { Lifetime } from "../../../src/core/contract/lifetime.ts";
import { type Cases, exits, failureOf, inShell, textOf, until } from "./scene.ts";

/** stdin. */
export const input: Cases = {
  "when closed, it is at its end at once, and cannot be written": async ({ backend }) => {
    const child = await backend.spawn(inShell("cat; read x; echo $?; wc -c"));
    ok((await failureOf(child.write("x"))) !== "");
    await child.endInput();
    await exits(child, 0);
    deepEqual((await textOf(child)).split(/\s+/), ["1", "0", ""]);
  },

  "it receives the written text exactly, until it is ended": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["cat"], stdin: "pipe" });
    const texts = ["first\n", "", "'\"$(id)`\\\n", "漢字 😀\n", "\u0000\u0001\u001b", "\r\n", "no end"];
    for (const text of texts) await child.write(text);
    await child.endInput();
    await exits(child, 0, texts.join(""));
  },

  "it takes megabytes": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["wc", "-c"], stdin: "pipe" });
    for (let round = 0; round < 3; round++) await child.write("x".repeat(1_000_000));
    await child.endInput();
    await exits(child, 0);
    equal((await textOf(child)).trim(), "3000000");
  },

  "question and answer go back and forth": ({ backend }) => questionAndAnswer(backend),

  "ending it twice is the same as once; writing after that fails": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["cat"], stdin: "pipe" });
    await child.endInput();
    await child.endInput();
    ok((await failureOf(child.write("late"))) !== "");
    await exits(child, 0);
  },

  "a process that has ended accepts nothing more, and did not wait for it": async ({ backend }) => {
    const child = await backend.spawn(inShell("exit 4", { stdin: "pipe" }));
    await exits(child, 4);
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

/** Requires that words are answered one by one. Default: by a process that ends with its call. */
export async function questionAndAnswer(backend: Backend, lifetime: Lifetime = "call"): Promise<void> {
  const child = await backend.spawn({ lifetime, argv: ["sh", "-c", ANSWERING], stdin: "pipe" });
  for (const word of ["one", "two", "three"]) {
    await child.write(`${word}\n`);
    await until(`it has answered ${word}`, async () => (await textOf(child)).endsWith(`got ${word}\n`));
  }
  await child.endInput();
  await exits(child, 0, "got one\ngot two\ngot three\nend\n");
}

/** A script that answers each line of its stdin. */
export const ANSWERING = 'while read -r word; do echo "got $word"; done; echo end';
