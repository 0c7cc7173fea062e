import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pause } from "../../util/abort.ts";
import { quoteWord } from "../../util/shell.ts";
import type { Line, LineEnd } from "./transport.ts";

export interface LoginOptions {
  /** Letters and digits, of one line alone: so no noise of a profile looks like a sign. */
  readonly secret: string;
  /** Whose profile is read: that of the login shell (`$SHELL`), or that of /bin/sh. */
  readonly profile: "login-shell" | "sh";
  /** True: the folders of PATH as it was before the profile stay, in front, since a profile often sets PATH anew. Default false. */
  readonly keepPath?: boolean;
  /** True: `overSign` is written to stderr when the shell has ended, for a program here that does not end with it. Default false. */
  readonly tellsEnd?: boolean;
}

/** Stands on stdout as soon as the script runs there: what comes now is the profile. */
const begunSign = (secret: string) => `\x01${secret} begun\n`;

/** Stands on stdout when the shell is there and reads. */
const readySign = (secret: string) => `\x01${secret} ready\n`;

/** Stands on stderr when the shell has ended; only with `tellsEnd`. */
export const overSign = (secret: string) => `\x01${secret} over\n`;

/**
 * A POSIX script that becomes a POSIX shell which reads from its stdin, in the folder in which it began, with the environment of a login. The profile meets an
 * empty stdin and its words go nowhere; the real streams wait as 6, 7 and 8.
 */
export function loginScript({ secret, profile, keepPath = false, tellsEnd = false }: LoginOptions): string {
  const become = `cd -- "$HR_FOLDER"
${keepPath ? KEEP_PATH : ""}
unset HR_FOLDER HR_PATH HR_START
printf '\\001%s ready\\n' ${secret} >&7
exec /bin/sh <&6 >&7 2>&8 6<&- 7>&- 8>&-`;
  const script = `exec 6<&0 7>&1 8>&2 </dev/null >/dev/null 2>&1
printf '\\001%s begun\\n' ${secret} >&7
HR_FOLDER=$(pwd) HR_PATH=$PATH HR_START=${quoteWord(become)}
export HR_FOLDER HR_PATH HR_START
${profile === "sh" ? SH_PROFILE : LOGIN_SHELL_PROFILE}`;
  return tellsEnd ? `(\n${script}\n)\nhr_status=$?\nprintf '\\001%s over\\n' ${secret} >&2\nexit $hr_status` : script;
}

/**
 * The script as one command line that every login shell reads alike, be it a POSIX shell, fish or csh: in single quotes, and within them only characters
 * that mean nothing to any of them.
 */
export function plainCommand(script: string): string {
  const encoded = Buffer.from(script, "utf8")
    .toString("latin1")
    .replaceAll(/[^\w /:;=.,<>&()|-]/g, octal);
  return `exec /bin/sh -c 'eval "$(printf %b "${encoded}")"'`;
}

const octal = (character: string) => `\\0${character.charCodeAt(0).toString(8).padStart(3, "0")}`;

const SH_PROFILE = `exec /bin/sh -l -c 'exec /bin/sh -c "$HR_START"'`;

/** csh and tcsh read their file before any command and have no `-l -c`; of a shell that is not known nothing is asked. */
const LOGIN_SHELL_PROFILE = `case \${SHELL##*/} in
sh | bash | dash | ash | ksh | ksh93 | mksh | yash | zsh | fish) exec "$SHELL" -l -c 'exec /bin/sh -c "$HR_START"' ;;
csh | tcsh) exec /bin/sh -c "$HR_START" ;;
*) ${SH_PROFILE} ;;
esac`;

const KEEP_PATH = `if [ -n "$HR_PATH" ]; then
  hr_profile=$PATH PATH=$HR_PATH IFS=:
  set -f
  for hr_folder in $hr_profile; do
    case :$PATH: in *:"$hr_folder":*) ;; *) PATH=$PATH\${hr_folder:+:$hr_folder} ;; esac
  done
fi`;

export interface LineProgram {
  readonly argv: readonly [program: string, ...args: string[]];
  /** Added to our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** A file in which the program leaves words of its own: they go into the end's `said`. */
  readonly log?: string;
}

/** How a line has come to its shell, or why not. */
export type Readiness =
  /** `nudged`: only after something there that reads stdin had been given empty lines. */
  | { readonly is: "ready"; readonly nudged: boolean }
  /** `began`: the login script ran, so what failed was the profile. `end.said` has what came on stdout too. */
  | { readonly is: "ended"; readonly began: boolean; readonly end: LineEnd }
  | { readonly is: "hung"; readonly began: boolean; readonly said: string };

export interface ReadinessLimits {
  /** Until the login script runs. Milliseconds; default 30,000. */
  readonly beginMs?: number;
  /** For the profile. Milliseconds; default 15,000. */
  readonly profileMs?: number;
}

/** Of what comes before a shell is ready so much is kept, in characters, for saying why it never was. */
const MOST_SAID = 4_096;

/** A profile that reads stdin gets an empty line each second: to a shell it means nothing. */
const NUDGE_MS = 1_000;

/** After its end a program's streams are waited for so long: a child of its may hold them. */
const DRAIN_MS = 500;

/**
 * Starts a program here as a line. It has a session of its own, so that no Ctrl-C here ends it, and it keeps our environment and folder.
 *
 * @throws the system's error when it cannot be started (ENOENT: there is no such program).
 */
export async function startLine({ argv: [program, ...args], env, log }: LineProgram): Promise<Line> {
  const child = spawn(program, args, { stdio: "pipe", detached: true, env: { ...process.env, ...env } });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined); // it shows in the end
  const ended = endOf(child, log);
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    ended,
    kill: () => killGroup(child),
  };
}

/** Waits until the login script of that secret has become a shell. A line that hangs is killed. Never rejects. */
export async function untilReady(
  line: Line,
  secret: string,
  { beginMs = 30_000, profileMs = 15_000 }: ReadinessLimits = {},
): Promise<Readiness> {
  let said = "";
  let nudged = false;
  let begun = () => {};
  let ready = () => {};
  const hasBegun = new Promise<"begun">((resolve) => (begun = () => resolve("begun")));
  const isReady = new Promise<"ready">((resolve) => (ready = () => resolve("ready")));
  const outStopped = heard(line.stdout, (text) => {
    said = (said + text).slice(-MOST_SAID);
    if (said.includes(begunSign(secret))) begun();
    if (said.includes(readySign(secret))) ready();
  });
  const errStopped = heard(line.stderr, (text) => (said = (said + text).slice(-MOST_SAID)));
  const nudges = setInterval(() => {
    nudged = true;
    line.stdin.write("\n");
  }, NUDGE_MS);
  const words = () => said.replace(begunSign(secret), "");
  const within = async <T>(milliseconds: number, done: Promise<T>): Promise<T | LineEnd | undefined> => {
    const over = new AbortController();
    try {
      return await Promise.race([done, line.ended, pause(milliseconds, over.signal).then(() => undefined)]);
    } finally {
      over.abort();
    }
  };

  try {
    const first = await within(beginMs, hasBegun);
    clearInterval(nudges);
    const second = first === "begun" ? await within(profileMs, isReady) : first;
    if (second === "ready") return { is: "ready", nudged };
    const began = first === "begun";
    if (typeof second === "object")
      return { is: "ended", began, end: { ...second, said: `${words()}\n${second.said}`.trim() } };
    line.kill();
    const { said: logged } = await line.ended;
    return { is: "hung", began, said: `${words()}\n${logged}`.trim() };
  } finally {
    clearInterval(nudges);
    outStopped();
    errStopped();
  }
}

/** Calls with each chunk until it is told to stop. The stream flows on: nothing comes until somebody asks the shell. */
function heard(stream: Readable, hear: (text: string) => void): () => void {
  const listener = (chunk: Buffer) => hear(chunk.toString("utf8"));
  stream.on("data", listener);
  return () => stream.off("data", listener);
}

function endOf(child: ChildProcessWithoutNullStreams, log: string | undefined): Promise<LineEnd> {
  return new Promise((resolve) => {
    const settle = async (code: number | null, signal: string | null) => {
      for (const stream of child.stdio) stream?.destroy(); // who holds them on would keep our own process alive
      const said = log === undefined ? "" : await readFile(log, "utf8").catch(() => "");
      resolve({ code, signal, said: said.slice(-MOST_SAID).trim() });
    };
    child.once("error", (error) => resolve({ code: null, signal: null, said: error.message }));
    child.once("close", (code, signal) => void settle(code, signal));
    child.once(
      "exit",
      (code, signal) => void pause(DRAIN_MS, undefined, { keepsAlive: false }).then(() => settle(code, signal)),
    );
  });
}

function killGroup({ pid, exitCode, signalCode }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
