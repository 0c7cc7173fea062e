import { randomUUID } from "node:crypto";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { endThere } from "./ending.ts";
import { PROCESS_FUNCTIONS } from "./processes-script.ts";
import type { Answer, Shell } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** The processes of one backend there: how they are marked, and what becomes of them when the connection goes. */
export interface Family {
  /** Stands in the mark of each of them, and nowhere else. */
  readonly name: string;
  /** From now on the far side ends them when the connection goes. Asked before the first is started. */
  ready(): Promise<void>;
  /** For one that ends with the connection: its mark, and the number of the first shell. */
  foreground(): { readonly mark: string; readonly first: number };
  /** For one that lives on over a lost connection. */
  lasting(): { readonly mark: string };
  /** The folder of those that live on, made when there is none. */
  folder(): Promise<string>;
  /** The connection is open again, with this first shell: what ran in the foreground of the lost one is ended, and its shells; the others are claimed. */
  reopened(first: Shell): Promise<void>;
  /** Ends all of them and forgets them. */
  end(): Promise<void>;
}

export interface FamilyOptions {
  readonly shells: Pick<Shells, "ask">;
  /** Where temporary files go there. */
  readonly temporary: string;
  /** What lives on without us does so for so many seconds. */
  readonly unclaimedSeconds: number;
}

/** A first shell, as it said of itself: number and start of it and of its parent. */
interface First {
  readonly id: number;
  readonly number: number;
  readonly words: readonly string[];
}

export function familyOf({ shells, temporary, unclaimedSeconds }: FamilyOptions): Family {
  const uuid = randomUUID();
  const name = `:${uuid}_`;
  const place = `${temporary === "/" ? "" : temporary}/handrail-${uuid}`;
  let ids = 0;
  let numbers = 0;
  let first: First | undefined;
  let arming: Promise<void> | undefined;
  let making: Promise<string> | undefined;

  /** In the first shell itself. The trap stands outside of any function: some shells keep it to that. */
  const armScript = (id: number) =>
    `hr_text=${quoteWord(PROCESS_FUNCTIONS)}\nhr_arm ${quoteWords([String(id), name, String(unclaimedSeconds), making === undefined ? "" : place])}\n` +
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
    name,
    ready,
    foreground: () => ({ mark: `${name}f${first?.id ?? 0}_${++numbers}:`, first: first?.number ?? 0 }),
    lasting: () => ({ mark: `${name}j${++numbers}:` }),
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
      await shell.ask(`hr_bury ${before.words.map((word) => `'${word}'`).join(" ")}\nhr_kill ${name}f${before.id}_`);
    },
    async end() {
      if (first === undefined) return;
      await endThere(shells, name);
      await shells.ask(`${making === undefined ? "" : `rm -rf ${quoteWord(place)}; `}trap - EXIT HUP PIPE`, {
        stays: true,
      });
    },
  };
}
