/**
 * The commands of `handrail`. Help, the hints about unknown commands and the words for completion follow from this
 * table; a command's code is loaded when it is run.
 */
import { InvalidArgumentError } from "commander";
import { KEY_PROVIDERS } from "../agent/models/load.ts";
import { SETTING_FLAGS } from "../app/config/settings.ts";
import type { Arg, CommandTable, Flag } from "./command-row.ts";
import { LANGUAGES, MCP_CLIENT_NAMES, TOOL_FORMATS } from "./options.ts";

const SERVERS = () => import("./commands/mcp-servers.ts");

const JSON_LINES: Flag = ["--json", "print each as a line of JSON"];
const AS_JSON: Flag = ["--json", "print them as JSON"];

const MODEL: readonly Flag[] = [
  ["--model <model>", "the model of agents: PROVIDER:NAME"],
  ["--base-url <url>", "the URL of the model's API"],
];

const AGENT: readonly Flag[] = [
  ["--model <model>", "PROVIDER:NAME, such as openai:gpt-5; demo needs no key"],
  ["--base-url <url>", "the URL of the model's API, such as http://127.0.0.1:11434/v1"],
  ["--agent <name>", "an agent of the configuration"],
  ["--continue", "continue the last thread of this folder", { conflicts: "resume" }],
  ["--resume [id]", "continue this thread; without an id, list the threads of this folder"],
  ["--show-prompt", "print the instructions that the model gets"],
  ["--max-rounds <n>", "how many replies the model may give in a turn (default: 100)", { parse: wholeNumber }],
  ["--max-time <seconds>", "how many seconds a turn may take (default: no limit)", { parse: wholeNumber }],
  ["--max-tokens <n>", "how many tokens a turn may use (default: no limit)", { parse: wholeNumber }],
  ["--max-cost <dollars>", "what a turn may cost (default: no limit); chat asks before it ends", { parse: amount }],
];

const PLAIN: Flag = ["--plain", "one line of words for each event, nothing is redrawn: for screen readers"];
const WORKTREE: Flag = ["--worktree [name]", "work in a git worktree beside the repository, on a branch of its own"];

/**
 * The flags of every command. Those of keys follow from the rows of the configuration, those of targets from `TARGETS`.
 */
export const GLOBAL_FLAGS: { readonly [part in "first" | "last"]: readonly Flag[] } = {
  first: [
    ["--config <file>", "configuration file to use instead of the project's handrail.yaml"],
    ...SETTING_FLAGS.map(({ name, value, help, choices }): Flag => {
      return [`--${name} <${value}>`, help, choices === undefined ? {} : { choices }];
    }),
  ],
  last: [
    ["--tmux", "run commands in a tmux session that you can attach to, watch and take over"],
    ["--tmux-session <name>", "like --tmux, in the session with this name of your own tmux server"],
    ["--yes", "approve every question; what the policy denies stays denied"],
  ],
};

const CLIENT_ARG: Arg = ["<client>", "the agent", ["claude-code", "codex", "gemini", "cursor", "opencode"]];
const IN_PROJECT: Flag = ["--project", "in the project's file, for everyone who works on it"];

/** In the order of the help. */
export const COMMANDS: CommandTable = {
  tools: {
    summary: "list the tools and their definitions",
    flags: [["--format <format>", "the format", { choices: TOOL_FORMATS, default: "table" }]],
    load: () => import("./commands/tools.ts"),
  },
  call: {
    summary: "make one call and print its result",
    args: [
      ["<name>", "the tool"],
      ["[arguments]", "its arguments as JSON; - reads them from stdin"],
    ],
    flags: [["--json", "print the whole result as JSON"]],
    load: () => import("./commands/call.ts"),
  },
  chat: {
    summary: "talk with an agent (the default command on a terminal)",
    flags: [...AGENT, WORKTREE, PLAIN],
    load: () => import("./commands/chat.ts"),
  },
  run: {
    summary: "give an agent one task and print its work",
    args: [["[prompt]", "the task (default: from stdin)"]],
    flags: [...AGENT, PLAIN, WORKTREE, ["--json", "print each event as a line of JSON"]],
    load: () => import("./commands/run.ts"),
  },
  login: {
    summary: "keep the key of a model provider in a private file: asked for without showing it, or read from stdin",
    person: true,
    args: [["[provider]", "whose key it is", KEY_PROVIDERS]],
    flags: [
      ["--list", "list which providers have a key, and where it is"],
      ["--json", "with --list: print it as JSON"],
      ["--base-url <url>", "the URL of the provider's API, to try the key there"],
    ],
    load: () => import("./commands/login.ts"),
  },
  logout: {
    summary: "remove a key that login kept",
    person: true,
    args: [["<provider>", "whose key it is", KEY_PROVIDERS]],
    load: () => import("./commands/login.ts"),
  },
  acp: {
    summary: "be the agent of an editor: the Agent Client Protocol on stdin and stdout",
    person: true,
    flags: AGENT,
    load: () => import("./commands/acp.ts"),
  },
  serve: {
    summary: "serve the console, the HTTP API and MCP: watch, approve and stop the calls of all processes",
    person: true,
    flags: [
      ["--host <address>", "the address to listen on (default: 127.0.0.1)"],
      ["--port <n>", "the port to listen on; 0 picks a free one (default: 4747)", { parse: port }],
      ["--cert <file>", "serve HTTPS with this certificate (PEM); browsers on other machines need it"],
      ["--key <file>", "the key of the certificate (PEM)"],
      ["--model <model>", "the model of the agent that answers prompts: PROVIDER:NAME"],
      ["--base-url <url>", "the URL of the model's API"],
      ["--agent <name>", "an agent of the configuration"],
    ],
    load: () => import("./commands/serve.ts"),
  },
  worker: {
    summary: "make the calls that callers with --worker NAME deliver, on this machine",
    person: true,
    flags: [
      ["--name <name>", "the name that callers use", { parse: workerName }],
      ["--concurrency <n>", "how many calls run at once (default: 4)", { parse: wholeNumber }],
      ["--max-waiting <n>", "how many calls may wait for this worker (default: 100)", { parse: wholeNumber }],
      ["--limit <tool=n...>", "how many calls of a tool run at once: --limit bash=1 (default: no limit)"],
    ],
    load: () => import("./commands/worker.ts"),
  },
  workers: {
    summary: "list the workers that run, with what they do",
    flags: [AS_JSON],
    load: () => import("./commands/workers.ts"),
  },
  policy: {
    summary: "ask the policy; list and revoke grants",
    commands: {
      check: {
        summary: "print the policy's decision: as text on a terminal, otherwise as JSON {verdict, risk, rule, reason}",
        flags: [
          ["--command <script>", "judge a shell command"],
          ["--path <path>", "judge a path; see --op"],
          [
            "--op <operation>",
            "what would be done with the path",
            { choices: ["read", "write", "cwd"], default: "read" },
          ],
          ["--url <url>", "judge fetching a URL", { parse: url }],
          [
            "--against <days>",
            "judge the calls of this folder again that were recorded in the last days: 30d",
            { parse: days },
          ],
          ["--batch", 'judge each line of stdin: {"id","area":"shell"|"path"|"url","input","op"?}'],
          ["--explain", "print text, also where stdout is not a terminal"],
          ["--json", "print JSON, also on a terminal"],
        ],
        load: () => import("./commands/policy-check.ts"),
      },
      grants: {
        summary: 'list and revoke the grants that people gave with "always"',
        person: true,
        load: () => import("./commands/policy-grants.ts"),
        commands: {
          list: { summary: "list the grants of all workspaces", flags: [AS_JSON] },
          revoke: {
            summary: "revoke one grant, or all",
            args: [["[id]"]],
            flags: [["--all", "all grants, in every workspace"]],
          },
        },
      },
    },
  },
  undo: {
    summary: "restore what tools changed in the workspace: by default since the last turn or call began",
    person: true,
    args: [["[id]", "a point from --list"]],
    flags: [
      ["--list", "list the points to which you can go back", { conflicts: "diff" }],
      ["--diff", "show how the content of files would change"],
      ["--force", "also restore what somebody else has changed since"],
      ["--git-state", "also restore refs, reflogs and the index of the git repository"],
    ],
    load: () => import("./commands/undo.ts"),
  },
  threads: {
    summary: "list threads and print their messages, of every process",
    load: () => import("./commands/threads.ts"),
    commands: {
      list: { summary: "list the threads", flags: [JSON_LINES] },
      show: { summary: "print the messages of a thread", args: [["<id>"]], flags: [JSON_LINES] },
      follow: {
        summary: "print the messages, and each one again when it changes, until Ctrl-C",
        args: [["<id>"]],
        flags: [JSON_LINES],
      },
      export: {
        summary: "print a thread as Markdown or JSON",
        args: [["<id>"]],
        flags: [["--format <format>", "the format", { choices: ["md", "json"], default: "md" }]],
      },
    },
  },
  approvals: {
    summary: "list and answer the open questions of all processes",
    load: () => import("./commands/approvals.ts"),
    person: true,
    commands: {
      list: { summary: "list the open questions", flags: [AS_JSON] },
      show: { summary: "show all of an open question", args: [["<id>"]], flags: [AS_JSON] },
      answer: {
        summary: "answer a question",
        args: [["<id>"], ["<answer>", "once, session and always approve it", ["once", "session", "always", "refuse"]]],
        flags: [
          ["--reason <text>", "why it is refused; the model reads it"],
          ["--input <json>", "with once: the fields of the form that is asked for"],
        ],
      },
      wait: {
        summary:
          "ask new questions on this terminal until Ctrl-C; meanwhile calls wait for an answer instead of being denied",
        flags: [["--json", "print each question as a line of JSON instead"]],
      },
    },
  },
  browsers: {
    summary: "list and end the sessions of browsers and phones that may open the console",
    load: () => import("./commands/browsers.ts"),
    person: true,
    commands: {
      list: { summary: "list the sessions", flags: [AS_JSON] },
      revoke: {
        summary: "end one session, or all: open pages stop at once",
        args: [["[id]"]],
        flags: [["--all", "all sessions"]],
      },
    },
  },
  jobs: {
    summary: "list, read, stop and remove background jobs: detached ones and those of other processes",
    load: () => import("./commands/jobs.ts"),
    commands: {
      list: { summary: "list the jobs" },
      output: {
        summary: "print the output of a job",
        args: [["<id>"]],
        flags: [["--follow", "also print new output, until the job ends"]],
      },
      kill: { summary: "stop a job and every process it started", args: [["<id>"]] },
      open: {
        summary: "open a port of a job in the sandbox to your browser, and print the address",
        args: [["<id>"], ["<port>"]],
      },
      remove: { summary: "remove a job that has ended, and its output", args: [["<id>"]] },
    },
  },
  memory: {
    summary: "list, search, remove, export and import memories",
    load: () => import("./commands/memory.ts"),
    commands: {
      list: { summary: "list the memories, the newest first" },
      search: { summary: "search the memories, as memory_recall does", args: [["<query>"]] },
      show: { summary: "print a memory", args: [["<key>"]] },
      forget: { summary: "remove a memory", args: [["<key>"]] },
      export: { summary: "print all memories as lines of JSON" },
      import: {
        summary: "store memories that export printed; a memory with the same key is replaced",
        args: [["<file>", "- reads stdin"]],
      },
    },
  },
  users: {
    summary: "people with tokens of their own for the API and the console",
    load: () => import("./commands/users.ts"),
    commands: {
      list: { summary: "list the users with their scopes", person: true },
      add: {
        summary: "add a user and print their token; a user who is there gets a new one",
        person: true,
        args: [["<name>", "the user's name, as the record has it"]],
        flags: [["--scopes <list>", "of watch, prompt, answer (or answer:low, answer:medium), administer (watch)"]],
      },
      remove: { summary: "remove a user", person: true, args: [["<name>", "the user's name"]] },
    },
  },
  verify: {
    summary: "check that nothing in the record was changed, removed or added afterwards",
    load: () => import("./commands/verify.ts"),
    flags: [
      ["--store <record>", "sqlite:PATH of a handrail.db, or postgres://… (default: store of the configuration)"],
      ["--head <head>", "a head that verify printed before: the record up to it must still be there"],
    ],
  },
  store: {
    summary: "create the tables of a store on PostgreSQL, and copy a record into it",
    load: () => import("./commands/store.ts"),
    commands: {
      migrate: {
        summary: "create or upgrade the tables; with --from, copy a record, its memories and schedules",
        flags: [
          ["--from <record>", "what to copy: sqlite:PATH of a handrail.db"],
          ["--to <url>", "postgres://… (default: store of the configuration)"],
        ],
      },
    },
  },
  cron: {
    summary: "list, add and run schedules: work that starts by itself",
    load: () => import("./commands/cron.ts"),
    person: true,
    commands: {
      list: { summary: "list the schedules of all folders", flags: [AS_JSON] },
      add: {
        summary: "add a schedule for this folder: a command, or with --prompt an agent",
        args: [["[command]", "the shell command"]],
        flags: [
          ["--name <name>", "what it is called (default: the command)"],
          ["--cron <expression>", 'when it runs: "30 2 * * *"'],
          ["--at <time>", 'once: "2027-01-31T09:00"'],
          ["--every <seconds>", "again and again", { parse: wholeNumber }],
          ["--on-file <path>", "when this file changes"],
          ["--on-request", "when a signed HTTP request arrives"],
          ["--tz <zone>", 'the time zone, such as "Europe/Berlin" (default: that of this machine)'],
          ["--prompt <text>", "a task for an agent, in place of a command"],
          ["--use <agent>", "with --prompt: an agent of the configuration"],
          ["--overlap <how>", "when the run before it has not ended", { choices: ["skip", "queue", "replace"] }],
          ["--max-seconds <n>", "how long a run may take (default: 120; an agent: 1800)", { parse: wholeNumber }],
          ["--keep", "keep a schedule that runs once after its run"],
        ],
      },
      remove: { summary: "remove a schedule; its runs stay in the log", args: [["<id>"]] },
      pause: { summary: "pause a schedule", args: [["<id>"]] },
      resume: { summary: "resume a schedule that is paused; missed runs are not made up", args: [["<id>"]] },
      secret: { summary: "print how requests that start a run are signed", args: [["<id>"]] },
      run: { summary: "run a schedule now", args: [["<id>"]], flags: MODEL },
      log: {
        summary: "print the runs, the newest first",
        args: [["[id]", "only those of a schedule"]],
        flags: [JSON_LINES],
      },
      runner: { summary: "run the schedules of this folder, until Ctrl-C", flags: MODEL },
    },
  },
  mcp: {
    summary: "serve the tools over MCP on stdin and stdout, or over HTTP",
    flags: [
      ["--http <[host:]port>", "serve over streamable HTTP at /mcp (default host: 127.0.0.1)", { parse: address }],
    ],
    load: () => import("./commands/mcp.ts"),
    isCommand: true,
    commands: {
      list: { summary: "list the configured MCP servers, without starting them", load: SERVERS },
      test: {
        summary: "start an MCP server and list its tools and prompts",
        args: [["<name>", "the server"]],
        flags: [
          ["--call <tool>", "also call this tool"],
          ["--input <json>", "the arguments of the call (default: {})"],
        ],
        load: SERVERS,
      },
      install: {
        summary: "write the entry that starts `handrail mcp` to the file of another program; shows it and asks first",
        person: true,
        args: [
          ["<client>", "the program", MCP_CLIENT_NAMES],
          ["[options...]", "after --: further options of `handrail mcp`"],
        ],
        flags: [
          ["--project", "write the file of the project in this folder instead of your own"],
          ["--print", "only print the entry"],
        ],
        load: () => import("./commands/mcp-install.ts"),
      },
      login: {
        summary: "log in to an MCP server in a browser (OAuth)",
        person: true,
        args: [["<name>", "the server"]],
        load: SERVERS,
      },
    },
  },
  new: {
    summary: "write a new project",
    load: () => import("./commands/new.ts"),
    commands: {
      tool: {
        summary: "copy the example of a tool in JavaScript, its tests and its MCP server to a new folder",
        args: [["<name>", "its name, such as line-count"]],
      },
    },
  },
  plugin: {
    summary: "write, test and list plugins: external programs that bring tools",
    load: () => import("./commands/plugin.ts"),
    commands: {
      new: {
        summary: "copy the example of a plugin that works to a new folder",
        args: [["<name>", "its name, such as weather"]],
        flags: [["--lang <language>", "the language", { choices: LANGUAGES, default: "python" }]],
      },
      test: {
        summary: "test a plugin against the protocol; its own options follow --",
        args: [
          ["<path>", "the program"],
          ["[args...]", "its arguments"],
        ],
        flags: [
          [
            "--call <call>",
            "a call that must succeed, as 'TOOL {…}' (default: the examples in its schemas)",
            { parse: listed },
          ],
          ["--env <name>", "the name of an environment variable to pass to it", { parse: listed }],
        ],
      },
      list: { summary: "list the plugins of the configuration", flags: [AS_JSON] },
    },
  },
  guard: {
    summary: "judge the tool calls of other agents: Claude Code, Codex, Gemini CLI, Cursor, opencode",
    load: () => import("./commands/guard.ts"),
    person: true,
    commands: {
      list: { summary: "list the agents, and which are guarded" },
      install: { summary: "show and write the agent's hook", args: [CLIENT_ARG], flags: [IN_PROJECT] },
      remove: { summary: "take the hook out again", args: [CLIENT_ARG], flags: [IN_PROJECT] },
      test: { summary: "send a harmless and a harmful call through the hook", args: [CLIENT_ARG], flags: [IN_PROJECT] },
    },
  },
  hook: {
    summary: "judge a tool call of another agent: its hook's event on stdin, the answer on stdout",
    args: [["<client>", "claude-code, codex, gemini, cursor or opencode"], ["[id]"]],
    load: () => import("./commands/hook.ts"),
  },
  trust: {
    summary: "trust the settings of a project that need it, its plugins and its MCP servers",
    person: true,
    args: [["[file]", "default: the nearest handrail.yaml and .mcp.json, from this folder upwards"]],
    flags: [
      ["--list", "list the trusted files, and where models could write", { conflicts: "revoke" }],
      ["--forget", "no longer treat the named folder as written by a model", { conflicts: "revoke" }],
      ["--revoke", "revoke the trust"],
    ],
    load: () => import("./commands/trust.ts"),
  },
  "held-back": {
    summary: "look at the files that the sandbox put aside, and put them back",
    person: true,
    args: [["[path...]", "default: all that were put aside in the working directory"]],
    flags: [
      ["--list", "only list them", { conflicts: "remove" }],
      ["--remove", "remove them instead"],
    ],
    load: () => import("./commands/held-back.ts"),
  },
  init: {
    summary: "write a handrail.yaml to this folder, with every key as a comment",
    person: true,
    flags: [["--user", "write your own file, config.yaml, instead"]],
    load: () => import("./commands/init.ts"),
  },
  doctor: {
    summary: "check what works on this machine, and print a fix for what does not",
    flags: [["--json", "print the findings as JSON"]],
    load: () => import("./commands/doctor.ts"),
  },
  completion: {
    summary: "print a script that completes commands and options in your shell",
    args: [["<shell>", "source <(handrail completion bash)", ["bash", "zsh"]]],
    load: async () => {
      const { completion } = await import("./commands/completion.ts");
      return { run: completion(COMMANDS, [...GLOBAL_FLAGS.first, ...GLOBAL_FLAGS.last]) };
    },
  },
};

function workerName(value: string): string {
  if (!/^[A-Za-z0-9][\w-]{0,39}$/.test(value))
    throw new InvalidArgumentError("expected 1 to 40 letters, digits, - or _");
  return value;
}

function wholeNumber(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError("expected a whole number above 0");
  return Number(value);
}

/** Parses an amount of money. */
function amount(value: string): number {
  if (!/^\d{1,6}(\.\d{1,4})?$/.test(value) || Number(value) === 0)
    throw new InvalidArgumentError("expected an amount such as 0.50");
  return Number(value);
}

/** Parses "30d" into milliseconds. */
function days(value: string): number {
  const [, number] = /^([1-9]\d{0,3})d$/.exec(value) ?? [];
  if (number === undefined) throw new InvalidArgumentError("expected days, such as 30d");
  return Number(number) * 86_400_000;
}

/** Parses a TCP port, or 0. */
function port(value: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw new InvalidArgumentError("expected a port from 0 to 65535");
  return Number(value);
}

function address(value: string): { readonly host?: string; readonly port: number } {
  const [, host, number = ""] = /^(?:\[?([^[\]]+)\]?:)?(\d+)$/.exec(value) ?? [];
  return { port: port(number), ...(host !== undefined && { host }) };
}

function url(value: string): string {
  if (!URL.canParse(value)) throw new InvalidArgumentError("expected a URL such as https://example.org/");
  return value;
}

/** Collects an option that may be given more than once. */
function listed(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
