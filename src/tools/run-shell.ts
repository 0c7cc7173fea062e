import { constants } from "node:os";
import { Type } from "typebox";
import type { Command, Exit, OutputLog, Process, ScriptShell } from "../contract/backend.ts";
import { text } from "../contract/content.ts";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolContext, type ToolNames, type ToolOptions, defineTool, withToolNames } from "../contract/tool.ts";
import { decodeOutput } from "../output/decode.ts";
import { truncateHead } from "../output/truncate.ts";
import { LONGEST_MS, attachSecondsHint, parseDuration } from "./shared/duration.ts";
import { type GoesOn, goesOnText, waitFor } from "./shared/wait-for-command.ts";
import { COMMAND_NAMES, mendCommand } from "./shared/other-agents.ts";
import { sandboxArguments, withinOf } from "./shared/sandbox-arguments.ts";
import { scriptCommand } from "./shared/script.ts";

/** Characters shown of each stream, from its beginning. */
const MAX_CHARACTERS = 4_000;
const TRUNCATED = "...[truncated]";

/** Both streams and their headings. */
const LIMIT = { characters: 2 * MAX_CHARACTERS + 4_096 };

export interface RunShellOptions extends ToolOptions {
  /** Whether commands run in a live terminal, where they can be left running. Default false. */
  readonly terminal?: boolean;
  /** Whether commands run in a sandbox. Adds the arguments that ask it for more access. Default false. */
  readonly sandboxed?: boolean;
  /** The shell that runs the script. Default "bash". */
  readonly shell?: ScriptShell;
}

/**
 * Runs a shell script and returns its exit code, stdout and stderr. Waits until it ends, or as long as `wait` allows.
 */
export const runShell = ({ terminal = false, sandboxed = false, shell = "bash", ...options }: RunShellOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "run_shell",
      title: "Run command",
      description:
        `Run a ${shell === "bash" ? "bash" : "POSIX shell"} command and return its exit code, stdout and stderr ` +
        `(the first ${MAX_CHARACTERS} characters of each). ` +
        (terminal
          ? "It runs in a tmux pane that people see. A command that is still running after the wait continues in " +
            `the pane${handlingText(names)}.`
          : "It has no terminal and no stdin, and is stopped when the wait is over."),
      aliases: COMMAND_NAMES,
      ...options,
      limit: options.limit ?? LIMIT,
      paramsHint: "command (required), wait",
      touches: ["exec"],
      input: Type.Object(
        {
          command: Type.String({ minLength: 1, description: "Shell command" }),
          wait: Type.Optional(
            Type.Union([Type.Boolean(), Type.String(), Type.Number({ minimum: 0 })], {
              description:
                'true (default): until it ends. "30s", "10m", "1h" or seconds: at most this long. false: do not wait' +
                (terminal ? "; it continues in the pane" : " (not available: needs a tmux pane)"),
            }),
          ),
          ...sandboxArguments(sandboxed),
        },
        { additionalProperties: false },
      ),
      mend: (raw) => withWait(mendCommand(raw, { timeout: "wait" })),
      effects: ({ command, wait, ...asked }) => {
        const mode = modeOf(wait);
        if ("problem" in mode || (mode.how === "dispatch" && !terminal)) return []; // nothing runs
        // A command typed into a pane runs outside the sandbox, and is judged as such.
        const within = mode.how === "dispatch" && sandboxed ? "none" : withinOf(asked);
        return [
          {
            kind: "exec",
            command,
            // It keeps running in its pane after the session.
            ...(mode.how === "dispatch" && { lifetime: "detached" as const }),
            ...(within !== undefined && { within }),
          },
        ];
      },
      async run({ command, wait }, context) {
        const mode = modeOf(wait);
        if ("problem" in mode) throw new ToolFailure(mode.problem);
        if (typeof wait === "number") attachSecondsHint("wait", wait, context);
        const argv = scriptCommand(shell, command);
        if (mode.how === "dispatch") return dispatched(argv, context);
        const process = await started(argv, mode.timeoutMs, context);
        const isLive = context.backend.terminal !== undefined;
        const waited = await waitFor(
          process,
          { timeoutMs: isLive ? mode.timeoutMs : undefined, script: command },
          context,
        );
        const streams = await streamsOf(process, context);
        if ("goesOn" in waited) return { ...streams, ...waited.goesOn, timeout_ms: mode.timeoutMs ?? null };
        return { ...streams, exit_code: codeOf(waited.ended, { ...mode, streams }) };
      },
      render: (data) => {
        if ("dispatched" in data) {
          const look = names("capture-pane");
          const poll = look === undefined ? "" : ` Use ${look} (optionally with delay) to poll output.`;
          return `command dispatched to tmux pane ${data.dispatched}; still running in background.${poll}`;
        }
        if ("exit_code" in data) return resultText(`exit code: ${data.exit_code}`, data);
        const continues = goesOnText(data satisfies GoesOn, data.timeout_ms ?? undefined, names);
        return `${resultText("still running", data)}\n${continues}`;
      },
    }),
  );

/** How to manage a command that continues, with the tools of this toolset. */
function handlingText(names: ToolNames): string {
  const look = names("capture-pane");
  const keys = names("send-keys");
  const ways = [
    ...(look === undefined ? [] : [`look at it with ${look}`]),
    ...(keys === undefined ? [] : [`type into it or stop it with ${keys}`]),
  ];
  return ways.length === 0 ? "" : `: ${ways.join(", ")}`;
}

/** Converts the strings "true" and "false". */
function withWait(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("wait" in raw)) return raw;
  if (raw.wait === "true" || raw.wait === "false") return { ...raw, wait: raw.wait === "true" };
  return raw;
}

type Mode =
  | { readonly how: "wait"; readonly timeoutMs?: number }
  | { readonly how: "dispatch" }
  | { readonly problem: string };

function modeOf(wait: boolean | string | number = true): Mode {
  if (wait === true) return { how: "wait" };
  if (wait === false) return { how: "dispatch" };
  const timeoutMs = typeof wait === "number" ? Math.min(wait * 1_000, LONGEST_MS) : parseDuration(wait);
  if (timeoutMs === undefined) return { problem: "invalid wait duration; use forms like 30s, 10m, 1h, 500ms" };
  return { how: "wait", timeoutMs };
}

async function dispatched(argv: Command["argv"], { backend }: ToolContext) {
  if (backend.terminal === undefined) {
    throw new ToolFailure("run_shell wait=false requires a tmux-backed execution target");
  }
  return { dispatched: (await backend.terminal.dispatch({ argv })).pane };
}

/** In a live terminal a command continues after its timeout, so the backend gets no timeout to enforce. */
function started(argv: Command["argv"], timeoutMs: number | undefined, { backend }: ToolContext): Promise<Process> {
  const isLive = backend.terminal !== undefined;
  return backend.spawn({
    argv,
    streams: "split",
    ...(isLive ? { stdin: "terminal" } : timeoutMs !== undefined && { timeoutMs }),
  });
}

interface Streams {
  readonly stdout: string;
  readonly stderr: string;
}

async function streamsOf({ output, errors }: Process, { mask }: ToolContext): Promise<Streams> {
  return { stdout: await beginning(output, mask), stderr: errors === undefined ? "" : await beginning(errors, mask) };
}

/** The first characters of a stream. UTF-8 has at most four bytes a character. */
async function beginning(log: OutputLog, mask: ToolContext["mask"]): Promise<string> {
  const bytes = await log.read(0, Math.min(log.kept, 4 * MAX_CHARACTERS + 4));
  const cut = truncateHead(decodeOutput(bytes), { characters: MAX_CHARACTERS }, mask);
  return cut.truncated === false && log.size <= bytes.length ? cut.text : `${cut.text}${TRUNCATED}`;
}

/** The exit code as a shell reports it: for a signal 128 plus its number. */
function codeOf(
  exit: Exit,
  { timeoutMs = 0, streams }: { readonly timeoutMs?: number; readonly streams: Streams },
): number {
  const content = streams.stdout === "" && streams.stderr === "" ? [] : [text(resultText("", streams).trimStart())];
  switch (exit.how) {
    case "exited":
      return exit.code;
    case "signaled":
      return 128 + (SIGNALS[exit.signal] ?? 0);
    case "timed-out":
      throw new ToolFailure(`the command did not finish within ${timeoutMs / 1_000} s and was stopped`, {
        hint: "So were the processes that it had started. Use a longer wait, or run less.",
        content,
      });
    case "aborted":
      throw new ToolFailure("the command was stopped", { content });
    case "lost":
      throw new ToolFailure(`the exit status of the command is unknown: ${exit.reason}`, {
        hint: "It may have done part of its work. Check that before you run it again.",
        content,
      });
  }
}

const SIGNALS: { readonly [name: string]: number | undefined } = constants.signals;

/** The exit code, then both streams. Each begins on a line of its own. */
function resultText(first: string, { stdout, stderr }: Streams): string {
  return `${first}\nstdout:\n${stdout.replace(/\n$/, "")}\nstderr:\n${stderr.replace(/\n$/, "")}`;
}
