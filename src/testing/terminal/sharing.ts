import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import type { Backend } from "../../contract/backend.ts";
import { type Cases, failureOf, run, soon, until } from "../backend/scene.ts";
import { fresh, paneOf, screenOf, shows, startAsking, terminalOf, textOf } from "./pane.ts";

/** Several commands, several backends and people in one session. */
export const sharing: Cases = {
  "where a person works, the next command goes to another pane, and that is said once": async ({ open }) => {
    const backend = await open();
    await run(backend, { argv: ["true"] });
    backend.notices?.();
    const word = fresh();
    const { pane } = await terminalOf(backend).sendKeys({ text: `echo ${word}-$((1 + 1)); sleep 1000`, enter: true });
    await shows(backend, new RegExp(`^${word}-2`, "m"), pane);
    const beside = await backend.spawn({ argv: ["echo", "beside"] });
    deepEqual(await beside.exit, { how: "exited", code: 0 });
    notEqual(paneOf(beside), pane);
    const said = backend.notices?.().join("\n") ?? "";
    ok(said.includes(pane) && said.includes(paneOf(beside)), `expected both panes in ${JSON.stringify(said)}`);
    deepEqual(backend.notices?.(), []);
    await terminalOf(backend).sendKeys({ target: pane, keys: ["C-c"] });
  },

  "two that run at one time are in two panes; one that comes after them is in the first again": async ({ open }) => {
    const backend = await open();
    await run(backend, { argv: ["true"] });
    backend.notices?.(); // the pane that it found may have been somebody's
    const [one, other] = await Promise.all([
      startAsking(backend, "read -r line"),
      startAsking(backend, "read -r line"),
    ]);
    notEqual(paneOf(one), paneOf(other));
    for (const child of [one, other]) {
      await terminalOf(backend).sendKeys({ target: paneOf(child), enter: true });
      deepEqual(await soon("it ends", child.exit), { how: "exited", code: 0 });
    }
    const after = await backend.spawn({ argv: ["true"] });
    await after.exit;
    ok([paneOf(one), paneOf(other)].includes(paneOf(after)));
    deepEqual(backend.notices?.(), []);
  },

  "a command that lasts has a pane of its own, which is gone when it has ended": async ({ backend }) => {
    const job = await backend.spawn({ argv: ["sh", "-c", "echo up; exec sleep 1000"], lifetime: "toolkit" });
    await soon("it runs", job.output.grown(0));
    const beside = await backend.spawn({ argv: ["true"] });
    notEqual(paneOf(beside), paneOf(job));
    await shows(backend, /^up$/m, paneOf(job));
    await job.kill();
    deepEqual(await job.exit, { how: "signaled", signal: "SIGTERM" });
    equal(await textOf(job), "up\n");
    await until("its pane is gone", () => isGone(backend, paneOf(job)));
  },

  "what is dispatched has the terminal, keeps its pane, and goes on when the backend is closed": async ({
    backend,
    open,
    folder,
  }) => {
    const own = await open();
    const script = "[ -t 0 ] && [ -t 1 ] && pwd -P && read -r answer && echo got-$answer && exec sleep 1000";
    const { pane } = await terminalOf(own).dispatch({ argv: ["sh", "-c", script], cwd: folder });
    await shows(own, new RegExp(`^${folder}$`, "m"), pane);
    const beside = await own.spawn({ argv: ["echo", "beside"] });
    deepEqual(await beside.exit, { how: "exited", code: 0 });
    notEqual(paneOf(beside), pane);
    await own.close();
    const word = fresh();
    await terminalOf(backend).sendKeys({ target: pane, text: word, enter: true });
    await shows(backend, new RegExp(`^got-${word}$`, "m"), pane);
    const before = await screenOf(backend, pane);
    await terminalOf(backend).sendKeys({ target: pane, keys: ["C-c"] });
    await until("the prompt is back", async () => (await screenOf(backend, pane)) !== before);
  },

  "what cannot be dispatched is a failure that names it": async ({ backend, at }) => {
    ok((await failureOf(terminalOf(backend).dispatch({ argv: [at("missing")] }))).includes("missing"));
    ok((await failureOf(terminalOf(backend).dispatch({ argv: ["true"], cwd: at("nowhere") }))).includes("nowhere"));
  },

  "each backend has a pane of its own; one that is closed leaves its to a later one": async ({ backend, open }) => {
    const first = await open();
    const [mine, its] = [await backend.spawn({ argv: ["true"] }), await first.spawn({ argv: ["true"] })];
    await Promise.all([mine.exit, its.exit]);
    notEqual(paneOf(mine), paneOf(its));
    await first.close();
    ok(!(await isGone(backend, paneOf(its))));
    const later = await open();
    const again = await later.spawn({ argv: ["echo", "later"] });
    deepEqual(await again.exit, { how: "exited", code: 0 });
    equal(await textOf(again), "later\n");
    notEqual(paneOf(again), paneOf(mine));
  },

  "when the backend is closed, what runs in panes is ended": async ({ open, backend }) => {
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
