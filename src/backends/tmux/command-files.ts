import type { Command } from "../../contract/backend.ts";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { STARTER } from "./runner-script.ts";
import { shownCommand } from "./shown.ts";

/** How a command stands in its pane: "dispatch" is one that nobody waits for, with the terminal as all of its streams. */
export type Mode = "closed" | "pipe" | "terminal" | "dispatch";

export interface Plan {
  readonly number: number;
  readonly mode: Mode;
  /** Absolute, there. */
  readonly cwd: string;
  /** Stands in the environment of all that it starts. */
  readonly mark: string;
  /** Whether it gets a session of its own, and so no terminal. */
  readonly isApart: boolean;
  /** The backend's folder there. */
  readonly folder: string;
  /** Where `sh` is. */
  readonly shell: string;
}

/**
 * A script of sh that makes the files of a command in the backend's folder: `N`, which a shell in a pane is told to run, and `N.d`, with the FIFOs for what it writes and
 * reads.
 */
export function commandFiles(command: Command, plan: Plan): string {
  const { number, mode, mark, isApart, shell, folder } = plan;
  const { argv, streams = "merged" } = command;
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
    shown: shownCommand(argv),
  };
  return [
    `d=$F/${number}.d`,
    `mkdir "$d"`,
    ...(mode === "dispatch" ? [] : [`mkfifo ${fifos.map((name) => `"$d/${name}"`).join(" ")}`]),
    `printf %s ${quoteWord(`${assignments(settings)}\n. "$F/run"\n`)} >"$F/${number}"`,
    `printf %s ${quoteWord(starter(command, plan))} >"$d/start"`,
  ].join(" &&\n");
}

function starter({ argv, env = {}, isRealCwd = false }: Command, { number, cwd, folder }: Plan): string {
  const names = Object.keys(env);
  // A shell has no variables with other names; the program `env` sets them.
  const odd = names.filter((name) => !/^[A-Za-z_]\w*$/.test(name)).map((name) => `${name}=${env[name]}`);
  const plain = names
    .filter((name) => /^[A-Za-z_]\w*$/.test(name))
    .map((name) => `export ${name}=${quoteWord(env[name] ?? "")}`);
  const program = odd.length === 0 ? argv : ["env", ...odd, ...argv];
  const own = assignments({ F: folder, d: `${folder}/${number}.d`, n: String(number) });
  return [
    own,
    STARTER,
    `hr_in ${quoteWord(cwd)} ${isRealCwd ? "real" : ""}`,
    ...plain,
    `hr_start ${quoteWords(program)}`,
    "",
  ].join("\n");
}

function assignments(settings: { readonly [name: string]: string }): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${quoteWord(value)}`)
    .join("\n");
}
