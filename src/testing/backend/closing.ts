import { deepEqual, equal, ok } from "node:assert/strict";
import { ToolFailure } from "../../contract/failure.ts";
import { type Cases, failureOf, run, soon, until } from "./scene.ts";
import { escapes, witness } from "./witness.ts";

/** `close`. */
export const closing: Cases = {
  "what runs is ended, and what commands that have ended left behind": async (scene) => {
    const watching = await witness(scene);
    const backend = await scene.open();
    const start = (script: string) =>
      backend.spawn({ argv: ["sh", "-c", `${watching.enrol}\n${script}`], cwd: scene.folder });
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

  "one that was never used can be closed": async ({ open }) => {
    await soon("it is closed", (await open()).close());
  },

  "closing one leaves what another has started alone": async ({ backend, open, folder, write }) => {
    const child = await backend.spawn({
      argv: ["sh", "-c", "echo ready; while [ ! -e go ]; do sleep 0.05 2>/dev/null || sleep 1; done; exit 8"],
      cwd: folder,
    });
    await until("it runs", () => child.output.kept > 0);
    const other = await open();
    await run(other, { argv: ["true"] });
    await other.close();
    await write("go", "");
    deepEqual(await soon("it ends", child.exit), { how: "exited", code: 8 });
  },

  "what is starting while it is closed does not outlive it": async (scene) => {
    const watching = await witness(scene);
    // Somebody has to be seen, or nobody would be waited for.
    const first = await scene.backend.spawn({
      argv: ["sh", "-c", `${watching.enrol}; echo first >&9; while [ ! -e go ]; do sleep 1; done`],
      cwd: scene.folder,
    });
    await watching.present(["first"]);
    const backend = await scene.open();
    const starting = Array.from({ length: 4 }, () =>
      backend.spawn({ argv: ["sh", "-c", `${watching.enrol}; exec sleep 1000`], cwd: scene.folder }),
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
