import { Type } from "typebox";
import type { Command, Exit, OutputLog, Process, ScriptShell } from "../contract/backend.ts";
import { text } from "../contract/content.ts";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolContext, type ToolOptions, defineTool } from "../contract/tool.ts";
import { decodeOutput } from "../output/decode.ts";
import { savedNotice, truncateHead } from "../output/truncate.ts";
import { messageOf } from "../util/errors.ts";
import { reportOutput } from "./shared/command-output.ts";
import { COMMAND_NAMES, mendCommand } from "./shared/other-agents.ts";
import { scriptCommand } from "./shared/script.ts";
import { sandboxArguments, withinOf } from "./shared/sandbox-arguments.ts";

/** The limits that the tool's description names: 60 s, and 1 MB of each stream. */
const DEFAULT_TIMEOUT_S = 60;
const MAX_STREAM_BYTES = 1_048_576;

/** Both streams, with their headings and notices. */
const LIMIT = { bytes: 2 * MAX_STREAM_BYTES + 4_096 };

export interface ShellOptions extends ToolOptions {
  /** Seconds after which a command is stopped. Default 60. */
  readonly timeout?: number;
  /** Whether commands run in a sandbox. Adds the arguments that ask it for more access. Default false. */
  readonly sandboxed?: boolean;
  /** The shell that runs the script. Default "bash". */
  readonly shell?: ScriptShell;
}

/** Runs a shell script with separate stdout and stderr. A non-zero exit code is a failed call. */
export const shell = ({
  timeout = DEFAULT_TIMEOUT_S,
  sandboxed = false,
  shell: program = "bash",
  ...options
}: ShellOptions = {}) =>
  defineTool({
    name: "shell",
    title: "Run command",
    description: "Execute a shell command in the workspace directory",
    limit: LIMIT,
    aliases: COMMAND_NAMES,
    ...options,
    paramsHint: "command (required), approved",
    touches: ["exec"],
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
    effects: ({ command, ...asked }) => {
      const within = withinOf(asked);
      return [{ kind: "exec", command, ...(within !== undefined && { within }) }];
    },
    async run({ command }, context) {
      const process = await started(scriptCommand(program, command), timeout, context);
      const ended = new AbortController();
      const watching = reportOutput(process.output, context, ended.signal);
      const exit = await process.exit;
      ended.abort();
      await watching;
      const stdout = await streamText(process.output, context);
      const stderr = process.errors === undefined ? "" : await streamText(process.errors, context);
      if (exit.how === "exited" && exit.code === 0) return { stdout, stderr, exit_code: 0 };
      const output = combined(stdout, stderr);
      throw new ToolFailure(failureOf(exit, timeout), {
        content: output === "" ? [] : [text(output)],
        data: { stdout, stderr, exit_code: exit.how === "exited" ? exit.code : null },
      });
    },
    render: ({ stdout, stderr }) => combined(stdout, stderr),
  });

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
async function streamText(log: OutputLog, { outputs, mask }: ToolContext): Promise<string> {
  const whole = decodeOutput(await log.read(0, Math.min(log.kept, MAX_STREAM_BYTES + 4)));
  const cut = truncateHead(whole, { bytes: MAX_STREAM_BYTES }, mask);
  if (cut.truncated === false && log.size <= MAX_STREAM_BYTES) return whole;
  const id = await outputs.save(log).catch(() => undefined);
  return `${cut.text}\n${savedNotice({ truncated: "bytes", limit: { bytes: MAX_STREAM_BYTES } }, id, outputs.forCommands)}`;
}

function combined(stdout: string, stderr: string): string {
  if (stderr === "") return stdout;
  return stdout === "" ? stderr : `stdout:\n${stdout}\n\nstderr:\n${stderr}`;
}

function failureOf(exit: Exit, timeout: number): string {
  switch (exit.how) {
    case "exited":
      return `Exit code: ${exit.code}`;
    case "signaled":
      return `Killed by signal: ${exit.signal}`;
    case "timed-out":
      return `Execution failed: the command did not finish within ${timeout} s and was stopped`;
    case "aborted":
      return "Execution failed: the command was stopped";
    case "lost":
      return `Execution failed: the exit status of the command is unknown: ${exit.reason}`;
  }
}
