import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type Cases, failureOf, soon, until, whole } from "./scene.ts";
import { escapes, witness } from "./witness.ts";

/** Timeouts, kills and signals. */
export const stopping: Cases = {
  "after its time it is stopped, and its output so far is kept": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sh", "-c", "echo before; exec sleep 1000"], timeoutMs: 2_000 });
    const exit = await soon("its time is up", child.exit);
    equal(exit.how, "timed-out");
    ok(exit.how === "timed-out" && exit.afterMs >= 1_900, JSON.stringify(exit));
    equal((await whole(child.output)).toString(), "before\n");
  },

  "a timeout that is not reached changes nothing, however long it is": async ({ sh }) => {
    for (const timeoutMs of [60_000, 2 ** 31, 1e12, Infinity]) {
      const { exit, output } = await sh("sleep 0.05 2>/dev/null; echo done", { timeoutMs });
      deepEqual([exit, output], [{ how: "exited", code: 0 }, "done\n"]);
    }
  },

  "a killed process is told as signaled": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sleep", "1000"] });
    await child.kill();
    const exit = await child.exit;
    match(exit.how === "signaled" ? exit.signal : exit.how, /^SIG(TERM|KILL)$/);
  },

  "TERM comes first, so that a process can clean up; what it writes then is there": async ({ backend }) => {
    const child = await backend.spawn({
      argv: ["sh", "-c", "trap 'echo cleaned; exit 5' TERM; echo ready; while :; do sleep 1; done"],
    });
    await until("it is ready", () => child.output.kept > 0);
    await child.kill();
    match((await whole(child.output)).toString(), /^ready\n(Terminated\n)?cleaned\n$/);
    deepEqual(await child.exit, { how: "exited", code: 5 });
  },

  "KILL comes after the grace, for who is deaf": async ({ backend }) => {
    const child = await backend.spawn({
      argv: ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"],
    });
    await until("it is ready", () => child.output.kept > 0);
    await soon("it is ended", child.kill());
    equal((await child.exit).how, "signaled");
  },

  "killing twice, together or after the end, is as good as once": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sleep", "1000"] });
    await Promise.all([child.kill(), child.kill()]);
    await child.kill();
    equal((await child.exit).how, "signaled");
    const ended = await backend.spawn({ argv: ["sh", "-c", "exit 4"] });
    await ended.exit;
    await ended.kill();
    deepEqual(await ended.exit, { how: "exited", code: 4 });
  },

  "stopped by a signal before it began, it never runs": async ({ backend, folder, sh }) => {
    const failure = await failureOf(
      backend.spawn({ argv: ["sh", "-c", ": >ran"], cwd: folder, signal: AbortSignal.abort() }),
    );
    match(failure, /sh/);
    equal((await sh("ls")).output, "");
  },

  "stopped by a signal while it runs, it is told as aborted": async ({ backend }) => {
    const stop = new AbortController();
    const child = await backend.spawn({ argv: ["sh", "-c", "echo before; exec sleep 1000"], signal: stop.signal });
    await until("it runs", () => child.output.kept > 0);
    stop.abort();
    deepEqual(await soon("it ends", child.exit), { how: "aborted" });
    equal((await whole(child.output)).toString(), "before\n");
  },

  "the first reason to stop is the one that is told": async ({ backend }) => {
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
    deepEqual(await child.exit, { how: "exited", code: 0 });
    stop.abort();
    await new Promise((resolve) => setImmediate(resolve));
    deepEqual(await child.exit, { how: "exited", code: 0 });
  },

  "kill ends all that was started: children, their orphans, those in sessions of their own, the deaf": async (
    scene,
  ) => {
    const { backend, folder } = scene;
    const watching = await witness(scene);
    const child = await backend.spawn({
      argv: ["sh", "-c", `${watching.enrol}\n${escapes.script}\nwait`],
      cwd: folder,
    });
    await watching.present(escapes.names);
    await soon("it is ended", child.kill());
    await watching.gone();
  },

  "a timeout ends all that was started": async (scene) => {
    const { backend, folder } = scene;
    const watching = await witness(scene);
    const child = await backend.spawn({
      argv: ["sh", "-c", `${watching.enrol}\n${escapes.script}\nwait`],
      cwd: folder,
      timeoutMs: 5_000,
    });
    await watching.present(escapes.names);
    equal((await soon("it is ended", child.exit)).how, "timed-out");
    await watching.gone();
  },

  "a signal ends all that was started": async (scene) => {
    const { backend, folder } = scene;
    const watching = await witness(scene);
    const stop = new AbortController();
    const child = await backend.spawn({
      argv: ["sh", "-c", `${watching.enrol}\n${escapes.script}\nwait`],
      cwd: folder,
      signal: stop.signal,
    });
    await watching.present(escapes.names);
    stop.abort();
    deepEqual(await soon("it is ended", child.exit), { how: "aborted" });
    await watching.gone();
  },

  "ending one leaves the others alone": async ({ backend }) => {
    const argv = ["sh", "-c", 'read -r line; echo "$line"'] as const;
    const [one, other] = await Promise.all([
      backend.spawn({ argv, stdin: "pipe" }),
      backend.spawn({ argv, stdin: "pipe" }),
    ]);
    await one.kill();
    await other.write("still here\n");
    deepEqual(await soon("it has answered", other.exit), { how: "exited", code: 0 });
    equal((await whole(other.output)).toString(), "still here\n");
  },
};
