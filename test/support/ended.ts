import { spawn } from "node:child_process";
import { once } from "node:events";
import { buffer, text } from "node:stream/consumers";

/** How a program ended, and its output. */
export interface Ended {
  /** `null` if a signal ended it. */
  readonly status: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunOptions {
  /** Its stdin. Default: empty. */
  readonly input?: string | Uint8Array | undefined;
  /** Added to our own variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end, whatever its exit status. Rejects only when it cannot be started. */
export async function runToEnd(argv: readonly string[], { input = "", env = {} }: RunOptions = {}): Promise<Ended> {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { env: { ...process.env, ...env } });
  // A program need not read its stdin.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const [[status], stdout, stderr] = await Promise.all([
    once(child, "close") as Promise<[number | null]>,
    buffer(child.stdout),
    text(child.stderr),
  ]);
  return { status, stdout, stderr };
}

/** The same for a program that must succeed. Returns its stdout without the last newline. */
export async function output(argv: readonly string[], options: RunOptions = {}): Promise<string> {
  const { status, stdout, stderr } = await runToEnd(argv, options);
  if (status !== 0) throw new Error(`\`${argv.join(" ")}\` ended with ${status}: ${stderr.trim()}`);
  return stdout.toString().replace(/\n$/, "");
}
