import type { Agent } from "../../agent/agent.ts";
import { FILLED } from "../../agent/turn.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import type { McpPrompt, McpSource } from "../../tools/mcp/source.ts";
import { resolve as resolvePath } from "node:path";
import { openPort } from "../../record/activity/open-port.ts";
import { describeExit } from "../../core/output/describe-exit.ts";
import { oneLine, terminalSafe } from "../../core/output/terminal-text.ts";
import { codeOf } from "../../core/util/errors.ts";
import { plural } from "../../core/util/text.ts";
import type { GlobalOptions } from "../options.ts";
import { sessionRows } from "../sessions.ts";
import { type StatusState, shortNumber, statusLine } from "./status.ts";
import type { PastChat } from "./undo.ts";
import type { ListedCommand } from "./completions.ts";

/** The chat as its commands see it. */
export interface Chat {
  readonly toolkit: Toolkit;
  readonly agent: Agent;
  /** The keys of the terminal and what they do, a line each; none without a terminal. */
  readonly keys: readonly string[];
  /** "anthropic:claude-sonnet-4-5". */
  readonly model: string;
  /** What the status line shows. Reads the whole conversation: call it when something has happened. */
  status(): StatusState;
  /** MCP servers. Their prompts are commands: `/github:review`. */
  readonly servers: readonly Pick<McpSource, "server" | "prompts">[];
  /** Sends the agent a message, as if the person had typed it. Resolves when its turn has ended. */
  send(text: string): Promise<void>;
  /** The options of the program. */
  readonly options: GlobalOptions;
  /** The width of the terminal; 80 without one. */
  readonly columns: number;
  /** Asks the person, and lets them choose from a list. Absent without a terminal. */
  readonly confirm?: PastChat["confirm"];
  readonly pick?: PastChat["pick"];
  /** Puts a text into the editor, if it is empty. */
  prefill(text: string): void;
  /** Continues in a thread; `undefined`: begins a new one. */
  open(thread: string | undefined): Promise<void>;
  /** Continues a thread. Returns its messages. Rejects when there is no thread with this id. */
  resume(thread: string): Promise<string>;
  /** Changes the model from the next turn on. Rejects like `loadModel`. */
  use(model: string): Promise<void>;
  /** Applies the arguments of `/approve`. */
  approve(words: string): string;
  /** Leaves the chat, unless the person stays because of running jobs. */
  leave(): Promise<void>;
}

interface ChatCommand {
  /** The command's arguments, as the help shows them. */
  readonly takes?: string;
  readonly does: string;
  /** Whether the command can be run while a question is open: it neither needs nor changes the turn. */
  readonly atQuestion?: true;
  /** Returns the text for the person. Errors are shown as a sentence. */
  run(chat: Chat, words: string): Promise<string> | string;
}

/** The commands. Input that starts with a slash but is not listed here may be the prompt of a server. */
const COMMANDS: { readonly [name: string]: ChatCommand } = {
  help: {
    atQuestion: true,
    does: "show this",
    run: (chat) =>
      `${table([...Object.entries(COMMANDS).map(usageOf), ...promptsOf(chat).map(promptUsage)])}\n${HINTS}`,
  },
  keys: {
    atQuestion: true,
    does: "show the keys",
    run: ({ keys }) => keys.join("\n") || "/keys needs a terminal",
  },
  tools: {
    atQuestion: true,
    does: "list the tools",
    run: ({ agent }) =>
      [...agent.tools.values()].map(({ name, title }) => `${name.padEnd(14)}  ${title ?? ""}`.trimEnd()).join("\n"),
  },
  model: {
    takes: "[PROVIDER:NAME]",
    does: "list the models that can be used here, or switch to one",
    run: switchModel,
  },
  approve: {
    takes: "[all|ask|none|10m]",
    atQuestion: true,
    does: "how questions are answered: approve all, ask you, refuse all, or approve for a time",
    run: (chat, words) => chat.approve(words),
  },
  approvals: {
    takes: "[ID ANSWER]",
    atQuestion: true,
    does: "list the open questions of all programs, or answer one: once, session, always, refuse",
    async run({ toolkit: { store } }, words) {
      const { answerAtTerminal, questionsText } = await import("../commands/approvals.ts");
      if (words === "") return questionsText(await store.questions());
      const [, id = "", given = "", reason = ""] = /^(\S+)\s+(\S+)\s*([^]*)$/.exec(words) ?? [];
      const answer = ANSWERS.find((each) => each === given);
      if (answer === undefined) return `expected /approvals ID ${ANSWERS.join("|")}, got ${words}`;
      const approval = { answer, ...(answer === "refuse" && reason !== "" && { reason }) };
      return (await answerAtTerminal(store, id, approval)).text;
    },
  },
  jobs: {
    takes: "[output|stop ID]",
    atQuestion: true,
    does: "list the jobs in the background, show the end of one's output, or stop it",
    run: ({ toolkit }, words) => jobsText(toolkit, words),
  },
  open: {
    takes: "[PORT]",
    does: "open a port of a job in the sandbox to your browser, or list these ports",
    run: ({ toolkit }, words) => opened(toolkit, words),
  },
  "held-back": {
    takes: "[PATH]",
    does: "look at files that were put aside since other programs obey them, and put them back",
    async run({ toolkit: { backend }, confirm }, words) {
      if (backend.access !== undefined) return "What was put aside is on the other machine: rename it there.";
      return (await import("../commands/held-back.ts")).heldBackInChat(backend.workDir, words, confirm);
    },
  },
  diff: {
    does: "show what this thread has changed in files",
    run: async (chat) => (await import("./undo.ts")).diffInChat(pastOf(chat)),
  },
  undo: {
    takes: "[list|NUMBER] [yes] [force]",
    does: "take back what the last turn changed; list: all turns with changes",
    run: async (chat, words) => (await import("./undo.ts")).undoInChat(pastOf(chat), words),
  },
  rewind: {
    takes: "[NUMBER] [both|conversation|files]",
    does: "go back to before a message, with or without the files",
    run: async (chat, words) => (await import("./undo.ts")).rewind(pastOf(chat), words),
  },
  fork: {
    takes: "[NUMBER]",
    does: "continue in a copy of this thread, up to before a message",
    run: async (chat, words) => (await import("./undo.ts")).fork(pastOf(chat), words),
  },
  export: {
    takes: "[md|json] [FILE]",
    does: "write this thread to a file",
    run: exportChat,
  },
  memory: {
    takes: "[WORDS|show KEY|forget KEY]",
    does: "list, search, show and remove memories",
    async run({ toolkit: { memories }, options: { io } }, words) {
      const { memoryText } = await import("../commands/memory.ts");
      const [, action, key = ""] = /^(show|forget)\s+([^]+)$/.exec(words) ?? [];
      if (action === "show" || action === "forget") return memoryText(io, memories, action, key);
      return words === "" ? memoryText(io, memories, "list", "") : memoryText(io, memories, "search", words);
    },
  },
  cron: {
    takes: "[pause|resume|remove ID]",
    does: "list the schedules of all folders, or change one",
    async run({ toolkit }, words) {
      const { applyToSchedule, schedulesText } = await import("../commands/cron.ts");
      if (words === "") return schedulesText(toolkit);
      const [, action, id = ""] = /^(pause|resume|remove)\s+(\S+)$/.exec(words) ?? [];
      if (action !== "pause" && action !== "resume" && action !== "remove")
        return `expected /cron [pause|resume|remove ID], got ${words}`;
      return applyToSchedule(action, id, toolkit);
    },
  },
  mcp: {
    does: "list the MCP servers, and their state",
    async run({ toolkit, options }) {
      const { serversText } = await import("../commands/mcp-servers.ts");
      const { text, notices } = await serversText(options, (name) => `${serverState(toolkit, name).padEnd(12)} `);
      return [text, ...notices].join("\n");
    },
  },
  compact: {
    takes: "[what to keep]",
    does: "replace the conversation before the last answer with a summary",
    async run({ agent }, words) {
      const { reason, message } = await agent.compact(words);
      return reason === "done" ? (message ?? "") : `Not shortened: ${message ?? reason}`;
    },
  },
  context: {
    atQuestion: true,
    does: "show what fills the model's context",
    run: contextText,
  },
  new: {
    does: "begin a new thread",
    async run(chat) {
      await chat.open(undefined);
      return `Thread ${chat.agent.thread}`;
    },
  },
  resume: {
    takes: "[ID]",
    does: "continue an earlier thread of this folder",
    run: resume,
  },
  exit: {
    does: "exit; /quit and Ctrl-D do the same",
    atQuestion: true,
    run: leave,
  },
  quit: { does: "exit", atQuestion: true, run: leave },
};

/** The parts of the context in tokens and percent. */
function contextText({ agent, status }: Pick<Chat, "agent" | "status">): string {
  const { size, ...parts } = agent.context();
  const used = Object.values(parts).reduce((sum, tokens) => sum + tokens, 0);
  const rows = [...Object.entries(parts), ["free", Math.max(0, size - used)] as const];
  const lines = rows.map(
    ([name, tokens]) =>
      `${name.padEnd(14)}${shortNumber(tokens).padStart(6)}${`${Math.round((100 * tokens) / size)}%`.padStart(6)}`,
  );
  const when = `At ${FILLED * 100}% old results are cut and older messages are summarized, or now with /compact.`;
  return [statusLine(status(), 80).trim(), ...lines, `Estimated. ${when}`].join("\n");
}

const ANSWERS = ["once", "session", "always", "refuse"] as const;

/** The chat as the commands on its past see it. */
function pastOf({ toolkit, agent, options, columns, confirm, pick, open, prefill }: Chat): PastChat {
  return { toolkit, thread: agent.thread, options, columns, confirm, pick, open, prefill };
}

/** Lets the person choose a model, or switches to the named one. Without a terminal, lists them. */
async function switchModel(chat: Chat, words: string): Promise<string> {
  if (words !== "") {
    await chat.use(words);
    return chat.model;
  }
  const { usableModels } = await import("../models.ts");
  const models = await usableModels(chat.options);
  const items = models.map(({ name, why }) => ({
    value: name,
    label: `${name === chat.model ? "●" : " "} ${name.padEnd(34)} ${why}`.slice(0, chat.columns),
  }));
  if (chat.pick === undefined) return [`Now: ${chat.model}`, ...items.map(({ label }) => label)].join("\n");
  const chosen = await chat.pick("Which model? Another one: /model PROVIDER:NAME", items);
  if (chosen === undefined || chosen === chat.model) return chat.model;
  await chat.use(chosen);
  return chat.model;
}

/** Lets the person choose a conversation, or continues the one with an id or a number of the list. */
async function resume(chat: Chat, words: string): Promise<string> {
  if (words !== "" && !/^\d{1,2}$/.test(words)) return chat.resume(words);
  const { store, backend } = chat.toolkit;
  const folder = backend.access === undefined ? backend.workDir : chat.options.io.cwd;
  const rows = await sessionRows(store, folder, { columns: chat.columns - 4 });
  if (words !== "") {
    const row = rows[Number(words) - 1];
    return row === undefined ? `there is no ${words} in the list of /resume` : chat.resume(row.thread);
  }
  if (rows.length === 0) return "(no threads in this folder)";
  if (chat.pick === undefined) {
    const lines = rows.map(({ label }, index) => `${String(index + 1).padStart(2)}  ${label}`.trimEnd());
    return [...lines, "To continue one: /resume NUMBER"].join("\n");
  }
  const items = rows.map(({ thread, label }) => ({ value: thread, label }));
  const chosen = await chat.pick("Continue which thread?", items);
  return chosen === undefined ? "" : chat.resume(chosen);
}

/** Writes the conversation to a new file. */
async function exportChat({ toolkit: { store }, agent: { thread }, options }: Chat, words: string): Promise<string> {
  const { EXPORT_FORMATS, exportThread } = await import("../export.ts");
  const { writeFile } = await import("node:fs/promises");
  const [first = "", ...rest] = words.split(/\s+/);
  const named = EXPORT_FORMATS.find((each) => each === first);
  const file = (named === undefined ? words : rest.join(" ")).trim();
  const format = named ?? EXPORT_FORMATS.find((each) => file.endsWith(`.${each}`)) ?? "md";
  const path = resolvePath(options.io.cwd, file === "" ? `handrail-${thread}.${format}` : file);
  const summary = (await store.threads()).find((each) => each.thread === thread);
  if (summary === undefined) return "Nothing was said yet.";
  await writeFile(path, await exportThread(store, summary, format), { flag: "wx", mode: 0o600 }).catch(
    (error: unknown) => {
      if (codeOf(error) === "EEXIST") throw new Error(`${path} exists already. Name another file`);
      throw error;
    },
  );
  return `Written: ${path}`;
}

/** The state of an MCP server: "12 tools", "starting", "not running". */
function serverState({ starting, tools }: Toolkit, name: string): string {
  if (starting.includes(`mcp:${name}`)) return "starting";
  const count = [...tools.keys()].filter((tool) => tool.startsWith(`mcp__${name}__`)).length;
  return count === 0 ? "no tools" : plural(count, "tool");
}

/** How much of a job's output is shown, in bytes. */
const OUTPUT_BYTES = 4_096;

async function jobsText({ jobs }: Toolkit, words: string): Promise<string> {
  const all = await jobs.list();
  const [, action, id] = /^(output|stop)\s+(\S+)$/.exec(words) ?? [];
  if (words !== "" && action === undefined) return `expected /jobs [output|stop ID], got ${words}`;
  const lines = all.map(
    (job) => `${job.id}  ${job.ended ? describeExit(job.ended.exit) : "running"}  ${oneLine(job.command, 80)}`,
  );
  if (action === undefined) return lines.join("\n") || "(no jobs)";
  const job = all.find((each) => each.id === id);
  if (job === undefined) return `there is no job ${id}. /jobs lists them`;
  if (action === "stop") {
    await job.process.kill();
    return `Job ${job.id} has ended.`;
  }
  const { output } = job.process;
  const end = output.kept;
  return terminalSafe(Buffer.from(await output.read(Math.max(0, end - OUTPUT_BYTES), end)).toString("utf8")).trimEnd();
}

async function leave(chat: Chat): Promise<string> {
  await chat.leave();
  return "";
}

const HINTS = `
!COMMAND runs a command of yours, and the model sees its result. @ completes paths. /keys shows the keys.`;

/** Returns the commands and the prompts of servers, as a list shows them. */
export function listedCommands(chat: Chat): readonly ListedCommand[] {
  const commands = Object.entries(COMMANDS).map(([name, { takes, does, atQuestion }]) => ({
    ...{ name: `/${name}`, does },
    ...(takes !== undefined && { takes }),
    ...(atQuestion && { anytime: atQuestion }),
  }));
  const prompts = promptsOf(chat).map((prompt) => {
    const [usage, does] = promptUsage(prompt);
    const [name = "", ...takes] = usage.split(" ");
    return { name, takes: takes.join(" "), does };
  });
  return [...commands, ...prompts];
}

/** The names of the commands, with the slash. */
const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS).map((name) => `/${name}`);

/**
 * Runs a line that starts with a slash, and returns the text for the person. Rejects with the command's error.
 *
 * @param isAsked true while a question is open: a command that needs the turn to end is not run then
 */
export async function runCommand(chat: Chat, line: string, isAsked = false): Promise<string> {
  const [, name = "", words = ""] = /^\/(\S*)\s*([^]*)$/.exec(line) ?? [];
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (isAsked && (name.includes(":") || (command !== undefined && command.atQuestion === undefined)))
    return `/${name} has to wait: answer the question first`;
  if (name.includes(":")) await chat.toolkit.ready; // its server may still be starting
  const prompt = promptsOf(chat).find((each) => promptName(each) === name);
  if (prompt !== undefined) {
    await chat.send(await prompt.text(valuesOf(prompt, words.trim()), new AbortController().signal));
    return "";
  }
  if (command === undefined) return `there is no command /${name}. Commands: ${COMMAND_NAMES.join(" ")}`;
  return command.run(chat, words.trim());
}

/** Opens a port, or lists the ports of all jobs. */
async function opened({ jobs }: Toolkit, words: string): Promise<string> {
  const all = await Promise.all(
    (await jobs.list()).map(async (job) => ({ job, ports: job.ended ? [] : ((await job.process.ports?.()) ?? []) })),
  );
  const found = all.find(({ ports }) => ports.includes(Number(words)));
  if (found !== undefined) return openPort(found.job, Number(words));
  const known = all.flatMap(({ job, ports }) =>
    ports.map((port) => `${port}  job ${job.id}  ${oneLine(job.command, 80)}`),
  );
  const none = words === "" ? "" : `No job in the sandbox listens on port ${words}. `;
  return known.length === 0
    ? `${none}No job in the sandbox listens on a port above 1023.`
    : [none, ...known].join("\n").trim();
}

/** A command with its arguments, and what it does. */
type Usage = readonly [usage: string, does: string];

/** Long usages have a line of their own, so that those of servers do not move the column. */
function table(all: readonly Usage[]): string {
  const width = 30;
  return all
    .map(([usage, does]) => {
      const gap = usage.length > width ? `\n${" ".repeat(width)}` : "";
      return `${usage.padEnd(width)}${gap} ${does}`.trimEnd();
    })
    .join("\n");
}

function usageOf([name, { takes = "", does }]: readonly [string, Pick<ChatCommand, "takes" | "does">]): Usage {
  return [`/${name} ${takes}`.trimEnd(), does];
}

function promptsOf({ servers }: Pick<Chat, "servers">): readonly McpPrompt[] {
  return servers.flatMap((server) => server.prompts());
}

function promptName({ server, name }: McpPrompt): string {
  return `${server}:${name}`;
}

function promptUsage(prompt: McpPrompt): Usage {
  const takes = (prompt.arguments ?? []).map(({ name, required = false }) => (required ? name : `[${name}]`));
  const usage = [`/${promptName(prompt)}`, ...takes].join(" ");
  return [oneLine(usage, 200), oneLine((prompt.description ?? "").trim(), 200)];
}

/**
 * Assigns the words to a prompt's arguments in order. The last argument takes all remaining words.
 *
 * @throws Error when a required argument is missing.
 */
function valuesOf(prompt: McpPrompt, words: string): { readonly [name: string]: string } {
  const { arguments: takes = [] } = prompt;
  let rest = words;
  const values = takes.map(({ name }, index): [string, string] => {
    const [, first = "", others = ""] = /^(\S*)\s*([^]*)$/.exec(rest) ?? [];
    const value = index === takes.length - 1 ? rest : first;
    rest = others;
    return [name, value];
  });
  const missing = takes.find(
    ({ name, required }) => required === true && !values.some(([key, value]) => key === name && value !== ""),
  );
  if (missing !== undefined) throw new Error(`/${promptName(prompt)} needs ${missing.name}`);
  return Object.fromEntries(values.filter(([, value]) => value !== ""));
}
