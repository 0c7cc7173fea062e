import { readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Approver } from "../../contract/policy.ts";
import { asText } from "../../engine/result.ts";
import type { Contained } from "../../guard/judge.ts";
import { createToolkit } from "../../toolkit.ts";
import { randomName } from "../../util/identifier.ts";
import { replacePrivateFile } from "../../util/private-file.ts";
import { quoteWords } from "../../util/quote.ts";
import { EXIT } from "../exit.ts";
import type { Io } from "../io.ts";
import type { GlobalOptions } from "../options.ts";
import { toolkitOptions } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { guardFolder } from "./hook-client.ts";
import { stream } from "../say.ts";

/** An approved command that a client starts as `handrail hook run ID`. It can be started once. */
type Ticket = Contained & { readonly untilMs: number };

/** How long a client may take to start a command that was approved, in milliseconds. */
const VALID_MS = 600_000;

/** Keeps an approved command, and returns the command line that runs it in the sandbox. */
export async function contained(io: Io, run: Contained): Promise<string> {
  const id = randomName(24);
  const ticket: Ticket = { ...run, untilMs: Date.now() + VALID_MS };
  await replacePrivateFile(join(guardFolder(io.env), "tickets"), id, JSON.stringify(ticket));
  const words = quoteWords([...io.program, "hook", "run", id]);
  return `${words} # ${run.command.replaceAll(/\s+/g, " ").trim().slice(0, 200)}`;
}

/** More than any client reads of a command. */
const LIMIT = { bytes: 1_048_576, lines: 100_000 };

/** Runs the command of a ticket, prints its output and takes over its exit code. */
export async function runTicket(id: string, options: GlobalOptions): Promise<number> {
  const { command, cwd, thread, parent, project } = await takeTicket(options.io, id);
  // The command was approved as the client's call. Whatever else would need approval is refused.
  const approver: Approver = async (call) => {
    const isIt = call.effects.every((effect) => effect.kind === "exec" && effect.command === script);
    return isIt ? { answer: "once", by: "the client's call" } : { answer: "refuse" };
  };
  const script = cwd === project ? command : `cd ${quoteWords([cwd])} && {\n${command}\n}`;
  // It was approved for the sandbox alone: where that does not work, as in the sandbox of a client, nothing runs.
  const { hooks: _, ...given } = await toolkitOptions({ ...options, workDir: project, sandbox: "on" });
  const toolkit = await createToolkit({
    ...given, // hooks have seen it as the client's call
    preset: "coding",
    toolOptions: { bash: { limit: LIMIT } },
    approver,
    lifetime: "call",
  });
  const stopped = untilStopped(options.io);
  try {
    const run = toolkit.with({ thread, parent });
    const result = await run.call({ name: "bash", input: { command: script, timeout: MOST_SECONDS } }, stopped);
    const data =
      result.status === "ok" ? (result.data as { readonly output?: string; readonly exit_code?: number }) : {};
    const text = data.output ?? asText(result);
    stream(options.io, text.endsWith("\n") || text === "" ? text : `${text}\n`);
    return result.status === "ok" ? (data.exit_code ?? EXIT.notSucceeded) : EXIT.notSucceeded;
  } finally {
    await toolkit.close();
    stopped.release();
  }
}

/** The client has its own time limit, and stops the command. */
const MOST_SECONDS = 3_600;

/** @throws Error when there is no such ticket, or it is too old or was used. */
async function takeTicket(io: Io, id: string): Promise<Ticket> {
  const path = join(guardFolder(io.env), "tickets", /^[\w-]+$/.test(id) ? id : "none");
  try {
    const ticket = JSON.parse(await readFile(path, "utf8")) as Ticket;
    await unlink(path); // if two processes try, this fails in one of them
    if (Date.now() <= ticket.untilMs) return ticket;
  } catch {
    // reported below
  }
  throw new Error("this approval was used or is too old. Make the call again.");
}
