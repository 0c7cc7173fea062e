import { Type } from "typebox";
import type { Command, ToolBackend } from "../core/contract/backend.ts";
import type { Sandboxed } from "../core/contract/containment.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolContext, type ToolNames, defineTool, withToolNames } from "../core/contract/tool.ts";
import { DEFAULT_LIMIT } from "../core/output/truncate.ts";
import { quoteWords } from "../core/util/quote.ts";
import { shownTail } from "./shared/command-output.ts";
import { attachSecondsHint } from "./shared/duration.ts";
import { requireNoTerminal } from "./shared/needs-terminal.ts";
import { goesOnText, runAndWait } from "./shared/wait-for-command.ts";
import { mendCommand } from "./shared/other-agents.ts";
import {
  RUNS_SCRIPTS,
  type ScriptOptions,
  endingText,
  execEffect,
  requireEnded,
  scriptCommand,
} from "./shared/script.ts";
import { sandboxArguments, withinOf } from "./shared/sandbox-arguments.ts";
import type { JobLifetime, Lifetime } from "../core/contract/lifetime.ts";

const IN_SANDBOX = " It runs in a sandbox: it can write to the workspace and /tmp, and has no network";
const SANDBOX_TEXTS: { readonly [sandboxed in `${Sandboxed}`]: string } = {
  false: "",
  true: `${IN_SANDBOX} unless you name hosts.`,
  offline: `${IN_SANDBOX}. What needs one runs outside: sandbox: false.`,
};

const DEFAULT_TIMEOUT_S = 120;
const MAX_TIMEOUT_S = 86_400;

export interface BashOptions extends ScriptOptions {
  /** Timeout in seconds for calls that give none. Does not apply in the background. Default 120. */
  readonly timeout?: number;
}

/** Runs a shell script and returns its output, stdout and stderr merged; or starts it in the background. */
export const bash = ({
  timeout: defaultTimeout = DEFAULT_TIMEOUT_S,
  terminal = false,
  sandboxed = false,
  shell = "bash",
  ...options
}: BashOptions = {}) => {
  const limit = options.limit ?? DEFAULT_LIMIT;
  const input = Type.Object(
    {
      command: Type.String({
        minLength: 1,
        description: shell === "bash" ? "Bash script to run" : "POSIX shell script to run",
      }),
      timeout: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: MAX_TIMEOUT_S,
          description: `Seconds, not milliseconds (default: ${defaultTimeout}; none in the background)`,
        }),
      ),
      background: Type.Optional(
        Type.Boolean({
          description:
            "Start it and return at once (a server, a watcher, a long build). A later result reports its end",
        }),
      ),
      detached: Type.Optional(
        Type.Boolean({ description: "Like background, and it keeps running after this session" }),
      ),
      ...sandboxArguments(sandboxed),
    },
    { additionalProperties: false },
  );
  return withToolNames((names) =>
    defineTool({
      name: "bash",
      description:
        `Run a ${shell === "bash" ? "bash" : "POSIX shell (sh, not bash)"} command in the working directory and ` +
        "return its output. Stdout and stderr are merged; long output is cut at the beginning. " +
        (terminal
          ? "It runs in a tmux pane that people see and can type in. A command that waits for input, or is still " +
            "running after the timeout, continues in the pane as a job."
          : "It has no terminal and no stdin, and is stopped after the timeout.") +
        SANDBOX_TEXTS[`${sandboxed}`],
      ...RUNS_SCRIPTS,
      ...options,
      limit,
      keep: "tail",
      paramsHint: "command (required), timeout, background, detached",
      input,
      mend: (raw) => withSeconds(mendCommand(raw, SPELLINGS)),
      effects: ({ command, ...how }) => [execEffect(command, withinOf(how), lifetimeOf(how))],
      async run({ command, timeout, ...how }, context) {
        const lifetime = lifetimeOf(how);
        attachSecondsHint("timeout", timeout, context);
        requireNoTerminal(command, context, names);
        const argv = scriptCommand(shell, command);
        if (lifetime !== "call") return startJob(argv, command, { lifetime, timeout }, context);
        const timeoutMs = (timeout ?? defaultTimeout) * 1_000;
        const { process, waited } = await runAndWait({ argv, script: command, timeoutMs }, context);
        if ("goesOn" in waited) {
          const { goesOn } = waited;
          const output = await shownTail(process.output, limit, context, { savedAs: `job-${goesOn.job}` });
          return { ...goesOn, output, timeout_ms: timeoutMs };
        }
        const output = await shownTail(process.output, limit, context);
        const written = output === "" ? "It had written no output" : "Its output so far is below";
        const afterTimeout = `${written}. Use a longer timeout, run less, or run it in the background.`;
        const exit = requireEnded(waited.ended, { timeoutMs, afterTimeout, output });
        if (exit.how === "exited") return { output, exit_code: exit.code, signal: null };
        return { output, exit_code: null, signal: exit.signal };
      },
      render: (data) => {
        if ("process" in data) return startedText(data, names);
        if ("job" in data) return `${data.output}${gap(data.output)}${goesOnText(data, data.timeout_ms, names)}`;
        const { output, exit_code, signal } = data;
        if (exit_code === 0) return output === "" ? "(no output)" : output;
        const exit =
          signal === null ? { how: "exited" as const, code: exit_code } : { how: "signaled" as const, signal };
        return `${output}${gap(output)}${endingText(exit)}`;
      },
    }),
  );
};

/** Other argument names that models use. */
const SPELLINGS: { readonly [spelling: string]: string } = {
  run_in_background: "background",
  is_background: "background",
  isBackground: "background",
};

/** Converts `timeout_ms` to `timeout`, in seconds. */
function withSeconds(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || "timeout" in raw || !("timeout_ms" in raw)) return raw;
  const { timeout_ms, ...rest } = raw;
  return typeof timeout_ms === "number" ? { ...rest, timeout: timeout_ms / 1_000 } : raw;
}

function lifetimeOf({ background, detached }: { background?: boolean; detached?: boolean }): Lifetime {
  if (detached === true) return "detached";
  return background === true ? "toolkit" : "call";
}

async function startJob(
  argv: Command["argv"],
  command: string,
  { lifetime, timeout }: { readonly lifetime: JobLifetime; readonly timeout: number | undefined },
  { jobs, backend }: ToolContext,
) {
  if (lifetime === "detached" && timeout !== undefined) {
    throw new ToolFailure("a detached command takes no timeout: it outlives this session, which would enforce it", {
      hint: "Omit timeout, or put `timeout 60s` in front of the command.",
    });
  }
  const { id, process } = await jobs.start(
    { argv, lifetime, label: command, stdin: "pipe", ...(timeout !== undefined && { timeoutMs: timeout * 1_000 }) },
    command,
  );
  const people = lifetime === "detached" ? jobsCommand(backend) : null;
  const output = `output://job-${id}`;
  const isClosedOff = process.ports !== undefined;
  return { job: id, process: process.id, place: process.place ?? null, lifetime, people, output, isClosedOff };
}

/** The command with which people manage the detached jobs of this backend. */
function jobsCommand({ access }: Pick<ToolBackend, "access">): string {
  return quoteWords(["handrail", "jobs", ...(access?.options ?? [])]);
}

function startedText(
  { job, process, place, people, output, isClosedOff }: Awaited<ReturnType<typeof startJob>>,
  names: ToolNames,
): string {
  const jobs = names("jobs");
  const isIn = `Its output so far is always in ${output}.`;
  if (people !== null) {
    const use = jobs === undefined ? "" : ` Use ${jobs} to wait for it or stop it.`;
    return (
      `Job ${job} was started, detached: it continues after this session. ` +
      `${isIn}${use} People manage it with \`${people}\`.`
    );
  }
  const where = place === null ? "" : ` in tmux ${place}`;
  const use = jobs === undefined ? "" : ` Use ${jobs} to wait for it, write to it or stop it.`;
  const ports = isClosedOff
    ? ` A port that it serves is reached only in the sandbox: the user opens it (/open PORT).`
    : "";
  return `Job ${job} was started${where} (process ${process}). A later result reports its end. ${isIn}${use}${ports}`;
}

function gap(output: string): string {
  return output === "" ? "" : output.endsWith("\n") ? "\n" : "\n\n";
}
