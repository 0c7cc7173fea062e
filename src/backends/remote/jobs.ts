import { randomBytes } from "node:crypto";
import type { DetachedProcesses, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { JobCommand } from "../../contract/job.ts";
import { onAbort } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";
import { quoteWord } from "../../util/shell.ts";
import { type FoundJob, type JobPlan, detachedProcesses, planJob } from "../jobs/detached.ts";
import { type JobFolder, NOT_READ, jobHandle } from "../jobs/process.ts";
import { type JobStatus, parseNotes, removedStatus } from "../jobs/status.ts";
import { endThere, exitOf } from "./ending.ts";
import { startInFolder } from "./job-script.ts";
import type { Lease } from "./lease.ts";
import { LineLost } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** How rarely a job in which nothing happens is looked at. Milliseconds. */
const LONGEST_WAIT_MS = 1_000;

/** Output is read from any block of 512 bytes on; at a multiple of 64 KiB in blocks of that size, which cost less. */
const BLOCK = 512;
const LARGE_BLOCK = 65_536;

/** The most that is read of an output at a time, each a round trip: 1 MiB. */
const MOST_BYTES = 1_048_576;

export interface JobsOptions {
  readonly shells: Shells;
  readonly lease: Lease;
  /** The home folder on the remote host. */
  readonly home: string;
  /** Backends with the same word have their detached processes in common. */
  readonly owner: string;
  /** Where it is, in a sentence. */
  readonly place: string;
}

/** Processes that outlive their call: they need no connection. */
export interface RemoteJobs {
  /** `cwd` is a real path. @throws ToolFailure when it cannot be started. */
  start(command: JobCommand, cwd: string): Promise<Process>;
  readonly detached: DetachedProcesses;
  /** Nothing is asked any more. Those that have not ended by now are lost to us. */
  stop(): void;
}

export function remoteJobs({ shells, lease, home, owner, place }: JobsOptions): RemoteJobs {
  const closing = new AbortController();
  let finding: Promise<string> | undefined;

  /** The folder of the detached processes of this owner. */
  const detachedFolder = () => {
    finding ??= find().catch((error: unknown) => {
      finding = undefined;
      throw error;
    });
    return finding;
  };
  const find = async () => {
    const { out } = await shells.ask(
      `case \${XDG_STATE_HOME-} in /*) printf %s "$XDG_STATE_HOME" ;; *) printf %s ${quoteWord(home)}/.local/state ;; esac`,
    );
    return `${out.toString("utf8")}/handrail/detached/${encodeURIComponent(owner)}`;
  };
  const folderOf = (folder: string, mark: string, pid: number) =>
    jobFolder({ shells, place, closed: closing.signal, folder, mark, pid });

  const findJobs = async (id?: string): Promise<readonly FoundJob[]> => {
    const parent = await detachedFolder();
    const folders = id === undefined ? `${quoteWord(parent)}/*` : quoteWord(`${parent}/${id}`);
    return (await seenIn(shells, folders)).flatMap(({ name, plan, pid }) => {
      if (pid === undefined) return [];
      const folder = folderOf(`${parent}/${name}`, plan.mark, pid);
      return [{ plan, ...jobHandle(folder, { id: name, lifetime: "detached" }) }];
    });
  };

  return {
    detached: detachedProcesses(findJobs),
    async start(command, cwd) {
      const { argv, lifetime, signal } = command;
      if (closing.signal.aborted) throw new ToolFailure("the backend is closed: nothing can be started on it any more");
      if (signal?.aborted) throw new ToolFailure(`${argv[0]} was stopped before it was started`);
      const isLeased = lifetime === "toolkit";
      const { name, plan } = planJob(command, { cwd, lease: isLeased ? `${lease.mark}j` : undefined });
      const parent = await (isLeased ? lease.folder() : detachedFolder()).catch((error: unknown) => {
        throw new ToolFailure(`cannot start ${argv[0]}: it has no folder: ${messageOf(error)}`, { cause: error });
      });
      if (!isLeased) await shells.ask(`umask 077; mkdir -p ${quoteWord(parent)}`);
      const folder = `${parent}/${name}`;
      const pid = await startInFolder(shells, command, { folder, mark: plan.mark, cwd, plan: JSON.stringify(plan) });
      const id = isLeased ? String(pid) : name;
      return jobHandle(folderOf(folder, plan.mark, pid), { id, lifetime }, command).process;
    },
    stop: () => closing.abort(),
  };
}

interface FolderOptions {
  readonly shells: Shells;
  readonly place: string;
  readonly closed: AbortSignal;
  readonly folder: string;
  readonly mark: string;
  readonly pid: number;
}

function jobFolder({ shells, place, closed, folder, mark, pid }: FolderOptions): JobFolder {
  const at = quoteWord(folder);
  const [input, output] = [`${at}/in`, `${at}/out`];
  return {
    longestWaitMs: LONGEST_WAIT_MS,
    closed,
    exitOf: (exit, wasStopped) => (exit.how === "exited" ? exitOf(exit.code, wasStopped) : exit),
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
        // Whatever becomes of the FIFO, all of the bytes are read: the shell would take the rest for a script.
        const { status } = await shell.ask(
          `head -c ${bytes.length} | { hr_status=1\nset -- ${at}/exited-*\n` +
            `[ -e "$1" ] || { cat >${input}; hr_status=$?; } 2>/dev/null\ncat >/dev/null\nexit "$hr_status"; }`,
          { input: bytes },
        );
        if (status !== 0) throw new ToolFailure(`${NOT_READ}: it has ended`);
      } catch (error) {
        if (!(error instanceof LineLost)) throw error;
        const message = ended.aborted
          ? `${NOT_READ}: it has ended`
          : `the connection to ${place} was lost: what was to be written may or may not have reached the process, or in part`;
        throw new ToolFailure(message, { cause: error });
      } finally {
        release();
        shells.giveBack(shell);
      }
    },
    async endInput(holder) {
      await shells.ask(`rm -f ${at}/holder-${holder}; kill ${holder} 2>/dev/null`);
    },
    end: () => endThere(shells, mark, String(pid)),
    async noteLost() {
      await shells.ask(`mv ${at}/running ${at}/exited-lost-"$(date +%s)" 2>/dev/null`);
    },
    async remove() {
      // A FIFO lets go of whoever still waits to write into it when it is opened both ways.
      await shells.ask(`[ ! -p ${input} ] || : <>${input}; rm -rf ${at}`);
    },
  };
}

/** A job as it is seen by its folder, whose name it has. */
interface SeenJob {
  readonly name: string;
  readonly plan: JobPlan;
  /** `undefined`: it was never started. */
  readonly pid: number | undefined;
  readonly status: JobStatus;
}

/** The jobs in these folders, which are words of a shell: "/a/b" quoted, or a pattern. What is no job is left out. Fails like `ask`. */
async function seenIn({ ask }: Pick<Shells, "ask">, folders: string): Promise<readonly SeenJob[]> {
  const separator = randomBytes(16).toString("hex");
  const show = `printf '%s\\n' "\${hr_each##*/}"; hr_notes "$hr_each"; cat "$hr_each/job"; printf '\\n%s\\n' ${separator}`;
  const { out } = await ask(`for hr_each in ${folders}; do [ ! -f "$hr_each/job" ] || { ${show}; }; done`);
  const jobs = out.toString("utf8").split(`\n${separator}\n`).slice(0, -1);
  return jobs.flatMap((text) => {
    const [name = "", names = "", size = "", ...written] = text.split("\n");
    const plan = planOf(written.join("\n"));
    const { ended, pid, ...notes } = parseNotes(names.split(" "));
    const state = ended ?? (names.endsWith("gone") ? "gone" : "running");
    return plan === undefined ? [] : [{ name, plan, pid, status: { state, kept: Number(size), ...notes } }];
  });
}

function planOf(text: string): JobPlan | undefined {
  try {
    return JSON.parse(text) as JobPlan;
  } catch {
    return undefined;
  }
}
