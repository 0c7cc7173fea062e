import { constants } from "node:os";
import { readFile, readdir, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Type } from "typebox";
import type { Exit, Files } from "../../core/contract/backend.ts";
import type { Refusal } from "../../core/contract/containment.ts";
import { isReadable } from "../../core/contract/content.ts";
import type { Approver } from "../../core/contract/policy.ts";
import { type Tool, defineTool } from "../../core/contract/tool.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { asText } from "../../core/call/result.ts";
import type { Contained } from "../../connect/guard/judge.ts";
import { describeGuestRefusals } from "../../core/output/describe-refusals.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { scriptCommand } from "../../tools/shared/script.ts";
import { shownTail } from "../../tools/shared/command-output.ts";
import { randomName } from "../../core/util/identifier.ts";
import { isInside } from "../../core/util/paths.ts";
import { replacePrivateFile } from "../../core/util/private-file.ts";
import { quoteWords } from "../../core/util/quote.ts";
import { EXIT } from "../exit.ts";
import type { Io } from "../io.ts";
import type { GlobalOptions } from "../options.ts";
import { toolkitOptions } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { guardFolder } from "./hook-client.ts";
import { stream } from "../say.ts";

/** An approved command that a client starts as `handrail hook run ID`. It can be started once. */
type Ticket = Contained & {
  readonly untilMs: number;
  /** The PATH with whose programs it was judged. The client's may begin with a folder that commands have written. */
  readonly path: string | undefined;
};

/** How long a client may take to start a command that was approved, in milliseconds. */
const VALID_MS = 600_000;
/** After how long a ticket that nobody used, and the folder in which a command ended, are removed. */
const KEPT_MS = 86_400_000;

/** Keeps an approved command, and returns the command line that runs it. */
export async function contained(io: Io, run: Contained): Promise<string> {
  const id = randomName(24);
  const ticket: Ticket = { ...run, untilMs: Date.now() + VALID_MS, path: io.env["PATH"] };
  await replacePrivateFile(ticketFolder(io), id, JSON.stringify(ticket));
  void removeOld(io);
  const words = quoteWords([...io.program, "hook", "run", id]);
  const comment = `# ${run.command.replaceAll(/\s+/g, " ").trim().slice(0, 200)}`;
  if (!run.keepsFolder || !CHANGES_FOLDER.test(run.command)) return `${words} ${comment}`;
  // Of words that shells have themselves: a command could have put a program of any name in the PATH of the client.
  const follow = `IFS= read -r handrail_at 2>/dev/null <${quoteWords([endFile(io, id)])} && cd -- "$handrail_at"`;
  return `${words}; set -- "$?"; ${follow}; (exit "$1") ${comment}`;
}

const CHANGES_FOLDER = /\b(?:cd|pushd|popd)\b/;

const ticketFolder = ({ env }: Io) => join(guardFolder(env), "tickets");
const endFolder = ({ env }: Io) => join(guardFolder(env), "ends");
/** The file with the folder in which a command has ended. */
const endFile = (io: Io, id: string) => join(endFolder(io), id);

async function removeOld(io: Io): Promise<void> {
  for (const folder of [ticketFolder(io), endFolder(io)])
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      const info = await stat(path).catch(() => undefined);
      if (info !== undefined && info.mtimeMs < Date.now() - KEPT_MS) await unlink(path).catch(() => undefined);
    }
}

/** More than any client reads of a command. */
const LIMIT = { bytes: 1_048_576, lines: 100_000 };

/** Runs the command of a ticket, prints its output and takes over its exit code. */
export async function runTicket(id: string, options: GlobalOptions): Promise<number> {
  const { io } = options;
  const ticket = await takeTicket(io, id);
  const { command, thread, parent, project, where } = ticket;
  const { path: PATH } = ticket;
  const env = where === "sandbox" || PATH === undefined ? io.env : { ...io.env, PATH };
  const follows = where === "sandbox" && ticket.keepsFolder && CHANGES_FOLDER.test(command);
  const end = `/tmp/.handrail-${id}`; // in the sandbox's own folder, which the toolkit's files see
  const script = follows ? `trap 'pwd -P >${end}' EXIT\n${command}` : command;
  // The command was approved as the client's call. Whatever else would need approval is refused.
  const approver: Approver = async (call) => {
    const isIt = call.effects.every((effect) => effect.kind === "exec" && effect.command === script);
    return isIt ? { answer: "once", by: "the client's call" } : { answer: "refuse" };
  };
  const usual = await toolkitOptions({
    ...options,
    io: { ...io, env },
    workDir: project,
    // Where the sandbox does not work, as in the sandbox of a client, nothing that was approved for it runs.
    ...(where === "sandbox" && { sandbox: "on" as const }),
  });
  const { hooks: _, ...withoutHooks } = usual; // hooks have seen it as the client's call
  const toolkit = await createToolkit({
    ...withoutHooks,
    preset: "none",
    tools: [guestCommand(ticket)],
    approver,
    lifetime: "call",
  });
  const stopped = untilStopped(io);
  const refusals: Refusal[] = [];
  try {
    const run = toolkit.with({ thread, parent });
    const result = await run.call(
      { name: "client_command", input: { command: script } },
      { signal: stopped.signal, onEvent },
    );
    const words = "content" in result ? (result.content ?? []).filter((part) => !("own" in part)) : [];
    const shown =
      result.status === "ok"
        ? words.filter(isReadable).map((part) => part.text)
        : [asText({ ...result, ...("content" in result && { content: words }) })];
    const notes = [
      ...(refusals.length > 0 ? [describeGuestRefusals(refusals, ticket.outside)] : []),
      ...(await followed(toolkit, ticket, { file: endFile(io, id), end: follows ? end : undefined })),
    ].map((note) => `[Handrail: ${note}]`);
    for (const text of [...shown, ...notes]) stream(io, text.endsWith("\n") || text === "" ? text : `${text}\n`);
    const data = result.status === "ok" ? (result.data as { readonly exit_code?: number }) : {};
    return data.exit_code ?? EXIT.notSucceeded;
  } finally {
    await toolkit.close();
    stopped.release();
  }

  function onEvent(event: { readonly type: string; readonly refusals?: readonly Refusal[] }): void {
    if (event.type === "sandbox.refused") refusals.push(...(event.refusals ?? []));
  }
}

/** Runs the client's command as our own tool for commands does, in the client's folder. */
function guestCommand({ cwd, where }: Pick<Ticket, "cwd" | "where">): Tool {
  return defineTool({
    name: "client_command",
    description: "Runs a command of a client.",
    touches: ["exec"],
    keep: "tail",
    limit: LIMIT,
    input: Type.Object({ command: Type.String() }, { additionalProperties: false }),
    effects: ({ command }) => [{ kind: "exec", command, cwd, ...(where === "none" && { within: "none" as const }) }],
    async run({ command }, context) {
      const { backend } = context;
      const argv = scriptCommand(backend.shell ?? "bash", command);
      const running = await backend.spawn({ argv, cwd, streams: "merged" });
      const code = codeOf(await running.exit);
      return { output: await shownTail(running.output, LIMIT, context), exit_code: code };
    },
    render: ({ output }) => output,
  }) as Tool;
}

/** The exit code as a shell reports it (signal(7) has the numbers). */
function codeOf(exit: Exit): number {
  if (exit.how === "exited") return exit.code;
  return exit.how === "signaled" ? 128 + (constants.signals[exit.signal as NodeJS.Signals] ?? 0) : EXIT.notSucceeded;
}

/**
 * Keeps the folder in which a command has ended for the client's shell, if it is in the project. Otherwise returns what
 * to tell the model, whose next command begins where this one began.
 *
 * @param kept.end where the sandbox's shell has written it; `file`: where the client's shell reads it
 */
async function followed(
  { backend }: Toolkit,
  { command, cwd, keepsFolder }: Ticket,
  { file, end }: { readonly file: string; readonly end: string | undefined },
): Promise<readonly string[]> {
  if (!keepsFolder || !CHANGES_FOLDER.test(command)) return [];
  const at = end === undefined ? undefined : await textOf(backend.files, end).catch(() => undefined);
  if (at === cwd) return [];
  const info = at === undefined ? undefined : await (backend.outside ?? backend.files).stat(at).catch(() => undefined);
  const isKept = at !== undefined && info?.kind === "folder" && info.path === at && isInside(at, backend.workDir);
  if (!isKept || /[\x00-\x1f]/.test(at)) {
    const why = "`cd` is kept only in the sandbox, and only in the project. Use absolute paths";
    return [`the next command begins in ${cwd}: the folder does not change. ${why}.`];
  }
  await replacePrivateFile(dirname(file), basename(file), `${at}\n`);
  return [];
}

async function textOf(files: Files, path: string): Promise<string> {
  const file = await files.open(path);
  try {
    return Buffer.from(await file.read(0, file.info.size))
      .toString()
      .replace(/\n$/, "");
  } finally {
    await file.close();
  }
}

/** @throws Error when there is no such ticket, or it is too old or was used. */
async function takeTicket(io: Io, id: string): Promise<Ticket> {
  const path = join(ticketFolder(io), /^[\w-]+$/.test(id) ? id : "none");
  try {
    const ticket = JSON.parse(await readFile(path, "utf8")) as Ticket;
    await unlink(path); // if two processes try, this fails in one of them
    if (Date.now() <= ticket.untilMs) return ticket;
  } catch {
    // reported below
  }
  throw new Error("this approval was used or is too old. Make the call again.");
}
