import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  type SpawnOptions,
  spawn,
  spawnSync,
} from "node:child_process";
import type { Env } from "../../core/contract/effect.ts";
import { programEnvironment } from "./environment.ts";
import { type Search, findProgram, foundProgram, programPath } from "./programs.ts";

export interface StartOptions
  extends Pick<SpawnOptions, "stdio" | "detached" | "timeout" | "killSignal" | "signal">, Search {
  /** The folder in which it starts. */
  readonly cwd: string;
  /** The environment that it gets, without what loads code (`programEnvironment`). Default: that of this process. */
  readonly inherits?: NodeJS.ProcessEnv;
  /** Variables besides those. */
  readonly env?: Env;
  /** Gives it only `env` and a PATH. Default: false. */
  readonly isBare?: boolean;
}

export type Argv = readonly [program: string, ...args: string[]];

/**
 * Starts a program of this machine outside the sandbox: one that `findProgram` finds, by its real path. Its name for
 * itself (argv[0]) is as given. Failures after the search are events of the process.
 *
 * @throws ProgramMissing
 */
export function startProgram(
  argv: Argv,
  options: StartOptions & { readonly stdio: "pipe" },
): ChildProcessWithoutNullStreams;
export function startProgram(argv: Argv, options: StartOptions): ChildProcess;
export function startProgram([program, ...args]: Argv, options: StartOptions): ChildProcess {
  const { path, systemFirst, inherits, env, isBare, ...rest } = options;
  const { real } = findProgram(program, { path, systemFirst });
  return spawn(real, args, { ...rest, argv0: program, env: environmentOf(options) });
}

/** How a program has ended. */
export interface Ended {
  /** `null` if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface RunOptions extends Omit<StartOptions, "stdio" | "detached"> {
  /** Written to its stdin, which is then closed. Default: nothing. */
  readonly input?: string | Buffer;
  /** Whether it keeps this process alive. Default: true. */
  readonly keepsAlive?: boolean;
}

/**
 * Runs a program to its end, as `startProgram`, and resolves to its output. It is killed after `timeout` milliseconds.
 *
 * @throws ProgramMissing; the system's error when it cannot be started.
 */
export async function runProgram(argv: Argv, { input, keepsAlive = true, ...options }: RunOptions): Promise<Ended> {
  const child = startProgram(argv, { killSignal: "SIGKILL", ...options, stdio: "pipe" });
  const [out, errors]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  child.stdin.on("error", () => undefined); // it need not read its input
  child.stdin.end(input);
  if (!keepsAlive) for (const part of [child, ...child.stdio]) (part as { unref?(): void } | null)?.unref?.();
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) =>
      resolve({ code, signal, stdout: Buffer.concat(out), stderr: Buffer.concat(errors) }),
    );
  });
}

/**
 * Runs a short program of the system and returns its exit code and stdout. The code is `null` if it did not run. Never
 * throws.
 *
 * @param timeout in milliseconds
 */
export function runProgramSync(
  [program, ...args]: Argv,
  timeout?: number,
): { readonly code: number | null; readonly stdout: string } {
  const found = foundProgram(program, { systemFirst: true });
  if (found === undefined) return { code: null, stdout: "" };
  const env = { PATH: programPath({ systemFirst: true }), LC_ALL: "C", TZ: "UTC" };
  const { status, stdout } = spawnSync(found.real, args, {
    argv0: program,
    ...{ cwd: "/", encoding: "utf8", env, stdio: ["ignore", "pipe", "ignore"] },
    ...(timeout !== undefined && { timeout }),
  });
  return { code: status, stdout };
}

function environmentOf({ inherits, env = {}, isBare = false, path, systemFirst = false }: StartOptions): Env {
  return isBare ? { PATH: programPath({ path, systemFirst }), ...env } : programEnvironment(env, inherits);
}
