import { randomUUID } from "node:crypto";
import { shared } from "../../core/util/promises.ts";
import { quoteWord, quoteWords } from "../../core/util/quote.ts";
import { endProcesses } from "./end-processes.ts";
import PROCESSES from "./processes.sh";
import type { Answer, Shell } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** Ties the remote processes of one backend to it: their marks, and what a lost connection means for them. */
export type Lease = ReturnType<typeof createLease>;

export interface LeaseOptions {
  readonly shells: Pick<Shells, "ask">;
  /** The folder for temporary files on the remote host. */
  readonly temporary: string;
  /** Seconds after which unclaimed jobs are ended. */
  readonly unclaimedSeconds: number;
}

/** A first shell, as it reported itself: PID and start, of it and of its parent. */
interface First {
  readonly id: number;
  readonly number: number;
  readonly words: readonly string[];
}

export function createLease({ shells, temporary, unclaimedSeconds }: LeaseOptions) {
  const uuid = randomUUID();
  const mark = `:${uuid}_`;
  const place = `${temporary === "/" ? "" : temporary}/handrail-${uuid}`;
  let ids = 0;
  let numbers = 0;
  let first: First | undefined;
  let making: Promise<string> | undefined;

  /** The code that arms the first shell. Some shells limit a trap to its function, so it is set outside of any. */
  const armScript = (id: number) => {
    const words = [String(id), mark, String(unclaimedSeconds), making === undefined ? "" : place];
    const arm = `hr_text=${quoteWord(PROCESSES)}\nhr_arm ${quoteWords(words)}`;
    return `${arm}\ntrap : PIPE; trap 'exit 129' HUP; trap hr_left EXIT`;
  };
  const armed = (id: number, { out }: Answer) => {
    const words = out.toString("latin1").split(/[ \n]/).slice(0, 4);
    first = { id, number: Number(words[0]), words };
  };
  const arm = async (shell: Pick<Shells, "ask">) => {
    const id = ++ids;
    armed(id, await shell.ask(armScript(id), { stays: true }));
  };
  const ready = shared(() => arm(shells));
  const makeFolder = async () => {
    await ready();
    const { status, out } = await shells.ask(
      `hr_jobs=${quoteWord(place)}; LC_ALL=C mkdir -m 700 "$hr_jobs" 2>&1 || [ -d "$hr_jobs" ] && hr_claim "$hr_jobs"`,
      { stays: true },
    );
    if (status !== 0) throw new Error(out.toString("utf8").trim());
    return place;
  };

  return {
    /** The beginning of the marks of exactly these processes. */
    mark,
    /** Makes the remote host end the processes when the connection is lost. Called before the first process starts. */
    ready,
    /** For a process that ends with the connection: its mark, and the PID of the first shell. */
    forCall: () => ({ mark: `${mark}f${first?.id ?? 0}_${++numbers}:`, first: first?.number ?? 0 }),
    /** Resolves to the folder of the jobs; creates it first. Jobs survive a lost connection. */
    folder(): Promise<string> {
      making ??= makeFolder().catch((error: unknown) => {
        making = undefined;
        throw error;
      });
      return making;
    },
    /** Called when the connection is open again: ends foreground commands of the lost one, and claims the jobs. */
    async reopened(shell: Shell) {
      const before = first;
      if (before === undefined) return; // nothing was ever started
      await arm(shell);
      await shell.ask(`hr_bury ${before.words.map((word) => `'${word}'`).join(" ")}\nhr_kill ${mark}f${before.id}_`);
    },
    /** Ends all processes and removes their folder. */
    async end() {
      if (first === undefined) return;
      await endProcesses(shells, mark);
      await shells.ask(`${making === undefined ? "" : `rm -rf ${quoteWord(place)}; `}trap - EXIT HUP PIPE`, {
        stays: true,
      });
    },
  };
}
