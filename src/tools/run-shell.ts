import { constants } from "node:os";
import { Type } from "typebox";
import type { Command, Process } from "../core/contract/backend.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolContext, type ToolNames, defineTool, withToolNames } from "../core/contract/tool.ts";
import { shownHead } from "./shared/command-output.ts";
import { LONGEST_MS, attachSecondsHint, parseDuration } from "./shared/duration.ts";
import { requireNoTerminal } from "./shared/needs-terminal.ts";
import { type GoesOn, goesOnText, runAndWait } from "./shared/wait-for-command.ts";
import { mendCommand } from "./shared/other-agents.ts";
import { sandboxArguments, withinOf } from "./shared/sandbox-arguments.ts";
import { RUNS_SCRIPTS, type ScriptOptions, execEffect, requireEnded, scriptCommand } from "./shared/script.ts";

/** Characters shown of each stream, from its beginning. */
const MAX_CHARACTERS = 4_000;
const TRUNCATED = "...[truncated]";

/** Both streams and their headings. */
const LIMIT = { characters: 2 * MAX_CHARACTERS + 4_096 };

export type RunShellOptions = ScriptOptions;

/**
 * Runs a shell script and returns its exit code, stdout and stderr. Waits until it ends, or as long as `wait` allows.
 */
export const runShell = ({ terminal = false, sandboxed = false, shell = "bash", ...options }: RunShellOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "run_shell",
      description:
        `Run a ${shell === "bash" ? "bash" : "POSIX shell"} command and return its exit code, stdout and stderr ` +
        `(the first ${MAX_CHARACTERS} characters of each). ` +
        (terminal
          ? "It runs in a tmux pane that people see. A command that is still running after the wait continues in " +
            `the pane${handlingText(names)}.`
          : "It has no terminal and no stdin, and is stopped when the wait is over."),
      ...RUNS_SCRIPTS,
      ...options,
      limit: options.limit ?? LIMIT,
      paramsHint: "command (required), wait",
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
        // A dispatched command keeps running in its pane after the session.
        const effect = execEffect(command, within, mode.how === "dispatch" ? "detached" : "call");
        return [terminal ? { ...effect, inPane: true } : effect];
      },
      async run({ command, wait }, context) {
        const mode = modeOf(wait);
        if ("problem" in mode) throw new ToolFailure(mode.problem);
        if (typeof wait === "number") attachSecondsHint("wait", wait, context);
        requireNoTerminal(command, context, names);
        const argv = scriptCommand(shell, command);
        if (mode.how === "dispatch") return dispatched(argv, context);
        const { timeoutMs } = mode;
        const { process, waited } = await runAndWait(
          { argv, streams: "split", timeoutMs, script: command, inPane: true },
          context,
        );
        const streams = await streamsOf(process, context);
        if ("goesOn" in waited) return { ...streams, ...waited.goesOn, timeout_ms: timeoutMs ?? null };
        const isSilent = streams.stdout === "" && streams.stderr === "";
        const exit = requireEnded(waited.ended, {
          timeoutMs,
          afterTimeout: "So were the processes that it had started. Use a longer wait, or run less.",
          output: isSilent ? "" : resultText("", streams).trimStart(),
        });
        // A signal as a shell reports it: 128 plus its number.
        return { ...streams, exit_code: exit.how === "exited" ? exit.code : 128 + (SIGNALS[exit.signal] ?? 0) };
      },
      render: (data) => {
        if ("dispatched" in data) {
          const look = names("capture-pane");
          const poll = look === undefined ? "" : ` Use ${look} (optionally with delay) to poll output.`;
          const window =
            data.window === undefined ? "" : ` People see it in the window ${data.window} of this session.`;
          return `command dispatched to tmux pane ${data.dispatched}; still running in background.${poll}${window}`;
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
  const { pane, window } = await backend.terminal.dispatch({ argv, inPane: true });
  return { dispatched: pane, ...(window !== undefined && { window }) };
}

interface Streams {
  readonly stdout: string;
  readonly stderr: string;
}

async function streamsOf({ output, errors }: Process, context: ToolContext): Promise<Streams> {
  const beginning = async (log: Process["output"]) => {
    const { text, isAll } = await shownHead(log, { characters: MAX_CHARACTERS }, context);
    return isAll ? text : `${text}${TRUNCATED}`;
  };
  return { stdout: await beginning(output), stderr: errors === undefined ? "" : await beginning(errors) };
}

const SIGNALS: { readonly [name: string]: number | undefined } = constants.signals;

/** The exit code, then both streams. Each begins on a line of its own. */
function resultText(first: string, { stdout, stderr }: Streams): string {
  return `${first}\nstdout:\n${stdout.replace(/\n$/, "")}\nstderr:\n${stderr.replace(/\n$/, "")}`;
}
