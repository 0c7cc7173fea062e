import type { Command, Exit, Process } from "../../core/contract/backend.ts";
import type { ToolContext, ToolNames } from "../../core/contract/tool.ts";
import { pause } from "../../core/util/abort.ts";
import { reportOutput } from "./command-output.ts";
import { hasEnded } from "./script.ts";

/** How many lines of the screen are shown when a command waits for input. */
const LAST_LINES = 15;

/** A command in a live terminal that continues as a job, after its timeout or because it waits for input. */
export type GoesOn = {
  readonly why: "timeout" | "input";
  readonly job: string;
  /** Its tmux pane, such as "%1". */
  readonly pane: string;
  /** The command with which people attach to the terminal. */
  readonly attach: string;
  /** The last lines of the pane when it waits for input: a prompt may be visible only on the screen. "" otherwise. */
  readonly screen: string;
};

/** How the wait for a command ended. */
type Waited = { readonly ended: Exit } | { readonly goesOn: GoesOn };

/**
 * Starts a command and waits for it. In a live terminal it continues after its time, so the backend gets no timeout to
 * enforce.
 *
 * @param timeoutMs Default: no limit.
 */
export async function runAndWait(
  { argv, script, timeoutMs, streams = "merged", inPane = false }: RunOptions,
  context: ToolContext,
): Promise<{ readonly process: Process; readonly waited: Waited }> {
  const isLive = context.backend.terminal !== undefined;
  const limited = timeoutMs === undefined ? {} : { timeoutMs };
  const process = await context.backend.spawn({
    ...{ argv, streams, ...(isLive ? { stdin: "terminal" } : limited) },
    ...(isLive && inPane && { inPane }),
  });
  return { process, waited: await waitFor(process, { ...(isLive && limited), script }, context) };
}

interface RunOptions {
  readonly argv: Command["argv"];
  readonly script: string;
  readonly timeoutMs?: number | undefined;
  readonly streams?: "merged" | "split";
  /** As `Command.inPane`. Default false. */
  readonly inPane?: boolean;
}

/**
 * Waits for a command, and shows people its output meanwhile. In a live terminal a command continues as a job after its
 * timeout, or as soon as it waits for input. If it cannot become a job, it is stopped after its timeout.
 *
 * @param timeoutMs Default: no limit.
 */
async function waitFor(
  process: Process,
  { timeoutMs, script }: Pick<RunOptions, "timeoutMs" | "script">,
  context: ToolContext,
): Promise<Waited> {
  const over = new AbortController();
  const watching = reportOutput(process.output, context, over.signal);
  const time = timeoutMs === undefined ? NEVER : pause(timeoutMs, over.signal).then(() => "timeout" as const);
  try {
    let first = await Promise.race([process.exit, time, waiting(process, over.signal)]);
    if (first === "input") {
      const goesOn = await kept(process, first, script, context);
      if (goesOn !== undefined) return { goesOn };
      const attach = context.backend.terminal?.attach;
      const how = attach === undefined ? "" : `: ${attach}`;
      context.report({ displayMessage: `waits for input in ${process.place ?? "its terminal"}${how}` });
      first = await Promise.race([process.exit, time]); // a person may still answer the prompt
    }
    if (typeof first === "object") return { ended: first };
    const goesOn = await kept(process, "timeout", script, context);
    if (goesOn !== undefined) return { goesOn };
    await process.kill();
    const exit = await process.exit;
    return { ended: hasEnded(exit) ? { how: "timed-out", afterMs: timeoutMs ?? 0 } : exit };
  } finally {
    over.abort();
    await watching;
  }
}

/** Tells the model where the command continues, and how to look at it, answer it and stop it. */
export function goesOnText(
  { why, job, pane, attach, screen }: GoesOn,
  timeoutMs: number | undefined,
  names: ToolNames,
): string {
  const keys = names("send-keys");
  const jobs = names("jobs");
  const look = names("capture-pane");
  const call = (tool: string, args: string) => `${tool} ({"target": "${pane}"${args}})`;
  const stops = [
    ...(keys === undefined ? [] : [call(keys, ', "keys": ["C-c"]')]),
    ...(jobs === undefined ? [] : [`${jobs} ({"action": "kill", "id": "${job}"})`]),
  ];
  const stop = stops.length === 0 ? `People can stop it (${attach}).` : `Stop it with ${stops.join(" or ")}.`;
  const end = `${stop} A later result reports its end; its output is in output://job-${job}.`;
  if (why === "timeout") {
    const see = look === undefined ? "" : ` Look at it with ${look} ({"target": "${pane}"}, optionally with delay).`;
    const state = `The command is still running after ${(timeoutMs ?? 0) / 1_000} s`;
    return `[${state}. It continues in tmux pane ${pane} as job ${job}.${see} ${end}]`;
  }
  const asked = screen === "" ? "" : `The last lines of the screen:\n${screen}\n`;
  const typing = keys && `Answer it with ${call(keys, ', "literal_text": "…", "enter": true')}, or ask a person to`;
  const answer = typing ?? "Ask a person to answer it";
  const state = `The command waits for input in tmux pane ${pane}, and continues as job ${job}`;
  return `${asked}[${state}. ${answer} (${attach}). ${end}]`;
}

const NEVER = new Promise<never>(() => undefined);

/** Resolves when the process waits for input; otherwise never. */
async function waiting(process: Process, until: AbortSignal): Promise<"input"> {
  return (await process.awaitsInput?.(until)) === true ? "input" : NEVER;
}

/** Turns the process into a job. `undefined` when it has no pane or cannot be adopted. */
async function kept(
  process: Process,
  why: GoesOn["why"],
  script: string,
  { jobs, backend }: ToolContext,
): Promise<GoesOn | undefined> {
  const { terminal } = backend;
  if (process.place === undefined || terminal === undefined) return undefined;
  const pane = process.place.replace(/^pane /, "");
  const screen = why === "timeout" ? "" : await lastLines(() => terminal.capture({ target: pane }));
  const job = await jobs.adopt(process, script).catch(() => undefined);
  return job && { why, job: job.id, pane, attach: terminal.attach, screen };
}

async function lastLines(capture: () => Promise<{ readonly text: string }>): Promise<string> {
  const text = await capture().then(
    (captured) => captured.text,
    () => "",
  );
  return text.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
}
