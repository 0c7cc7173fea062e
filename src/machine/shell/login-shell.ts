import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { startProgram } from "../programs/start.ts";
import { pause, within } from "../../core/util/abort.ts";
import { tried } from "../../core/util/errors.ts";
import { later } from "../../core/util/promises.ts";
import { quoteWord } from "../../core/util/quote.ts";
import LOGIN_START from "./login-start.sh";
import LOGIN from "./login.sh";
import type { Line, LineEnd } from "./transport.ts";

export interface LoginOptions {
  /** Letters and digits, unique to one line, so that output of a profile is not taken for a sign. */
  readonly secret: string;
  /** Which profile is read: that of the login shell (`$SHELL`), or that of /bin/sh. */
  readonly profile: "login-shell" | "sh";
  /** True: folders of PATH from before the profile stay first; profiles often reset PATH. Default: false. */
  readonly keepPath?: boolean;
  /** True: writes `overSign` to stderr when the shell ends, for a client that may outlive it. Default: false. */
  readonly tellsEnd?: boolean;
}

/** Written to stdout when the login script starts. The profile is read after it. */
const begunSign = (secret: string) => `\x01${secret} begun\n`;

/** Written to stdout when the shell is ready to read. */
const readySign = (secret: string) => `\x01${secret} ready\n`;

/** Written to stderr when the shell has ended; only with `tellsEnd`. */
export const overSign = (secret: string) => `\x01${secret} over\n`;

/** A POSIX script that a shell replaces, which reads stdin, in the same folder, with a login's environment. */
export function loginScript({ secret, profile, keepPath = false, tellsEnd = false }: LoginOptions): string {
  const keep = keepPath ? "HR_KEEP=yes; export HR_KEEP" : "unset HR_KEEP";
  const script = `${keep}\nhr_profile=${profile} HR_SECRET=${secret} HR_START=${quoteWord(LOGIN_START)}\n${LOGIN}`;
  return tellsEnd ? `(\n${script}\n)\nhr_status=$?\nprintf '\\001%s over\\n' ${secret} >&2\nexit $hr_status` : script;
}

/**
 * Returns the script as one command line that every login shell reads in the same way: POSIX shells, fish, csh. It is
 * in single quotes, and contains only characters that have no special meaning in any of them.
 */
export function plainCommand(script: string): string {
  const encoded = Buffer.from(script, "utf8")
    .toString("latin1")
    .replaceAll(/[^\w /:;=.,<>&()|-]/g, octal);
  return `exec /bin/sh -c 'eval "$(printf %b "${encoded}")"'`;
}

const octal = (character: string) => `\\0${character.charCodeAt(0).toString(8).padStart(3, "0")}`;

export interface LineProgram {
  readonly argv: readonly [program: string, ...args: string[]];
  /** Variables that are added to this process's environment (`programEnvironment`). */
  readonly env?: Readonly<Record<string, string>>;
  /** A file to which the program writes messages; they become part of `LineEnd.message`. */
  readonly log?: string;
}

/** Whether a line's shell is ready, or why not. */
export type Readiness =
  | { readonly is: "ready" }
  /** `began`: the login script ran, so the profile failed. `end.message` includes stdout. */
  | { readonly is: "ended"; readonly began: boolean; readonly end: LineEnd }
  | { readonly is: "hung"; readonly began: boolean; readonly message: string };

export type NotReady = Exclude<Readiness, { readonly is: "ready" }>;

export interface ReadinessLimits {
  /** Time limit until the login script runs, in milliseconds. Default: 30,000. */
  readonly beginMs?: number;
  /** Time limit of the profile, in milliseconds. Default: 15,000. */
  readonly profileMs?: number;
}

/** Characters of output before a shell is ready that are kept, to explain why it never was. */
const MOST_SAID = 4_096;

/** How long to wait for a program's streams after it exits: a child may hold them open. Milliseconds. */
const DRAIN_MS = 500;

/**
 * Starts a program on this machine as a line. It has its own session, so Ctrl-C does not end it, and inherits this
 * process's environment.
 *
 * @throws ProgramMissing; the system's error when it cannot be started.
 */
export async function startLine({ argv, env, log }: LineProgram): Promise<Line> {
  const child = startProgram(argv, { cwd: "/", stdio: "pipe", detached: true, ...(env !== undefined && { env }) });
  // `ended` reports it
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined);
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

/** Waits until the login script with that secret has become a shell. Kills a line that hangs. Never rejects. */
export async function untilReady(
  line: Line,
  secret: string,
  { beginMs = 30_000, profileMs = 15_000 }: ReadinessLimits = {},
): Promise<Readiness> {
  let message = "";
  const begun = later<"begun">();
  const ready = later<"ready">();
  const outStopped = heard(line.stdout, (text) => {
    message = (message + text).slice(-MOST_SAID);
    if (message.includes(begunSign(secret))) begun.resolve("begun");
    if (message.includes(readySign(secret))) ready.resolve("ready");
  });
  const errStopped = heard(line.stderr, (text) => (message = (message + text).slice(-MOST_SAID)));
  const words = () => message.replace(begunSign(secret), "");
  try {
    const first = await within(beginMs, Promise.race([begun.promise, line.ended]));
    const second = first === "begun" ? await within(profileMs, Promise.race([ready.promise, line.ended])) : first;
    if (second === "ready") return { is: "ready" };
    const began = first === "begun";
    if (typeof second === "object")
      return { is: "ended", began, end: { ...second, message: `${words()}\n${second.message}`.trim() } };
    line.kill();
    const { message: logged } = await line.ended;
    return { is: "hung", began, message: `${words()}\n${logged}`.trim() };
  } finally {
    outStopped();
    errStopped();
  }
}

/** Calls `hear` with each chunk until stopped. The stream keeps flowing: a shell writes nothing before it is asked. */
function heard(stream: Readable, hear: (text: string) => void): () => void {
  const listener = (chunk: Buffer) => hear(chunk.toString("utf8"));
  stream.on("data", listener);
  return () => stream.off("data", listener);
}

function endOf(child: ChildProcessWithoutNullStreams, log: string | undefined): Promise<LineEnd> {
  return new Promise((resolve) => {
    const settle = async (code: number | null, signal: string | null) => {
      for (const stream of child.stdio) stream?.destroy(); // a child that holds them open would keep this process alive
      const message = log === undefined ? "" : await readFile(log, "utf8").catch(() => "");
      resolve({ code, signal, message: message.slice(-MOST_SAID).trim() });
    };
    child.once("error", (error) => resolve({ code: null, signal: null, message: error.message }));
    child.once("close", (code, signal) => void settle(code, signal));
    child.once(
      "exit",
      (code, signal) => void pause(DRAIN_MS, undefined, { keepsAlive: false }).then(() => settle(code, signal)),
    );
  });
}

function killGroup({ pid, exitCode, signalCode }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  tried(() => process.kill(-pid, "SIGKILL"));
}
