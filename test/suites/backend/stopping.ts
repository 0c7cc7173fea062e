import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { Command } from "../../../src/core/contract/backend.ts";
import { type Cases, type Scene, exits, failureOf, inShell, soon, textOf, until } from "./scene.ts";
import { escapes, witness } from "./witness.ts";

/** Timeouts, kills and signals. */
export const stopping: Cases = {
  "after its time it is stopped, and its output so far is kept": async ({ backend }) => {
    const child = await backend.spawn(inShell("echo before; exec sleep 1000", { timeoutMs: 2_000 }));
    const exit = await soon("its time is up", child.exit);
    equal(exit.how, "timed-out");
    ok(exit.how === "timed-out" && exit.afterMs >= 1_900, JSON.stringify(exit));
    equal(await textOf(child), "before\n");
  },

  "a timeout that is not reached has no effect, however long it is": async ({ sh }) => {
    for (const timeoutMs of [60_000, 2 ** 31, 1e12, Infinity]) {
      const { exit, output } = await sh("sleep 0.05 2>/dev/null; echo done", { timeoutMs });
      deepEqual([exit, output], [{ how: "exited", code: 0 }, "done\n"]);
    }
  },

  "a killed process is reported as signaled": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sleep", "1000"] });
    await child.kill();
    const exit = await child.exit;
    match(exit.how === "signaled" ? exit.signal : exit.how, /^SIG(TERM|KILL)$/);
  },

  "TERM comes first, so that a process can clean up; its output until then is kept": async ({ backend }) => {
    const child = await backend.spawn(
      inShell("trap 'echo cleaned; exit 5' TERM; echo ready; while :; do sleep 1; done"),
    );
    await until("it is ready", () => child.output.kept > 0);
    await child.kill();
    match(await textOf(child), /^ready\n(Terminated\n)?cleaned\n$/);
    await exits(child, 5);
  },

  "KILL comes after the grace period, for a process that ignores TERM": async ({ backend }) => {
    const child = await backend.spawn(inShell("trap '' TERM; echo ready; while :; do sleep 1; done"));
    await until("it is ready", () => child.output.kept > 0);
    await soon("it is ended", child.kill());
    equal((await child.exit).how, "signaled");
  },

  "killing twice, in parallel or after the end, is the same as once": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sleep", "1000"] });
    await Promise.all([child.kill(), child.kill()]);
    await child.kill();
    equal((await child.exit).how, "signaled");
    const ended = await backend.spawn(inShell("exit 4"));
    await ended.exit;
    await ended.kill();
    await exits(ended, 4);
  },

  "stopped by a signal before it began, it never runs": async ({ backend, folder, sh }) => {
    const failure = await failureOf(backend.spawn(inShell(": >ran", { cwd: folder, signal: AbortSignal.abort() })));
    match(failure, /sh/);
    equal((await sh("ls")).output, "");
  },

  "stopped by a signal while it runs, it is reported as aborted": async ({ backend }) => {
    const stop = new AbortController();
    const child = await backend.spawn(inShell("echo before; exec sleep 1000", { signal: stop.signal }));
    await until("it runs", () => child.output.kept > 0);
    stop.abort();
    deepEqual(await soon("it ends", child.exit), { how: "aborted" });
    equal(await textOf(child), "before\n");
  },

  "the first reason to stop is the one that is reported": async ({ backend }) => {
    const [stop, late] = [new AbortController(), new AbortController()];
    const child = await backend.spawn({ argv: ["sleep", "1000"], signal: stop.signal, timeoutMs: 600_000 });
    stop.abort();
    await child.kill();
    deepEqual(await child.exit, { how: "aborted" });
    const other = await backend.spawn({ argv: ["sleep", "1000"], signal: late.signal });
    const killing = other.kill();
    late.abort();
    await killing;
    equal((await other.exit).how, "signaled");
  },

  "a signal or a timeout that comes after the end changes nothing": async ({ backend }) => {
    const stop = new AbortController();
    const child = await backend.spawn({ argv: ["true"], signal: stop.signal, timeoutMs: 60_000 });
    await exits(child, 0);
    stop.abort();
    await new Promise((resolve) => setImmediate(resolve));
    await exits(child, 0);
  },

  "kill ends everything it started: children, orphans, other sessions, processes that ignore signals": async (
    scene,
  ) => {
    const { child, gone } = await escaping(scene);
    await soon("it is ended", child.kill());
    await gone();
  },

  "a timeout ends all that was started": async (scene) => {
    const { child, gone } = await escaping(scene, { timeoutMs: 5_000 });
    equal((await soon("it is ended", child.exit)).how, "timed-out");
    await gone();
  },

  "a signal ends all that was started": async (scene) => {
    const stop = new AbortController();
    const { child, gone } = await escaping(scene, { signal: stop.signal });
    stop.abort();
    deepEqual(await soon("it is ended", child.exit), { how: "aborted" });
    await gone();
  },

  "ending one does not affect the others": async ({ backend }) => {
    const argv = ["sh", "-c", 'read -r line; echo "$line"'] as const;
    const [one, other] = await Promise.all([
      backend.spawn({ argv, stdin: "pipe" }),
      backend.spawn({ argv, stdin: "pipe" }),
    ]);
    await one.kill();
    await other.write("still here\n");
    await exits(other, 0, "still here\n");
  },
};

/** A command whose processes try to escape, all of which run. */
async function escaping(scene: Scene, limits: Pick<Command, "timeoutMs" | "signal"> = {}) {
  const { enrol, present, gone } = await witness(scene);
  const argv = ["sh", "-c", `${enrol}\n${escapes.script}\nwait`] as const;
  const child = await scene.backend.spawn({ argv, cwd: scene.folder, ...limits });
  await present(escapes.names);
  return { child, gone };
}
