import { deepEqual, equal, ok } from "node:assert/strict";
import type { Process } from "../../../src/core/contract/backend.ts";
import { type Cases, exits, soon, textOf, until } from "../backend/scene.ts";
import { paneOf, startAsking, terminalOf } from "./pane.ts";

/** `awaitsInput`. */
export const waiting: Cases = {
  "a command that reads from the terminal waits for input": async ({ backend }) => {
    const child = await startAsking(backend, "printf 'Proceed? [y/N] '; read -r answer; echo $answer");
    equal(await asks(child), true);
    equal(await textOf(child), "ready\nProceed? [y/N] ");
    await terminalOf(backend).sendKeys({ target: paneOf(child), text: "y\n" });
    await exits(child, 0);
    equal(await asks(child), false);
  },

  "so does one that has turned the echo off": async ({ backend }) => {
    const child = await startAsking(backend, "printf 'Password: '; stty -echo; read -r it; stty echo; echo ${#it}");
    equal(await asks(child), true);
    await child.write("12345\n");
    await exits(child, 0, "ready\nPassword: 5\n");
  },

  "each prompt is reported": async ({ backend }) => {
    const child = await startAsking(backend, 'for n in 1 2; do printf "$n? "; read -r answer; done');
    for (const answer of ["one", "two"]) {
      equal(await asks(child), true);
      await child.write(`${answer}\n`);
      await until("it has been read", async () => answer === "two" || (await textOf(child)).endsWith("2? "));
    }
    await exits(child, 0);
  },

  "a working command does not wait, until it has ended": async ({ backend }) => {
    const child = await startAsking(backend, "sleep 3");
    equal(await asks(child), false);
    await exits(child, 0);
  },

  "a signal ends the wait, not the process": async ({ backend }) => {
    const child = await startAsking(backend, "exec sleep 1000");
    const enough = new AbortController();
    const asked = child.awaitsInput?.(enough.signal);
    enough.abort();
    equal(await soon("it is told", Promise.resolve(asked)), false);
    await child.kill();
    deepEqual(await child.exit, { how: "signaled", signal: "SIGTERM" });
  },

  "with a closed stdin there is nothing to wait for": async ({ sh }) => {
    const { exit, output } = await sh("read -r line; echo $?");
    deepEqual([exit, output], [{ how: "exited", code: 0 }, "1\n"]);
  },
};

async function asks(child: Process): Promise<boolean> {
  ok(child.awaitsInput !== undefined, 'expected a process with stdin "terminal" to have awaitsInput');
  return soon("it is told whether it waits", child.awaitsInput(new AbortController().signal));
}
