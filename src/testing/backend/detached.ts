import { deepEqual, equal, ok } from "node:assert/strict";
import type { Backend, Command, DetachedProcess } from "../../contract/backend.ts";
import { type Cases, type Scene, failureOf, soon, until, whole } from "./scene.ts";
import { escapes, witness } from "./witness.ts";

const UNTIL_GO = "while [ ! -e go ]; do sleep 0.05 2>/dev/null || sleep 1; done";

/** Processes that outlive their backend. */
export const detached: Cases = {
  "one goes on when its backend is closed; a later backend knows all of it, and forgets it when told": async (
    scene,
  ) => {
    const first = await scene.open();
    const { id, output } = await first.spawn(inBackground(scene, `echo before; ${UNTIL_GO}; echo after; exit 7`));
    await until("it runs", () => output.kept > 0);
    await first.close();
    const later = await scene.open();
    const { process, ...about } = await the(id, later);
    const { startedMs, ...rest } = about;
    deepEqual(rest, { id, label: LABEL, cwd: scene.folder, ended: undefined, endedMs: undefined });
    ok(Math.abs(startedMs - Date.now()) < DAY_MS, `started at ${startedMs}`);
    await soon("its output is there", process.output.grown(6));
    equal((await whole(process.output)).toString(), "before\n");
    await scene.write("go", "");
    deepEqual(await soon("it ends", process.exit), { how: "exited", code: 7 });
    equal((await whole(process.output)).toString(), "before\nafter\n");
    const ended = await the(id, later);
    deepEqual(ended.ended, { how: "exited", code: 7 });
    ok((ended.endedMs ?? 0) >= startedMs - DAY_MS);
    await later.detached?.remove(id);
    equal(await find(id, later), undefined);
  },

  "one that runs is not forgotten, and a later backend can kill it with all that it started": async (scene) => {
    const watching = await witness(scene);
    const first = await scene.open();
    const { id } = await first.spawn(inBackground(scene, `${watching.enrol}\n${escapes.script}\nwait`));
    await watching.present(escapes.names);
    await first.close();
    const later = await scene.open();
    await later.detached?.remove(id).catch(() => undefined);
    const { process, ended } = await the(id, later);
    equal(ended, undefined);
    await soon("it is ended", process.kill());
    await watching.gone();
    ok((await the(id, later)).ended !== undefined);
    await later.detached?.remove(id);
  },

  "its stdin is closed": async (scene) => {
    const backend = await scene.open();
    const child = await backend.spawn(inBackground(scene, "cat; echo end of input"));
    ok((await failureOf(child.write("x"))) !== "");
    await child.endInput();
    deepEqual(await soon("it ends", child.exit), { how: "exited", code: 0 });
    equal((await whole(child.output)).toString(), "end of input\n");
    await backend.detached?.remove(child.id);
  },

  "one that cannot be started leaves nothing of itself": async ({ open }) => {
    const backend = await open();
    const before = await backend.detached?.list();
    ok(
      (await failureOf(backend.spawn({ argv: ["handrail-suite-no-such-program"], detached: { label: LABEL } }))) !== "",
    );
    equal((await backend.detached?.list())?.length, before?.length);
  },
};

/** A backend that keeps none. */
export const withoutDetached: Cases = {
  "there are none, and asking for one is a failure": async ({ backend }) => {
    equal(backend.detached, undefined);
    ok((await failureOf(backend.spawn({ argv: ["true"], detached: { label: LABEL } }))) !== "");
  },
};

const LABEL = "a label: 'quotes', 漢字\nand a second line";

/** Clocks of two machines are not the same. */
const DAY_MS = 86_400_000;

function inBackground({ folder }: Scene, script: string): Command {
  return { argv: ["sh", "-c", script], cwd: folder, detached: { label: LABEL } };
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
