import { randomBytes } from "node:crypto";
import type { DetachedProcesses, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { JobCommand } from "../../core/contract/job.ts";
import { onAbort } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { shared } from "../../core/util/promises.ts";
import { quoteWord } from "../../core/util/quote.ts";
import { type FoundJob, type JobPlan, detachedProcesses, foundJob, parsePlan, planJob } from "../process/detached.ts";
import { type JobFolder, runJob } from "../process/folder.ts";
import { closedFailure } from "../process/run.ts";
import { type JobStatus, parseNotes, removedStatus } from "../process/status.ts";
import { endProcesses } from "./end-processes.ts";
import { startInFolder } from "./job-script.ts";
import type { ContainedScript } from "./command-script.ts";
import type { Lease } from "./lease.ts";
import { LineLost } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** The longest pause between two checks of a job, in milliseconds. */
const LONGEST_WAIT_MS = 1_000;

/** Blocks for reading output with dd, in bytes. Ranges that are multiples of 64 KiB use the large, faster ones. */
const BLOCK = 512;
const LARGE_BLOCK = 65_536;

/** Bytes of output that one round trip reads: 1 MiB. */
const MOST_BYTES = 1_048_576;

export interface JobsOptions {
  readonly shells: Shells;
  readonly lease: Lease;
  /** The home folder on the remote host. */
  readonly home: string;
  /** Backends for which this word is the same share their detached processes. */
  readonly owner: string;
  /** The remote host's name in sentences. */
  readonly place: string;
}

/** Jobs: processes that outlive their call. They need no connection. */
export interface RemoteJobs {
  /** `cwd` is a real path. @throws ToolFailure when it cannot be started. */
  start(command: JobCommand, cwd: string, contained?: ContainedScript): Promise<Process>;
  readonly detached: DetachedProcesses;
  /** Stops following jobs. The exit of jobs that still run becomes "lost". */
  stop(): void;
}

export function remoteJobs({ shells, lease, home, owner, place }: JobsOptions): RemoteJobs {
  const closing = new AbortController();

  /** The folder of the detached processes of this owner. */
  const detachedFolder = shared(async () => {
    const { out } = await shells.ask(
      'case ${XDG_STATE_HOME-} in /*) printf %s "$XDG_STATE_HOME" ;; ' +
        `*) printf %s ${quoteWord(home)}/.local/state ;; esac`,
    );
    return `${out.toString("utf8")}/handrail/detached/${encodeURIComponent(owner)}`;
  });
  const folderOf = (folder: string, mark: string, pid: number): JobFolder => ({
    ...jobFolder({ shells, place }, folder),
    closed: closing.signal,
    end: () => endProcesses(shells, mark, String(pid)),
  });

  const findJobs = async (id?: string): Promise<readonly FoundJob[]> => {
    const parent = await detachedFolder();
    const folders = id === undefined ? `${quoteWord(parent)}/*` : quoteWord(`${parent}/${id}`);
    const seen = await seenIn(shells, folders);
    return Promise.all(
      seen.flatMap(({ name, plan, pid }) =>
        pid === undefined ? [] : [foundJob(plan, { id: name, folder: folderOf(`${parent}/${name}`, plan.mark, pid) })],
      ),
    );
  };

  return {
    detached: detachedProcesses(findJobs),
    async start(command, cwd, contained) {
      const { argv, lifetime } = command;
      if (closing.signal.aborted) throw closedFailure();
      const isLeased = lifetime === "toolkit";
      const { name, plan } = planJob(command, { cwd, lease: isLeased ? `${lease.mark}j` : undefined });
      const { process } = await runJob(lifetime, command, async () => {
        const parent = await (isLeased ? lease.folder() : detachedFolder()).catch((error: unknown) => {
          throw new ToolFailure(`cannot start ${argv[0]}: it has no folder: ${messageOf(error)}`, { cause: error });
        });
        if (!isLeased) await shells.ask(`umask 077; mkdir -p ${quoteWord(parent)}`);
        const folder = `${parent}/${name}`;
        const pid = await startInFolder(shells, command, {
          ...{ folder, mark: plan.mark, cwd, plan: JSON.stringify(plan), contained },
        });
        return { id: isLeased ? String(pid) : name, folder: folderOf(folder, plan.mark, pid) };
      });
      return process;
    },
    stop: () => closing.abort(),
  };
}

function jobFolder({ shells, place }: Pick<JobsOptions, "shells" | "place">, folder: string): Omit<JobFolder, "end"> {
  const at = quoteWord(folder);
  const [input, output] = [`${at}/in`, `${at}/out`];
  return {
    longestWaitMs: LONGEST_WAIT_MS,
    hasCodes: true,
    async look() {
      const [seen] = await seenIn(shells, at);
      return seen?.status ?? removedStatus();
    },
    async read(start, end) {
      const pieces: Buffer[] = [];
      for (let from = start; from < end;) {
        const most = Math.min(MOST_BYTES, end - from);
        const size = from % LARGE_BLOCK === 0 && most % LARGE_BLOCK === 0 ? LARGE_BLOCK : BLOCK;
        const skipped = from % size;
        const blocks = `bs=${size} skip=${Math.floor(from / size)} count=${Math.ceil((skipped + most) / size)}`;
        const { status, out } = await shells.askAside(`dd if=${output} ${blocks} 2>/dev/null`);
        if (status !== 0) throw new ToolFailure("this output is gone: its folder was removed");
        const bytes = out.subarray(skipped, skipped + most);
        if (bytes.length === 0) break;
        pieces.push(bytes);
        from += bytes.length;
      }
      return Buffer.concat(pieces);
    },
    async write(text, ended) {
      const bytes = Buffer.from(text, "utf8");
      const shell = await shells.take();
      const release = onAbort(ended, () => shell.kill());
      try {
        const { status } = await shell.ask(`hr_give ${at} ${bytes.length}`, { input: bytes });
        if (status !== 0) throw new Error("it has ended");
      } catch (error) {
        if (!(error instanceof LineLost) || ended.aborted) throw error;
        const message = `the connection to ${place} was lost: the process may have all of the text, a part or nothing`;
        throw new ToolFailure(message, { cause: error });
      } finally {
        release();
        shells.giveBack(shell);
      }
    },
    async endInput(holder) {
      await shells.ask(`rm -f ${at}/holder-${holder}; kill ${holder} 2>/dev/null`);
    },
    async noteLost() {
      await shells.ask(`mv ${at}/running ${at}/exited-lost-"$(date +%s)" 2>/dev/null`);
    },
    async remove() {
      // Opening the FIFO for reading and writing releases processes that still wait to write to it.
      await shells.ask(`[ ! -p ${input} ] || : <>${input}; rm -rf ${at}`);
    },
  };
}

/** A job as described by its folder. `name` is the folder's name. */
interface SeenJob {
  readonly name: string;
  readonly plan: JobPlan;
  /** `undefined`: the job was never started. */
  readonly pid: number | undefined;
  readonly status: JobStatus;
}

/** The jobs in these folders: shell words, quoted or a pattern. Skips other folders. Rejects like `ask`. */
async function seenIn({ ask }: Pick<Shells, "ask">, folders: string): Promise<readonly SeenJob[]> {
  const separator = randomBytes(16).toString("hex");
  const { out } = await ask(`hr_seen ${separator} ${folders}`);
  const jobs = out.toString("utf8").split(`\n${separator}\n`).slice(0, -1);
  return jobs.flatMap((text) => {
    const [name = "", names = "", size = "", ...written] = text.split("\n");
    const plan = parsePlan(written.join("\n"));
    const { ended, pid, ...notes } = parseNotes(names.split(" "));
    const state = ended ?? (names.endsWith("gone") ? "gone" : "running");
    return plan === undefined ? [] : [{ name, plan, pid, status: { state, kept: Number(size), ...notes } }];
  });
}
