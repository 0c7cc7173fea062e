import type { Command } from "../../core/contract/backend.ts";
import { quoteWord } from "../../core/util/quote.ts";
import { commandFunctions } from "../shell/command-script.ts";
import START from "./start.sh";
import { shownCommand } from "./shown.ts";

/** How a command runs in its pane. "dispatch": nothing waits for it, and all its streams are the terminal. */
export type Mode = "closed" | "pipe" | "terminal" | "dispatch";

export interface Plan {
  readonly number: number;
  readonly program: string;
  readonly mode: Mode;
  /** A real path on the target. */
  readonly cwd: string;
  /** Added to the environment of the command and its children. */
  readonly mark: string;
  /** Whether it gets its own session, and so no terminal. */
  readonly isApart: boolean;
  /** The backend's folder on the target. */
  readonly folder: string;
  /** The path of `sh`. */
  readonly shell: string;
  /** Whether the folder and the exported variables of its script are left to the shell of the pane (`keep.sh`). */
  readonly isKept: boolean;
}

/** Whether what the command leaves can be kept: a shell runs a script. */
export function isKept({ argv, inPane }: Command): boolean {
  return inPane !== undefined && argv.length > 2 && argv.at(-2) === "-c";
}

/** Returns an sh script that creates a command's files: `N`, which a pane's shell runs, and `N.d`, with the FIFOs. */
export function commandFiles(command: Command, plan: Plan): string {
  const { number, mode, mark, isApart, shell, folder, isKept: keeps } = plan;
  const { streams = "merged" } = command;
  const isSplit = streams === "split" && mode !== "dispatch";
  const fifos = ["in", "out", ...(isSplit ? ["in-errors", "out-errors"] : []), ...(mode === "pipe" ? ["stdin"] : [])];
  const settings = {
    F: folder,
    d: `${folder}/${number}.d`,
    n: String(number),
    mode,
    streams: isSplit ? "split" : "merged",
    session: isApart ? "setsid" : "",
    mark,
    hr_sh: shell,
    shown: shownCommand(command),
  };
  return [
    `d=$F/${number}.d`,
    `mkdir "$d"`,
    ...(keeps ? [`: >"$d/after"`] : []),
    ...(mode === "dispatch" ? [] : [`mkfifo ${fifos.map((name) => `"$d/${name}"`).join(" ")}`]),
    `printf %s ${quoteWord(`${assignments(settings)}\n. "$F/run"\n`)} >"$F/${number}"`,
    `printf %s ${quoteWord(starter(command, plan))} >"$d/start"`,
  ].join(" &&\n");
}

/** The runner has opened the streams, set the mark and begun the session. */
function starter(command: Command, { number, cwd, folder, shell, isKept: keeps }: Plan): string {
  const argv = keeps
    ? keeping(command.argv, assignments({ hr_at: folder, hr_d: `${folder}/${number}.d` }))
    : command.argv;
  const place = { cwd, mark: "", before: `'exec "$@"' sh`, input: "" };
  const state = command.inPane === true ? `${folder}/state` : "";
  const own = assignments({ hr_at: folder, hr_n: String(number), hr_sh: shell, hr_session: "", hr_state: state });
  return `${own}\n. "$hr_at/ready"\n${commandFunctions({ ...command, argv }, place)}\n${START}`;
}

/** The shell reads `keep.sh` before the script. All is in the first line: errors name the lines of the script. */
function keeping(argv: Command["argv"], settings: string): Command["argv"] {
  const [program, ...rest] = argv;
  return [program, ...rest.slice(0, -1), `${settings.replaceAll("\n", " ")}; ${EVALUATES}`, program, rest.at(-1) ?? ""];
}

const EVALUATES = '. "$hr_at/keep"; hr_script=$1; shift; eval " $hr_script"';

function assignments(settings: { readonly [name: string]: string }): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${quoteWord(value)}`)
    .join("\n");
}
