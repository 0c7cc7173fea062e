import { Type } from "typebox";
import type { Command, OutputLog, Process } from "../core/contract/backend.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolContext, defineTool, withToolNames } from "../core/contract/tool.ts";
import { savedNotice } from "../core/output/truncate.ts";
import { messageOf } from "../core/util/errors.ts";
import { reportOutput, shownHead } from "./shared/command-output.ts";
import { requireNoTerminal } from "./shared/needs-terminal.ts";
import { mendCommand } from "./shared/other-agents.ts";
import {
  RUNS_SCRIPTS,
  type ScriptOptions,
  contentOf,
  endingText,
  execEffect,
  hasEnded,
  scriptCommand,
} from "./shared/script.ts";
import { sandboxArguments, withinOf } from "./shared/sandbox-arguments.ts";

/** The limits that the tool's description names: 60 s, and 1 MB of each stream. */
const DEFAULT_TIMEOUT_S = 60;
const MAX_STREAM_BYTES = 1_048_576;

/** Both streams, with their headings and notices. */
const LIMIT = { bytes: 2 * MAX_STREAM_BYTES + 4_096 };

export interface ShellOptions extends Omit<ScriptOptions, "terminal"> {
  /** Seconds after which a command is stopped. Default 60. */
  readonly timeout?: number;
}

/** Runs a shell script with separate stdout and stderr. A non-zero exit code is a failed call. */
export const shell = ({
  timeout = DEFAULT_TIMEOUT_S,
  sandboxed = false,
  shell: program = "bash",
  ...options
}: ShellOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "shell",
      description: "Execute a shell command in the workspace directory",
      limit: LIMIT,
      ...RUNS_SCRIPTS,
      ...options,
      paramsHint: "command (required), approved",
      input: Type.Object(
        {
          command: Type.String({ minLength: 1, description: "Shell command to execute" }),
          // Asks for a person's approval; grants nothing itself.
          approved: Type.Optional(
            Type.Boolean({ default: false, description: "Ask a person to approve a command that needs it" }),
          ),
          ...sandboxArguments(sandboxed),
        },
        { additionalProperties: false },
      ),
      mend: (raw) => trimmed(mendCommand(raw, SPELLINGS)),
      effects: ({ command, ...asked }) => [execEffect(command, withinOf(asked))],
      async run({ command }, context) {
        requireNoTerminal(command, context, names);
        const process = await started(scriptCommand(program, command), timeout, context);
        const ended = new AbortController();
        const watching = reportOutput(process.output, context, ended.signal);
        const exit = await process.exit;
        ended.abort();
        await watching;
        const stdout = await streamText(process.output, context);
        const stderr = process.errors === undefined ? "" : await streamText(process.errors, context);
        if (exit.how === "exited" && exit.code === 0) return { stdout, stderr, exit_code: 0 };
        throw new ToolFailure(`${hasEnded(exit) ? "" : "Execution failed: "}${endingText(exit, timeout * 1_000)}`, {
          content: contentOf(combined(stdout, stderr)),
          data: { stdout, stderr, exit_code: exit.how === "exited" ? exit.code : null },
        });
      },
      render: ({ stdout, stderr }) => combined(stdout, stderr),
    }),
  );

/** Other argument names that models use. */
const SPELLINGS: { readonly [spelling: string]: string } = {
  bash: "command",
  sh: "command",
  input: "command",
};

function trimmed(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("command" in raw) || typeof raw.command !== "string") return raw;
  return { ...raw, command: raw.command.trim() };
}

async function started(argv: Command["argv"], timeout: number, { backend }: ToolContext): Promise<Process> {
  try {
    return await backend.spawn({ argv, streams: "split", timeoutMs: timeout * 1_000 });
  } catch (error) {
    throw new ToolFailure(`Execution failed: ${messageOf(error)}`, { cause: error });
  }
}

/** The first 1 MB of a stream. A notice below a truncated one names the saved output. */
async function streamText(log: OutputLog, context: ToolContext): Promise<string> {
  const limit = { bytes: MAX_STREAM_BYTES };
  const { text, isAll } = await shownHead(log, limit, context);
  if (isAll) return text;
  const { outputs } = context;
  const id = await outputs.save(log).catch(() => undefined);
  return `${text}\n${savedNotice({ truncated: "bytes", limit }, id, outputs.forCommands)}`;
}

function combined(stdout: string, stderr: string): string {
  if (stderr === "") return stdout;
  return stdout === "" ? stderr : `stdout:\n${stdout}\n\nstderr:\n${stderr}`;
}
