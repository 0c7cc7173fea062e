import { equal, ok } from "node:assert/strict";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import { type Cases, UNTIL_GO, exits, failureOf, inShell, run, soon, until } from "./scene.ts";
import { escapes, witness } from "./witness.ts";

/** `close`. */
export const closing: Cases = {
  "running commands are ended, and background children of ended ones": async (scene) => {
    const watching = await witness(scene);
    const backend = await scene.open();
    const start = (script: string) => backend.spawn(inShell(`${watching.enrol}\n${script}`, { cwd: scene.folder }));
    const running = await start("echo running >&9; exec sleep 1000");
    await watching.present(["running"]);
    const left = await start(`${escapes.script}\nwhile [ ! -e over ]; do sleep 1; done; exit 0`);
    await watching.present(escapes.names);
    await scene.write("over", "");
    await soon("the other has ended", left.exit);
    await soon("it is closed", backend.close());
    await watching.gone();
    equal((await running.exit).how, "signaled");
  },

  "closed, it starts nothing more; closing again does nothing": async ({ open, folder }) => {
    const backend = await open();
    equal((await run(backend, { argv: ["true"], cwd: folder })).exit.how, "exited");
    await Promise.all([backend.close(), backend.close()]);
    await backend.close();
    ok((await failureOf(backend.spawn({ argv: ["true"] }))) !== "");
    ok((await failureOf(backend.find({ path: folder }))) !== "");
  },

  "an unused one can be closed": async ({ open }) => {
    await soon("it is closed", (await open()).close());
  },

  "closing one does not affect the commands of another": async ({ backend, open, folder, write }) => {
    const child = await backend.spawn(inShell(`echo ready; ${UNTIL_GO}; exit 8`, { cwd: folder }));
    await until("it runs", () => child.output.kept > 0);
    const other = await open();
    await run(other, { argv: ["true"] });
    await other.close();
    await write("go", "");
    await exits(child, 8);
  },

  "a command that is starting while it is closed does not outlive it": async (scene) => {
    const watching = await witness(scene);
    // At least one process must be seen, else the wait would prove nothing.
    const first = await scene.backend.spawn(
      inShell(`${watching.enrol}; echo first >&9; ${UNTIL_GO}`, { cwd: scene.folder }),
    );
    await watching.present(["first"]);
    const backend = await scene.open();
    const starting = Array.from({ length: 4 }, () =>
      backend.spawn(inShell(`${watching.enrol}; exec sleep 1000`, { cwd: scene.folder })),
    );
    const closed = backend.close();
    for (const outcome of await Promise.allSettled(starting)) {
      if (outcome.status === "rejected") ok(outcome.reason instanceof ToolFailure, String(outcome.reason));
    }
    await soon("it is closed", closed);
    await scene.write("go", "");
    await first.exit;
    await watching.gone();
  },
};
