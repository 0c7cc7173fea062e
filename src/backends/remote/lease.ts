import { randomUUID } from "node:crypto";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { endThere } from "./ending.ts";
import { PROCESS_FUNCTIONS } from "./processes-script.ts";
import type { Answer, Shell } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** What ties the processes of one backend on the remote host to it: how they are marked, and what becomes of them when the connection is lost. */
export interface Lease {
  /** Begins the mark of each of them, and of nothing else. */
  readonly mark: string;
  /** From now on the remote host ends them when the connection is lost. Called before the first is started. */
  ready(): Promise<void>;
  /** For a process that ends with the connection: its mark, and the number of the first shell. */
  forCall(): { readonly mark: string; readonly first: number };
  /** The folder of the jobs, made when there is none. They live on over a lost connection. */
  folder(): Promise<string>;
  /** The connection is open again, with this first shell: what ended with the lost one is ended, and its shells; jobs are claimed. */
  reopened(first: Shell): Promise<void>;
  /** Ends all of them and removes what is kept of them. */
  end(): Promise<void>;
}

export interface LeaseOptions {
  readonly shells: Pick<Shells, "ask">;
  /** Where temporary files go on the remote host. */
  readonly temporary: string;
  /** Jobs that nobody claims are ended after so many seconds. */
  readonly unclaimedSeconds: number;
}

/** A first shell, as it said of itself: number and start of it and of its parent. */
interface First {
  readonly id: number;
  readonly number: number;
  readonly words: readonly string[];
}

export function createLease({ shells, temporary, unclaimedSeconds }: LeaseOptions): Lease {
  const uuid = randomUUID();
  const mark = `:${uuid}_`;
  const place = `${temporary === "/" ? "" : temporary}/handrail-${uuid}`;
  let ids = 0;
  let numbers = 0;
  let first: First | undefined;
  let arming: Promise<void> | undefined;
  let making: Promise<string> | undefined;

  /** In the first shell itself. The trap stands outside of any function: some shells keep it to that. */
  const armScript = (id: number) =>
    `hr_text=${quoteWord(PROCESS_FUNCTIONS)}\nhr_arm ${quoteWords([String(id), mark, String(unclaimedSeconds), making === undefined ? "" : place])}\n` +
    "trap : PIPE; trap 'exit 129' HUP; trap hr_left EXIT";
  const armed = (id: number, { out }: Answer) => {
    const words = out.toString("latin1").split(/[ \n]/).slice(0, 4);
    first = { id, number: Number(words[0]), words };
  };
  const arm = async () => {
    const id = ++ids;
    armed(id, await shells.ask(armScript(id), { stays: true }));
  };
  const ready = () => {
    arming ??= arm().catch((error: unknown) => {
      arming = undefined;
      throw error;
    });
    return arming;
  };
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
    mark,
    ready,
    forCall: () => ({ mark: `${mark}f${first?.id ?? 0}_${++numbers}:`, first: first?.number ?? 0 }),
    folder() {
      making ??= makeFolder().catch((error: unknown) => {
        making = undefined;
        throw error;
      });
      return making;
    },
    async reopened(shell) {
      const before = first;
      if (before === undefined) return; // nothing was ever started
      const id = ++ids;
      armed(id, await shell.ask(armScript(id), { stays: true }));
      await shell.ask(`hr_bury ${before.words.map((word) => `'${word}'`).join(" ")}\nhr_kill ${mark}f${before.id}_`);
    },
    async end() {
      if (first === undefined) return;
      await endThere(shells, mark);
      await shells.ask(`${making === undefined ? "" : `rm -rf ${quoteWord(place)}; `}trap - EXIT HUP PIPE`, {
        stays: true,
      });
    },
  };
}
