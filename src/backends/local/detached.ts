import { closeSync, openSync } from "node:fs";
import { link, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Command, DetachedProcesses, Process } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { fileLog } from "../../output/file-log.ts";
import { pause } from "../../util/abort.ts";
import { randomName } from "../../util/identifier.ts";
import { makePrivateFolder } from "../../util/private-file.ts";
import { type DetachedPlan, type FoundDetached, detachedIn, detachedProcess, planDetached } from "../detached.ts";
import { type End, type Fate, endOf, fateJudge } from "../fate.ts";
import { pipeToRead, removeName } from "./pipe.ts";
import { startFailure } from "./spawn.ts";
import { spawner } from "./spawner/connection.ts";
import { startOf } from "./spawner/process-start.ts";

/** How often it is looked whether a detached process has ended: nobody tells us. */
const LOOK_MS = 250;

/** Its plan, in `job.json` of its folder; and what the spawner tells in `process.json` as soon as it runs. Beside them stands `output`. */
interface Kept extends DetachedPlan {
  readonly pid: number;
  /** As `startOf` said. */
  readonly start: string;
}

/**
 * Starts a process that outlives us. The spawner watches over it when we have gone, and all that is to be known of it is in a folder of its
 * own, so that any later backend on this machine finds it.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function spawnDetached(
  command: Command,
  { folder, cwd, env }: { readonly folder: string; readonly cwd: string; readonly env: Env },
): Promise<Process> {
  const { argv } = command;
  const { id, plan } = planDetached(command, cwd);
  const { mark } = plan;
  const own = resolve(folder, id); // the spawner stands elsewhere
  const service = await spawner();
  // Held open until the spawner copies from it: what comes out goes to the file without us.
  const { pipe, fd } = await pipeToRead(service);
  try {
    await makePrivateFolder(own);
    closeSync(openSync(join(own, "output"), "a", 0o600));
    await writeFile(join(own, "job.json"), JSON.stringify(plan), { mode: 0o600 });
    await service.startDetached({ argv, cwd, env, stdout: pipe, mark, detached: own });
    const found = await foundIn(folder, id);
    if (found === undefined) throw new ToolFailure(`${own} was removed while ${argv[0]} was started`);
    return found.process;
  } catch (error) {
    await service.sweep({ mark }); // where it runs already, nobody would ever find it
    await rm(own, { recursive: true, force: true });
    throw startFailure(error, argv[0], cwd);
  } finally {
    closeSync(fd);
    removeName(pipe);
  }
}

/** The detached processes of a folder, as `detachedIn` says. */
export function detachedProcesses(folder: string, now?: () => number): DetachedProcesses {
  const all = async () => {
    const names = await readdir(folder).catch(() => []);
    const found = await Promise.all(names.map((name) => foundIn(folder, name)));
    return found.filter((each) => each !== undefined);
  };
  return detachedIn({ all, one: (id) => foundIn(folder, id) }, now);
}

/** Removes the detached processes of all owners that ended more than a week ago. `folder` holds a folder for each owner. Never rejects. */
export async function forgetEnded(folder: string): Promise<void> {
  for (const owner of await readdir(folder).catch(() => [])) {
    await detachedProcesses(join(folder, owner))
      .list() // which forgets them
      .catch(() => []);
  }
}

/** `undefined` for what is not one of ours, or never started. */
async function foundIn(folder: string, id: string): Promise<FoundDetached | undefined> {
  const own = join(folder, id);
  const kept = await keptIn(own);
  if (kept === undefined) return undefined;
  const judge = fateJudge();
  const look = async () => {
    const seen = await fateIn(own, kept);
    const fate = judge(seen);
    if (seen === "gone" && fate !== "gone") await tellLost(own, fate);
    return fate;
  };
  const end = () => endOf(look);
  const process = detachedProcess({
    id,
    output: fileLog(join(own, "output"), async () => typeof (await look()) === "object"),
    look,
    async ended() {
      for (;;) {
        const ended = await end();
        if (ended !== undefined) return ended.exit;
        await pause(LOOK_MS, undefined, { keepsAlive: false });
      }
    },
    async end() {
      const service = await spawner();
      // By its number too: what has become another user's hides its mark. It runs, so the number is its own.
      if (!(await service.sweep({ mark: kept.mark, group: kept.pid }))) return false;
      while ((await end()) === undefined) await pause(LOOK_MS);
      return true;
    },
  });
  return { plan: kept, process, end, forget: () => rm(own, { recursive: true, force: true }) };
}

async function keptIn(own: string): Promise<Kept | undefined> {
  try {
    const [plan, running] = await Promise.all(
      ["job.json", "process.json"].map((name) => readFile(join(own, name), "utf8")),
    );
    return {
      ...(JSON.parse(plan ?? "") as DetachedPlan),
      ...(JSON.parse(running ?? "") as Pick<Kept, "pid" | "start">),
    };
  } catch {
    return undefined;
  }
}

/** That its end is lost is written down once, so that it is known for how long. A true end that is told after all takes its place. */
async function tellLost(own: string, fate: Fate): Promise<void> {
  const part = join(own, `exit.json.${randomName(8)}`);
  try {
    await writeFile(part, JSON.stringify(fate), { mode: 0o600 });
    await link(part, join(own, "exit.json")); // which fails where an end was told meanwhile
  } catch {
    // it is judged again by the next who looks
  } finally {
    await rm(part, { force: true });
  }
}

/** Its end, as the spawner has told it in `exit.json`, or whether it still runs. */
async function fateIn(own: string, { pid, start }: Kept): Promise<Fate> {
  const told = await readFile(join(own, "exit.json"), "utf8").catch(() => undefined);
  if (told !== undefined) return JSON.parse(told) as End;
  return start !== "" && startOf(pid) === start ? "running" : "gone";
}
