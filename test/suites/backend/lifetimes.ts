import { deepEqual, equal, ok } from "node:assert/strict";
import type { Backend, Command, DetachedProcess } from "../../../src/core/contract/backend.ts";
import type { JobLifetime } from "../../../src/core/contract/lifetime.ts";
import { ANSWERING, questionAndAnswer } from "./input.ts";
import { randomBytes } from "./random.ts";
import { type Cases, type Scene, UNTIL_GO, exits, failureOf, run, soon, textOf, until } from "./scene.ts";
import { escapes, witness } from "./witness.ts";

/** Tests for every process that outlives its call. */
const jobs = (lifetime: JobLifetime): Cases => ({
  "its output is merged, and its exit code is known": async ({ sh, folder }) => {
    const script = "echo out; echo err >&2; pwd -P; exit 255";
    for (const streams of ["merged", "split"] as const) {
      const { exit, output, errors } = await sh(script, { lifetime, streams });
      deepEqual([exit, output, errors], [{ how: "exited", code: 255 }, `out\nerr\n${folder}\n`, ""]);
    }
  },

  "arguments and variables arrive": async ({ backend }) => {
    const odd = "'\"`$(id)\\ \n\n漢字";
    const { output } = await run(backend, {
      lifetime,
      argv: ["sh", "-c", 'printf "%s|%s" "$1" "$ODD"', "sh", odd],
      env: { ODD: odd },
    });
    equal(output, `${odd}|${odd}`);
  },

  "five megabytes come through whole": async ({ write, sh }) => {
    const block = randomBytes(1_048_577, 4);
    await write("block", block);
    const { bytes, exit } = await sh("cat block block block block block; exit 9", { lifetime });
    ok(bytes.equals(Buffer.concat(Array.from({ length: 5 }, () => block))), `got ${bytes.length} bytes`);
    deepEqual(exit, { how: "exited", code: 9 });
  },

  "question and answer go back and forth": ({ backend }) => questionAndAnswer(backend, lifetime),

  "its stdin is closed unless it was to be a pipe": async ({ backend }) => {
    const child = await backend.spawn({ lifetime, argv: ["sh", "-c", "cat; echo end of input"] });
    ok((await failureOf(child.write("x"))) !== "");
    await child.endInput();
    await exits(child, 0, "end of input\n");
  },

  "a background child does not delay the end": async ({ open }) => {
    const backend = await open();
    const child = await backend.spawn({ lifetime, argv: ["sh", "-c", "sleep 60 & echo started"] });
    await exits(child, 0, "started\n");
  },

  "after its time it is stopped, and its output so far is kept": async ({ backend }) => {
    const argv = ["sh", "-c", "echo before; exec sleep 1000"] as const;
    const child = await backend.spawn({ lifetime, argv, timeoutMs: 2_000 });
    equal((await soon("its time is up", child.exit)).how, "timed-out");
    equal(await textOf(child), "before\n");
  },

  "kill ends all that was started": async (scene) => {
    const watching = await witness(scene);
    const argv = ["sh", "-c", `${watching.enrol}\n${escapes.script}\nwait`] as const;
    const child = await scene.backend.spawn({ lifetime, argv, cwd: scene.folder });
    await watching.present(escapes.names);
    await soon("it is ended", child.kill());
    await watching.gone();
  },

  "a program that cannot be started is a failure": async ({ backend }) => {
    ok((await failureOf(backend.spawn({ lifetime, argv: ["handrail-suite-no-such-program"] }))) !== "");
  },
});

/** Processes that end when their backend is closed. */
export const toolkitLifetime: Cases = {
  ...jobs("toolkit"),

  "it is ended when its backend is closed": async (scene) => {
    const watching = await witness(scene);
    const backend = await scene.open();
    const child = await backend.spawn({
      lifetime: "toolkit",
      argv: ["sh", "-c", `${watching.enrol}; echo running >&9; exec sleep 1000`],
      cwd: scene.folder,
    });
    await watching.present(["running"]);
    await soon("it is closed", backend.close());
    await watching.gone();
    equal((await child.exit).how, "signaled");
  },
};

/** Processes that outlive their backend. Removes at its end what a case leaves in the list. */
export const detachedLifetime: Cases = withoutTraces({
  ...jobs("detached"),

  "it outlives its backend; a later backend knows all of it, and removes it on request": async (scene) => {
    const first = await scene.open();
    const { id, output } = await first.spawn(detached(scene, `echo before; ${UNTIL_GO}; echo after; exit 7`));
    await until("it runs", () => output.kept > 0);
    await first.close();
    const later = await scene.open();
    const { process, ...about } = await the(id, later);
    const { startedMs, ...rest } = about;
    deepEqual(rest, { id, label: LABEL, cwd: scene.folder, ended: undefined, endedMs: undefined });
    ok(Math.abs(startedMs - Date.now()) < DAY_MS, `started at ${startedMs}`);
    await soon("its output is there", process.output.grown(6));
    equal(await textOf(process), "before\n");
    await scene.write("go", "");
    await exits(process, 7, "before\nafter\n");
    const ended = await the(id, later);
    deepEqual(ended.ended, { how: "exited", code: 7 });
    ok((ended.endedMs ?? 0) >= startedMs - DAY_MS);
    await later.detached?.remove(id);
    equal(await find(id, later), undefined);
  },

  "a later backend writes to its stdin, and ends that": async (scene) => {
    const first = await scene.open();
    const { id } = await first.spawn({ ...detached(scene, ANSWERING), stdin: "pipe" });
    await first.close();
    const { process } = await the(id, await scene.open());
    await process.write("one\n");
    await process.write("two\n");
    await process.endInput();
    await exits(process, 0, "got one\ngot two\nend\n");
  },

  "a running one is not removed, and a later backend can kill it with all that it started": async (scene) => {
    const watching = await witness(scene);
    const first = await scene.open();
    const { id } = await first.spawn(detached(scene, `${watching.enrol}\n${escapes.script}\nwait`));
    await watching.present(escapes.names);
    await first.close();
    const later = await scene.open();
    await later.detached?.remove(id).catch(() => undefined);
    const { process, ended } = await the(id, later);
    equal(ended, undefined);
    await soon("it is ended", process.kill());
    await watching.gone();
    ok((await the(id, later)).ended !== undefined);
  },
});

/** Backends without detached processes. */
export const withoutDetached: Cases = {
  "there are none, and starting one is a failure": async ({ backend }) => {
    equal(backend.detached, undefined);
    ok((await failureOf(backend.spawn({ argv: ["true"], lifetime: "detached" }))) !== "");
  },
};

const LABEL = "a label: 'quotes', 漢字\nand a second line";

/** The clocks of two machines differ. */
const DAY_MS = 86_400_000;

function detached({ folder }: Scene, script: string): Command {
  return { argv: ["sh", "-c", script], cwd: folder, lifetime: "detached", label: LABEL };
}

/** A case must leave no running process in the list; the others are removed. */
function withoutTraces(cases: Cases): Cases {
  const traceless =
    (test: Cases[string]): Cases[string] =>
    async (scene) => {
      const ids = async () => new Set(((await scene.backend.detached?.list()) ?? []).map(({ id }) => id));
      const before = await ids();
      await test(scene);
      for (const id of await ids()) if (!before.has(id)) await scene.backend.detached?.remove(id);
    };
  return Object.fromEntries(Object.entries(cases).map(([title, test]) => [title, traceless(test)]));
}

async function the(id: string, backend: Backend): Promise<DetachedProcess> {
  const found = await find(id, backend);
  ok(found !== undefined, `expected the detached process ${id} in the list`);
  return found;
}

async function find(id: string, { detached: kept }: Backend): Promise<DetachedProcess | undefined> {
  ok(kept !== undefined, "expected a backend that keeps detached processes");
  return (await kept.list()).find((each) => each.id === id);
}
