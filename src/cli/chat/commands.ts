import type { Agent } from "../../agent/agent.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import { describeExit } from "../../output/describe-exit.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { listThreads, threadFor } from "../threads.ts";

/** The chat as its commands see it. */
export interface Chat {
  readonly toolkit: Toolkit;
  readonly agent: Agent;
  /** "anthropic:claude-sonnet-4-5". */
  readonly model: string;
  /** Continues a thread, or begins one where none is named. */
  open(thread?: string): Promise<void>;
  /** Takes another model from the next turn on. Fails like `loadModel`. */
  use(model: string): Promise<void>;
  /** Takes the words behind `/approve`. */
  approve(words: string): string;
  leave(): void;
}

interface ChatCommand {
  /** What follows its name. */
  readonly takes?: string;
  readonly does: string;
  /** Returns the text for the person. What it throws is shown as a sentence. */
  run(chat: Chat, words: string): Promise<string> | string;
}

/** What begins with a slash. Another one is another entry. */
const COMMANDS: { readonly [name: string]: ChatCommand } = {
  help: {
    does: "show this",
    run: () => [...Object.entries(COMMANDS).map(helpLine), HINTS].join("\n"),
  },
  tools: {
    does: "list the tools",
    run: ({ toolkit }) =>
      [...toolkit.tools.values()].map(({ name, title }) => `${name.padEnd(14)} ${title ?? ""}`.trimEnd()).join("\n"),
  },
  model: {
    takes: "[PROVIDER:NAME]",
    does: "show the model, or take another",
    async run(chat, words) {
      if (words !== "") await chat.use(words);
      return chat.model;
    },
  },
  approve: {
    takes: "[all|ask|none|10m]",
    does: "what becomes of what would be asked: approved, asked, refused, or approved for a time",
    run: (chat, words) => chat.approve(words),
  },
  jobs: {
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
      await chat.open(await threadFor(chat.toolkit, { resume: words }));
      return `Thread ${chat.agent.thread}, ${chat.agent.messages.length} messages`;
    },
  },
  exit: {
    does: "leave; so does Ctrl-D",
    run(chat) {
      chat.leave();
      return "";
    },
  },
};

const HINTS = `
Ctrl-C stops the turn; a second one leaves. What you type while the agent works is sent after the turn.
Where you are asked: y once, s for this session, a always in this folder; "n REASON" refuses and tells the model why.`;

/** The names, as a person types them. */
export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS).map((name) => `/${name}`);

/** Runs a line that begins with a slash, and returns the text for the person. Rejects with what the command throws. */
export async function runCommand(chat: Chat, line: string): Promise<string> {
  const [, name = "", words = ""] = /^\/(\S*)\s*([^]*)$/.exec(line) ?? [];
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) return `there is no command /${name}. Commands: ${COMMAND_NAMES.join(" ")}`;
  return command.run(chat, words.trim());
}

function helpLine([name, { takes = "", does }]: readonly [string, ChatCommand]): string {
  return `${`/${name} ${takes}`.padEnd(28)}${does}`;
}
