import { createHash } from "node:crypto";
import { connect } from "node:net";
import { join } from "node:path";
import { stateFolder } from "../../app/config/state.ts";
import { isUnattended } from "./unattended.ts";
import type { Io } from "../io.ts";
import type { GlobalOptions } from "../options.ts";

/** What the hook needs of the options: how it was called, and the process. */
type HookOptions = Pick<GlobalOptions, "io" | "words">;

/** One event of a client, as `handrail hook CLIENT` gets it. */
export interface HookRequest {
  readonly client: string;
  /** The event, as JSON. */
  readonly written: string;
  /** Variables of the client that name its project. */
  readonly env: { readonly [name: string]: string | undefined };
  /** Whether nobody can answer a question of the client itself. Default false. */
  readonly isUnattended?: true;
}

/** What the hook prints, and its exit code: 0, or 2, which blocks the call in every client. */
export interface HookAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: 0 | 2;
}

const PROJECT_VARIABLES = ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"] as const;

export function hookRequest(io: Pick<Io, "env">, client: string, written: string): HookRequest {
  const env = Object.fromEntries(PROJECT_VARIABLES.map((name) => [name, io.env[name]]));
  return { client, written, env, ...(isUnattended(io.env, client) && { isUnattended: true }) };
}

/** Where everything about hooks is kept: the socket, and tickets of commands that run in the sandbox. */
export const guardFolder = (env: NodeJS.ProcessEnv): string => join(stateFolder(env), "guard");

/**
 * The socket of the process that waits for events. Another program file, version or environment of Handrail has another
 * socket, because its answers may differ.
 */
export function hookSocket({ io: { env, program }, words = [] }: HookOptions): string {
  const names = Object.keys(env).filter((name) => /^(?:HANDRAIL_|XDG_|HOME$)/.test(name));
  const own = names.map((name) => `${name}=${env[name]}`).join("\n");
  const about = JSON.stringify([__VERSION__, program[1], words.slice(2), process.version, own]);
  return join(guardFolder(env), createHash("sha256").update(about).digest("hex").slice(0, 16));
}

/** Asks the waiting process. Resolves to `undefined` when none waits. Rejects when it ends without an answer. */
export function askWaiting(path: string, request: HookRequest): Promise<HookAnswer | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    let answer = "";
    socket.setEncoding("utf8").on("data", (piece: string) => (answer += piece));
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.syscall === "connect") resolve(undefined);
      else reject(error);
    });
    socket.once("end", () => {
      try {
        resolve(JSON.parse(answer) as HookAnswer);
      } catch {
        reject(new Error("the waiting process of Handrail ended before it had answered"));
      }
    });
    socket.once("connect", () => socket.end(JSON.stringify(request)));
  });
}

/** Prints an answer. Returns the exit code. */
function printAnswer(io: Io, { stdout, stderr, code }: HookAnswer): number {
  if (stdout !== "") io.stdout.write(stdout);
  if (stderr !== "") io.stderr.write(stderr);
  return code;
}

/** Blocks the call: what fails is never allowed. */
export function blocked(why: string): HookAnswer {
  return { stdout: "", stderr: `Handrail could not judge this call, so it is blocked: ${why}\n`, code: 2 };
}

/**
 * Handles `handrail hook CLIENT`: asks the waiting process, and starts it when none waits. Never rejects: what fails
 * blocks the call. Resolves to the exit code.
 */
export async function hook(client: string, written: string, options: HookOptions): Promise<number> {
  const { io } = options;
  const request = hookRequest(io, client, written);
  try {
    const waiting = await askWaiting(hookSocket(options), request);
    return printAnswer(io, waiting ?? (await startAndAsk(request, options)));
  } catch (error) {
    return printAnswer(io, blocked(error instanceof Error ? error.message : String(error)));
  }
}

/** How long the waiting process may take to start, in milliseconds. */
const START_MS = 15_000;

async function startAndAsk(request: HookRequest, options: HookOptions): Promise<HookAnswer> {
  const { startProgram } = await import("../../machine/programs/start.ts");
  const { io, words = [] } = options;
  const [node, file] = io.program;
  const child = startProgram([node, file, "hook", "wait", ...words.slice(2)], {
    inherits: io.env,
    detached: true,
    stdio: "ignore",
    cwd: "/",
  });
  child.unref();
  let problem: string | undefined;
  child.once("error", (error) => (problem = error.message));
  child.once("exit", (code) => (problem = code === 0 ? undefined : `its process ended with code ${code}`));
  for (const deadline = Date.now() + START_MS; Date.now() < deadline && problem === undefined;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const answer = await askWaiting(hookSocket(options), request);
    if (answer !== undefined) return answer;
  }
  throw new Error(problem ?? `its process did not start within ${START_MS / 1_000} seconds`);
}
