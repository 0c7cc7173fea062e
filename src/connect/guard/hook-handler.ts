import { existsSync } from "node:fs";
import { startProgram } from "../../machine/programs/start.ts";
import { messageOf } from "../../core/util/errors.ts";
import { clip } from "../../core/util/text.ts";
import type { ToolInput } from "./clients.ts";
import type { HookHandler } from "./hook-settings.ts";

/** What a handler returned. */
export type HookOutput =
  | { readonly how: "json"; readonly output: ToolInput }
  | { readonly how: "text"; readonly text: string }
  | { readonly how: "blocked"; readonly why: string }
  | { readonly how: "failed"; readonly why: string };

/** How long to wait for more output after the end of a command, in milliseconds. */
const LEFT_OPEN_MS = 500;
/** How much of an output is read, in characters. */
const MOST_READ = 1_048_576;
const DEFAULT_S = 600;
const PROMPT_S = 30;

/**
 * Runs a handler with an event, as Claude Code does: it gets the event on stdin, exit code 2 blocks with its stderr,
 * every other code than 0 is a failure. Source: https://code.claude.com/docs/en/hooks. Never rejects.
 *
 * @param folder where it starts
 */
export async function runHandler(
  handler: HookHandler,
  event: ToolInput,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<HookOutput> {
  const seconds = handler.timeout ?? (event["hook_event_name"] === "UserPromptSubmit" ? PROMPT_S : DEFAULT_S);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)]);
  try {
    return await run(handler, event, folder, limited);
  } catch (error) {
    const isLate = limited.aborted && !signal.aborted;
    return { how: "failed", why: isLate ? `no answer within ${seconds} s` : messageOf(error) };
  }
}

async function run(handler: HookHandler, event: ToolInput, folder: string, signal: AbortSignal): Promise<HookOutput> {
  const { code, stdout, stderr } = await new Promise<Ended>((resolve, reject) => {
    const child = startProgram(argvOf(handler, folder), {
      cwd: folder,
      env: { CLAUDE_PROJECT_DIR: folder },
      stdio: "pipe",
      detached: true, // a group of its own, to be stopped as a whole
    });
    let [out, problem] = ["", ""];
    const stop = () => {
      if (child.pid !== undefined) endGroup(child.pid);
      reject(signal.reason as Error);
    };
    child.stdout.setEncoding("utf8").on("data", (piece: string) => (out = (out + piece).slice(0, MOST_READ)));
    child.stderr.setEncoding("utf8").on("data", (piece: string) => (problem = (problem + piece).slice(0, MOST_READ)));
    child.once("error", reject);
    const ended = (exit: number | null, by: NodeJS.Signals | null) => {
      signal.removeEventListener("abort", stop);
      resolve({ code: exit ?? `signal ${by}`, stdout: out, stderr: problem });
    };
    child.once("close", ended);
    // A program that it left in the background may keep its output open.
    child.once("exit", (exit, by) => void setTimeout(() => ended(exit, by), LEFT_OPEN_MS));
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    child.stdin.on("error", () => undefined); // it need not read the event
    child.stdin.end(`${JSON.stringify(event)}\n`);
  });
  if (code === 2) return { how: "blocked", why: stderr.trim() || "a hook blocked it without a reason" };
  if (code === 0) return outputOf(stdout);
  return { how: "failed", why: `exit code ${code}: ${clip(stderr.trim() || stdout.trim(), 500)}` };
}

interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Returns the words that start a command. */
function argvOf({ command, args }: HookHandler, folder: string): readonly [string, ...string[]] {
  const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
  if (args === undefined) return [shell, "-c", command];
  const placed = (word: string) => word.replaceAll("${CLAUDE_PROJECT_DIR}", folder);
  return [placed(command), ...args.map(placed)];
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

/** Reads the output of a handler that succeeded: a JSON object, or text. */
function outputOf(written: string): HookOutput {
  const text = written.trim();
  if (!text.startsWith("{")) return { how: "text", text };
  try {
    return { how: "json", output: JSON.parse(text) as ToolInput };
  } catch (error) {
    return { how: "failed", why: `its output is not valid JSON: ${messageOf(error)}` };
  }
}
