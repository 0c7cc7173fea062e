import { Type } from "typebox";
import type { Exit, Process } from "../contract/backend.ts";
import { type Content, text } from "../contract/content.ts";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolContext, type ToolOptions, defineTool } from "../contract/tool.ts";
import { decodeOutput } from "../output/decode.ts";
import { formatSize } from "../output/size.ts";
import { DEFAULT_LIMIT, savedNotice, truncateTail } from "../output/truncate.ts";
import { renameKeys } from "../util/rename-keys.ts";

const DEFAULT_TIMEOUT_S = 120;
const MAX_TIMEOUT_S = 86_400;

/** How often people are shown more of a running command's output. */
const REPORT_EVERY_MS = 100;

/** Runs a shell script and returns what it wrote, stdout and stderr in order. */
export const bash = (options: ToolOptions = {}) => {
  const limit = options.limit ?? DEFAULT_LIMIT;
  return defineTool({
    name: "bash",
    title: "Run command",
    description:
      "Run a bash command in the working directory and return its output (stdout and stderr together; of long output the end). " +
      "There is no terminal and no input. A command that is not done after the timeout is stopped.",
    aliases: ["execute_command", "run_command", "exec_command"],
    ...options,
    limit,
    keep: "tail",
    paramsHint: "command (required), timeout",
    touches: ["exec"],
    input: Type.Object(
      {
        command: Type.String({ minLength: 1, description: "Bash script to run" }),
        timeout: Type.Optional(
          Type.Number({
            exclusiveMinimum: 0,
            maximum: MAX_TIMEOUT_S,
            description: `Seconds (default: ${DEFAULT_TIMEOUT_S})`,
          }),
        ),
      },
      { additionalProperties: false },
    ),
    mend: (raw) =>
      typeof raw === "string" ? { command: raw } : renameKeys(raw, { cmd: "command", script: "command" }),
    effects: ({ command }) => [{ kind: "exec", command }],
    async run({ command, timeout = DEFAULT_TIMEOUT_S }, context) {
      const process = await context.backend.spawn({
        argv: ["bash", "--noprofile", "--norc", "-c", command],
        timeoutMs: timeout * 1_000,
      });
      const watching = report(process, context);
      const exit = await process.exit;
      await watching;
      const output = await shown(process, limit, context);
      if (exit.how === "timed-out") {
        throw new ToolFailure(`the command was not done after ${timeout} s and was stopped`, {
          hint: `${output === "" ? "It wrote nothing until then" : "What it wrote until then is below"}. Give a longer timeout, or run less.`,
          content: contentOf(output),
        });
      }
      if (exit.how === "aborted") throw new ToolFailure("the command was stopped", { content: contentOf(output) });
      return { output, ...ending(exit) };
    },
    render: ({ output, exit_code, signal }) => {
      if (signal !== null) return `${output}${gap(output)}Killed by signal: ${signal}`;
      if (exit_code !== 0) return `${output}${gap(output)}Exit code: ${exit_code}`;
      return output === "" ? "(no output)" : output;
    },
  });
};

function ending(exit: Extract<Exit, { how: "exited" | "signaled" }>): {
  exit_code: number | null;
  signal: string | null;
} {
  return exit.how === "exited" ? { exit_code: exit.code, signal: null } : { exit_code: null, signal: exit.signal };
}

/** The end of the output, with a notice below it where that is not all. */
async function shown({ output }: Process, limit: typeof DEFAULT_LIMIT, { outputs }: ToolContext): Promise<string> {
  // UTF-8 has at most four bytes a character, and U+FFFD has three in place of one.
  const most = limit.bytes ?? 4 * (limit.characters ?? Infinity);
  const bytes = await output.tail(Math.min(output.kept, most + 4));
  const cut = truncateTail(decodeOutput(bytes, { cut: bytes.length < output.kept }), limit);
  if (cut.truncated === false && bytes.length === output.size) return cut.text;
  const id = await outputs.save(output).catch(() => undefined);
  const notice = savedNotice({ truncated: cut.truncated === false ? "bytes" : cut.truncated, limit }, id);
  return `${cut.text}\n${notice}${lossNotice(output)}`;
}

/** A log keeps the beginning of what is beyond all measure, or of what the disk did not take. */
function lossNotice({ size, kept }: Process["output"]): string {
  if (kept === size) return "";
  return `\n[Of ${formatSize(size)} of output only the first ${formatSize(kept)} were kept: this is the end of those.]`;
}

function contentOf(output: string): readonly Content[] {
  return output === "" ? [] : [text(output)];
}

function gap(output: string): string {
  return output === "" ? "" : output.endsWith("\n") ? "\n" : "\n\n";
}

/** Shows people the output while it comes, a few times a second at most. */
async function report(process: Process, context: ToolContext): Promise<void> {
  const decoder = new TextDecoder();
  let unsaid = "";
  const say = () => {
    if (unsaid !== "") context.report({ output: unsaid });
    unsaid = "";
  };
  const timer = setInterval(say, REPORT_EVERY_MS);
  try {
    for await (const chunk of process.output.follow(context.signal)) {
      // Only the newest part of a flood is of use to someone who watches.
      unsaid = (unsaid + decoder.decode(chunk, { stream: true })).slice(-4_096);
    }
  } finally {
    clearInterval(timer);
    say();
  }
}
