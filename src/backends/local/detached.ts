import { closeSync, openSync } from "node:fs";
import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Command, DetachedProcess, DetachedProcesses, Exit, Process } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { fileLog } from "../../output/file-log.ts";
import { pause } from "../../util/abort.ts";
import { randomName } from "../../util/identifier.ts";
import { makePrivateFolder } from "../../util/private-file.ts";
import { pipeToRead, removeName } from "./pipe.ts";
import { startFailure } from "./spawn.ts";
import { spawner } from "./spawner/connection.ts";
import { startOf } from "./spawner/process-start.ts";

/** So long after its end one is still listed: 7 days. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

/** How often it is looked whether a detached process has ended: nobody tells us. */
const LOOK_MS = 250;

/** The end of a process is told so long after it at the latest, when whoever watched over it lives. */
const TOLD_MS = 1_500;
const SOON_MS = 50;

/** What is kept of a detached process in `job.json` of its folder, before it is started. Beside it stands `output`. */
interface Plan {
  readonly label: string;
  readonly cwd: string;
  readonly startedMs: number;
  readonly mark: string;
}

/** With what the spawner tells in `process.json` as soon as it runs. (And in `exit.json` at its end.) */
interface Kept extends Plan {
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
  { argv, detached = { label: argv.join(" ") } }: Command,
  { folder, cwd, env }: { readonly folder: string; readonly cwd: string; readonly env: Env },
): Promise<Process> {
  const id = randomName(8);
  const own = resolve(folder, id); // the spawner stands elsewhere
  const mark = `:detached-${id}-${randomName(8)}:`;
  const service = await spawner();
  // Held open until the spawner copies from it: what comes out goes to the file without us.
  const { pipe, fd } = await pipeToRead(service);
  try {
    await makePrivateFolder(own);
    closeSync(openSync(join(own, "output"), "a", 0o600));
    const plan: Plan = { label: detached.label, cwd, startedMs: Date.now(), mark };
    await writeFile(join(own, "job.json"), JSON.stringify(plan), { mode: 0o600 });
    await service.startDetached({ argv, cwd, env, stdout: pipe, mark, detached: own });
    const kept = await keptIn(own);
    if (kept === undefined) throw new ToolFailure(`${own} was removed while ${argv[0]} was started`);
    return processIn(own, id, kept);
  } catch (error) {
    await service.sweep({ mark }); // where it runs already, nobody would ever find it
    await rm(own, { recursive: true, force: true });
    throw startFailure(error, argv[0], cwd);
  } finally {
    closeSync(fd);
    removeName(pipe);
  }
}

/**
 * The detached processes of a folder, whoever started them. Those that ended more than a week before `now` are forgotten when they are
 * listed, as saved outputs are.
 */
export function detachedProcesses(folder: string, now: () => number = Date.now): DetachedProcesses {
  const found = async (id: string): Promise<DetachedProcess | undefined> => {
    const own = join(folder, id);
    const kept = await keptIn(own);
    if (kept === undefined) return undefined;
    const { label, cwd, startedMs } = kept;
    const end = await endOf(own, kept);
    if (end !== undefined && now() - end.atMs > KEPT_MS) {
      await rm(own, { recursive: true, force: true });
      return undefined;
    }
    return { id, label, cwd, startedMs, ended: end?.exit, endedMs: end?.atMs, process: processIn(own, id, kept) };
  };
  return {
    async list() {
      const names = await readdir(folder).catch(() => []);
      const all = await Promise.all(names.map(found));
      return all.filter((each) => each !== undefined).toSorted((one, other) => one.startedMs - other.startedMs);
    },
    async remove(id) {
      const own = join(folder, id);
      const kept = await keptIn(own);
      if (kept === undefined) throw new ToolFailure(`there is no detached process ${id}`);
      if ((await endOf(own, kept)) === undefined) throw new ToolFailure(`${id} still runs`, { hint: "Stop it first." });
      await rm(own, { recursive: true, force: true });
    },
  };
}

function processIn(own: string, id: string, kept: Kept): Process {
  let killed = false;
  let seen: Promise<Exit> | undefined;
  const hasEnded = async () => (await endOf(own, kept)) !== undefined;
  const ended = async (): Promise<Exit> => {
    for (;;) {
      const end = await endOf(own, kept);
      if (end !== undefined) return killed && end.exit.how === "lost" ? { how: "aborted" } : end.exit;
      await pause(LOOK_MS, undefined, { keepsAlive: false });
    }
  };
  const exit = () => {
    seen ??= ended();
    return seen;
  };
  return {
    id,
    output: fileLog(join(own, "output"), hasEnded),
    errors: undefined,
    get exit() {
      return exit();
    },
    write: () => Promise.reject(new ToolFailure("a detached process has no stdin")),
    endInput: async () => {},
    async kill() {
      if (await hasEnded()) return;
      killed = true;
      const service = await spawner();
      await service.sweep({ mark: kept.mark });
      while (!(await hasEnded())) await pause(LOOK_MS);
      await exit();
    },
  };
}

async function keptIn(own: string): Promise<Kept | undefined> {
  try {
    const [plan, running] = await Promise.all(
      ["job.json", "process.json"].map((name) => readFile(join(own, name), "utf8")),
    );
    return { ...(JSON.parse(plan ?? "") as Plan), ...(JSON.parse(running ?? "") as Pick<Kept, "pid" | "start">) };
  } catch {
    return undefined; // not one of ours, or it never started
  }
}

/** As it stands in `exit.json`. */
interface End {
  readonly exit: Exit;
  readonly atMs: number;
}

/** How it ended; `undefined` while it runs. */
async function endOf(own: string, { pid, start }: Kept): Promise<End | undefined> {
  const told = await toldIn(own);
  if (told !== undefined) return told;
  if (start !== "" && startOf(pid) === start) return undefined;
  // It may have ended between the two looks, and its end is told a moment later.
  for (let waited = 0; waited < TOLD_MS; waited += SOON_MS) {
    await pause(SOON_MS);
    const late = await toldIn(own);
    if (late !== undefined) return late;
  }
  return { exit: { how: "lost", reason: "what watched over it has died too" }, atMs: Date.now() };
}

async function toldIn(own: string): Promise<End | undefined> {
  const text = await readFile(join(own, "exit.json"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as End);
}
