import type { Agent } from "../../agent/agent.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import type { McpPrompt, McpSource } from "../../mcp/client/source.ts";
import { openPort } from "../../activity/open-port.ts";
import { describeExit } from "../../output/describe-exit.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { FILLED } from "../../agent/turn.ts";
import { listThreads } from "../threads.ts";
import { type StatusState, shortNumber, statusLine } from "./status.ts";

/** The chat as its commands see it. */
export interface Chat {
  readonly toolkit: Toolkit;
  readonly agent: Agent;
  /** "anthropic:claude-sonnet-4-5". */
  readonly model: string;
  /** What the status line shows. Reads the whole conversation: call it when something has happened. */
  status(): StatusState;
  /** MCP servers. Their prompts are commands: `/github:review`. */
  readonly servers: readonly Pick<McpSource, "server" | "prompts">[];
  /** Sends the agent a message, as if the person had typed it. Resolves when its turn has ended. */
  send(text: string): Promise<void>;
  /** Starts a new thread. */
  open(): Promise<void>;
  /** Continues a thread. Returns what was said in it. Rejects when there is none with this id. */
  resume(thread: string): Promise<string>;
  /** Changes the model from the next turn on. Rejects like `loadModel`. */
  use(model: string): Promise<void>;
  /** Applies the arguments of `/approve`. */
  approve(words: string): string;
  /** Leaves the chat, unless the person stays because of running jobs. */
  leave(): Promise<void>;
}

interface ChatCommand {
  /** Its arguments, as the help shows them. */
  readonly takes?: string;
  readonly does: string;
  /** True if it can be run while a question is open: it neither needs nor changes the turn. */
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
      `${columns([...Object.entries(COMMANDS).map(usageOf), ...promptsOf(chat).map(promptUsage)])}\n${HINTS}`,
  },
  tools: {
    atQuestion: true,
    does: "list the tools",
    run: ({ agent }) =>
      [...agent.tools.values()].map(({ name, title }) => `${name.padEnd(14)}  ${title ?? ""}`.trimEnd()).join("\n"),
  },
  model: {
    takes: "[PROVIDER:NAME]",
    does: "show the model, or switch to another",
    async run(chat, words) {
      if (words !== "") await chat.use(words);
      return chat.model;
    },
  },
  approve: {
    takes: "[all|ask|none|10m]",
    atQuestion: true,
    does: "how questions are answered: approve all, ask you, refuse all, or approve for a time",
    run: (chat, words) => chat.approve(words),
  },
  jobs: {
    atQuestion: true,
    does: "list the jobs in the background",
    async run({ toolkit }) {
      const jobs = await toolkit.jobs.list();
      if (jobs.length === 0) return "(no jobs)";
      return jobs
        .map(
          ({ id, command, ended }) => `${id}  ${ended ? describeExit(ended.exit) : "running"}  ${oneLine(command, 80)}`,
        )
        .join("\n");
    },
  },
  open: {
    takes: "[PORT]",
    does: "open a port of a job in the sandbox to your browser, or list these ports",
    run: ({ toolkit }, words) => opened(toolkit, words),
  },
  undo: {
    takes: "[list|ID] [yes] [force]",
    does: "show what an undo would restore; with yes, restore it",
    async run({ toolkit, agent }, words) {
      const { undoInChat } = await import("./undo.ts");
      return undoInChat(toolkit, agent.thread, words);
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
      await chat.open();
      return `Thread ${chat.agent.thread}`;
    },
  },
  resume: {
    takes: "[ID]",
    does: "continue a thread, or list those of this folder",
    async run(chat, words) {
      if (words === "") return (await listThreads(chat.toolkit)).join("\n");
      return chat.resume(words);
    },
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

async function leave(chat: Chat): Promise<string> {
  await chat.leave();
  return "";
}

const HINTS = `
Ctrl-C stops the turn; a second one exits. What you type while the agent works is sent after the turn.
Where you are asked: y once, s for this session, a always in this folder; "n REASON" refuses and tells the model why.`;

/** The names of the commands, with the slash. */
export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS).map((name) => `/${name}`);

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

/** Opens a port, or lists those of all jobs. */
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
function columns(all: readonly Usage[]): string {
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
