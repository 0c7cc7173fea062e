import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import type { Backend } from "../../../src/core/contract/backend.ts";
import { type Cases, exits, failureOf, inShell, run, soon, textOf, until } from "../backend/scene.ts";
import { fresh, paneOf, screenOf, shows, startAsking, terminalOf } from "./pane.ts";

/** Several commands, several backends and people in one session. */
export const sharing: Cases = {
  "while a person works in a pane, the next command goes to another one, which is reported once": async ({ open }) => {
    const backend = await open();
    await run(backend, { argv: ["true"] });
    backend.notices?.();
    const word = fresh();
    const { pane } = await terminalOf(backend).sendKeys({ text: `echo ${word}-$((1 + 1)); sleep 1000`, enter: true });
    await shows(backend, new RegExp(`^${word}-2`, "m"), pane);
    const beside = await backend.spawn({ argv: ["echo", "beside"] });
    await exits(beside, 0);
    notEqual(paneOf(beside), pane);
    const said = backend.notices?.().join("\n") ?? "";
    ok(said.includes(pane) && said.includes(paneOf(beside)), `expected both panes in ${JSON.stringify(said)}`);
    deepEqual(backend.notices?.(), []);
    await terminalOf(backend).sendKeys({ target: pane, keys: ["C-c"] });
  },

  "two parallel commands use two panes; a later one uses the first again": async ({ open }) => {
    const backend = await open();
    await run(backend, { argv: ["true"] });
    backend.notices?.(); // the pane that it found may have been another's
    const [one, other] = await Promise.all([
      startAsking(backend, "read -r line"),
      startAsking(backend, "read -r line"),
    ]);
    notEqual(paneOf(one), paneOf(other));
    for (const child of [one, other]) {
      await terminalOf(backend).sendKeys({ target: paneOf(child), enter: true });
      await exits(child, 0);
    }
    const after = await backend.spawn({ argv: ["true"] });
    await after.exit;
    ok([paneOf(one), paneOf(other)].includes(paneOf(after)));
    deepEqual(backend.notices?.(), []);
  },

  "a job has its own pane, which is closed when it ends": async ({ backend }) => {
    const job = await backend.spawn(inShell("echo up; exec sleep 1000", { lifetime: "toolkit" }));
    await soon("it runs", job.output.grown(0));
    const beside = await backend.spawn({ argv: ["true"] });
    notEqual(paneOf(beside), paneOf(job));
    await shows(backend, /^up$/m, paneOf(job));
    await job.kill();
    deepEqual(await job.exit, { how: "signaled", signal: "SIGTERM" });
    equal(await textOf(job), "up\n");
    await until("its pane is gone", () => isGone(backend, paneOf(job)));
  },

  "a dispatched command has the terminal, keeps its pane, and outlives the backend": async (scene) => {
    const { backend, open, folder } = scene;
    const own = await open();
    const script = "[ -t 0 ] && [ -t 1 ] && pwd -P && read -r answer && echo got-$answer && exec sleep 1000";
    const { pane } = await terminalOf(own).dispatch({ argv: ["sh", "-c", script], cwd: folder });
    await shows(own, new RegExp(`^${folder}$`, "m"), pane);
    const beside = await own.spawn({ argv: ["echo", "beside"] });
    await exits(beside, 0);
    notEqual(paneOf(beside), pane);
    await own.close();
    const word = fresh();
    await terminalOf(backend).sendKeys({ target: pane, text: word, enter: true });
    await shows(backend, new RegExp(`^got-${word}$`, "m"), pane);
    const before = await screenOf(backend, pane);
    await terminalOf(backend).sendKeys({ target: pane, keys: ["C-c"] });
    await until("the prompt is back", async () => (await screenOf(backend, pane)) !== before);
  },

  "a command that cannot be dispatched is a failure that names it": async ({ backend, at }) => {
    ok((await failureOf(terminalOf(backend).dispatch({ argv: [at("missing")] }))).includes("missing"));
    ok((await failureOf(terminalOf(backend).dispatch({ argv: ["true"], cwd: at("nowhere") }))).includes("nowhere"));
  },

  "each backend has its own pane; a later one reuses that of a closed one": async ({ backend, open }) => {
    const first = await open();
    const [mine, its] = [await backend.spawn({ argv: ["true"] }), await first.spawn({ argv: ["true"] })];
    await Promise.all([mine.exit, its.exit]);
    notEqual(paneOf(mine), paneOf(its));
    await first.close();
    ok(!(await isGone(backend, paneOf(its))));
    const later = await open();
    const again = await later.spawn({ argv: ["echo", "later"] });
    await exits(again, 0, "later\n");
    notEqual(paneOf(again), paneOf(mine));
  },

  "when the backend is closed, commands in panes are ended": async ({ open, backend }) => {
    const own = await open();
    const child = await startAsking(own, "exec sleep 1000");
    await soon("it is closed", own.close());
    equal((await child.exit).how, "signaled");
    ok(!(await isGone(backend, paneOf(child))));
  },
};

async function isGone(backend: Backend, pane: string): Promise<boolean> {
  return terminalOf(backend)
    .capture({ target: pane })
    .then(
      () => false,
      () => true,
    );
}
