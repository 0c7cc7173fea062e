import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pause } from "../../util/abort.ts";
import { begunSign, readySign } from "./login.ts";
import type { Line, LineEnd } from "./reach.ts";

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
