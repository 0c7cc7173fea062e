import { Command, CommanderError, Help, InvalidArgumentError, Option } from "commander";
import { TARGETS, targetOfFlag } from "../backends/targets.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { TargetKind } from "../contract/target.ts";
import { messageOf } from "../util/errors.ts";
import { requireNode } from "../util/runtime.ts";
import type { PolicyCheckOptions } from "./commands/policy-check.ts";
import { EXIT } from "./exit.ts";
import type { RunOptions } from "./commands/run.ts";
import type { ServeOptions } from "./commands/serve.ts";
import type { UndoCommandOptions } from "./commands/undo.ts";
import { addCronCommands } from "./cron-commands.ts";
import type { DebugLog } from "./log.ts";
import {
  AUTONOMIES,
  type AgentOptions,
  type Given,
  type GlobalOptions,
  PRESET_NAMES,
  SANDBOX_MODES,
  TOOL_FORMATS,
} from "./options.ts";
import { namesOf, requirePerson } from "./people.ts";
import { addRecordCommands } from "./record-commands.ts";
import { addSourceCommands, port } from "./source-commands.ts";
import { wholeNumber } from "./whole-number.ts";

/**
 * Runs the command line and sets the process's exit code: 0 on success, 1 when a call did not succeed, 2 for wrong
 * usage. Never rejects. People are shown a sentence, never a stack.
 *
 * @param kinds kinds of targets in addition to the built-in ones
 */
export async function main(argv: readonly string[], kinds: readonly TargetKind[] = []): Promise<void> {
  const run: Run = { log: undefined };
  try {
    requireNode();
    const words = argv.length === 0 && process.stdin.isTTY && process.stdout.isTTY ? ["chat"] : argv;
    await program(run, kinds).parseAsync(words, { from: "user" });
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    run.log?.write("error", "program.failed", { message: sentenceOf(error) });
    // Commander has printed its error already.
    if (!(error instanceof CommanderError)) process.stderr.write(`handrail: ${sentenceOf(error)}\n`);
  }
  run.log?.write("info", "program.ended", { code: process.exitCode ?? EXIT.ok });
}

/** One run of the program. */
interface Run {
  log: DebugLog | undefined;
}

function program(run: Run, kinds: readonly TargetKind[]): Command {
  const given: Given = (command, own) => {
    const options = command.optsWithGlobals<GlobalOptions & { readonly [flag: string]: unknown }>();
    const flag = flags.find(({ option }) => options[option.attributeName()] !== undefined);
    return {
      ...own,
      ...options,
      ...(flag !== undefined && { target: targetOfFlag(flag.kind, String(options[flag.option.attributeName()])) }),
      ...(kinds.length > 0 && { targets: kinds }),
      ...(run.log !== undefined && { log: run.log }),
    };
  };
  const flags = targetFlags([...TARGETS, ...kinds]);
  const root = new Command("handrail")
    .description("Tools for language models: every call is checked, judged by a policy and recorded.")
    .version(__VERSION__, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, formatHelp: ownFirst })
    .configureOutput({ outputError: (text, write) => write(usageError(text)) })
    .option("--config <file>", "configuration file to use instead of the project's handrail.yaml")
    .option("--preset <name>", `the toolset: ${PRESET_NAMES.join(", ")} or one of yours (default: coding)`)
    .option(
      "--work-dir <folder>",
      "the folder that tools work in (default: the current folder; on a remote host the home folder, in a " +
        "container the image's)",
    );
  for (const { option } of flags) root.addOption(option);
  root
    .option("--tmux", "run commands in a tmux session that you can attach to, watch and take over")
    .option("--tmux-session <name>", "like --tmux, in the session with this name of your own tmux server")
    .addOption(
      new Option("--autonomy <level>", "what runs without a question (default: supervised)").choices(AUTONOMIES),
    )
    .addOption(
      new Option(
        "--sandbox <mode>",
        "run commands in a sandbox: where it works (auto, the default), always (on), never (off)",
      ).choices(SANDBOX_MODES),
    )
    .option("--yes", "approve every question; what the policy denies stays denied")
    .option("--log-file <file>", "append a debug log to this file, as JSON lines")
    .addHelpText("after", EXAMPLES)
    .hook("preAction", async (_, command) => {
      const { startLog } = await import("./settings.ts");
      run.log = await startLog(command.name(), given(command, {}));
    });

  root
    .command("tools")
    .description("list the tools and their definitions")
    .addOption(new Option("--format <format>", "the format").choices(TOOL_FORMATS).default("table"))
    .action(async (_, command: Command) => {
      const { tools } = await import("./commands/tools.ts");
      await tools(given(command, command.opts<{ format: (typeof TOOL_FORMATS)[number] }>()));
    });

  root
    .command("call")
    .description("make one call and print its result")
    .argument("<name>", "the tool")
    .argument("[arguments]", "its arguments as JSON; - reads them from stdin")
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, input: string | undefined, _, command: Command) => {
      const { call } = await import("./commands/call.ts");
      await call(name, input, given(command, command.opts<{ json?: true }>()));
    });

  withAgentOptions(root.command("chat"))
    .description("talk with an agent (the default command on a terminal)")
    .action(async (_, command: Command) => {
      const { chat } = await import("./commands/chat.ts");
      await chat(given(command, command.opts<Omit<AgentOptions, keyof GlobalOptions>>()));
    });

  withAgentOptions(root.command("run"))
    .description("give an agent one task and print its work")
    .argument("[prompt]", "the task (default: from stdin)")
    .option("--json", "print each event as a line of JSON")
    .action(async (prompt: string | undefined, _, command: Command) => {
      const { run: runAgent } = await import("./commands/run.ts");
      await runAgent(prompt, given(command, command.opts<Omit<RunOptions, keyof GlobalOptions>>()));
    });

  withAgentOptions(root.command("acp"))
    .description("be the agent of an editor: the Agent Client Protocol on stdin and stdout")
    .hook("preAction", requirePerson)
    .action(async (_, command: Command) => {
      const { acp } = await import("./commands/acp.ts");
      await acp(given(command, command.opts<Omit<AgentOptions, keyof GlobalOptions>>()));
    });

  root
    .command("serve")
    .description("serve the console, the HTTP API and MCP: watch, approve and stop the calls of all processes")
    .hook("preAction", requirePerson)
    .option("--host <address>", "the address to listen on (default: 127.0.0.1)")
    .option("--port <n>", "the port to listen on; 0 picks a free one (default: 4747)", port)
    .option("--cert <file>", "serve HTTPS with this certificate (PEM); browsers on other machines need it")
    .option("--key <file>", "the key of the certificate (PEM)")
    .option("--model <model>", "the model of the agent that answers prompts: PROVIDER:NAME")
    .option("--base-url <url>", "the URL of the model's API")
    .option("--agent <name>", "an agent of the configuration")
    .action(async (_, command: Command) => {
      const { serve } = await import("./commands/serve.ts");
      await serve(given(command, command.opts<Omit<ServeOptions, keyof GlobalOptions>>()));
    });

  const policy = root.command("policy").description("ask the policy; list and revoke grants");
  policy
    .command("check")
    .description("print the policy's decision: as text on a terminal, otherwise as JSON {verdict, risk, rule, reason}")
    .option("--command <script>", "judge a shell command")
    .option("--path <path>", "judge a path; see --op")
    .addOption(
      new Option("--op <operation>", "what would be done with the path")
        .choices(["read", "write", "cwd"])
        .default("read"),
    )
    .option("--url <url>", "judge fetching a URL", url)
    .option("--batch", 'judge each line of stdin: {"id","area":"shell"|"path"|"url","input","op"?}')
    .option("--explain", "print text, also where stdout is not a terminal")
    .option("--json", "print JSON, also on a terminal")
    .action(async (_, command: Command) => {
      const { policyCheck } = await import("./commands/policy-check.ts");
      await policyCheck(given(command, command.opts<Omit<PolicyCheckOptions, keyof GlobalOptions>>()));
    });

  const grants = policy
    .command("grants")
    .description('list the grants that people gave with "always"')
    .hook("preAction", requirePerson)
    .option("--json", "print them as JSON")
    .action(async (options: { json?: true }) => {
      await (await import("./commands/policy-grants.ts")).listGrants(options);
    });
  grants
    .command("revoke")
    .description("revoke one grant, or all")
    .argument("[id]")
    .addOption(new Option("--all", "all grants, in every workspace"))
    .action(async (id: string | undefined, options: { all?: true }) => {
      await (await import("./commands/policy-grants.ts")).revokeGrants(id, options);
    });

  root
    .command("undo")
    .description("restore what tools changed in the workspace: by default since the last turn or call began")
    .argument("[id]", "a point from --list")
    .addOption(new Option("--list", "list the points to which you can go back").conflicts("diff"))
    .option("--diff", "show how the content of files would change")
    .option("--force", "also restore what somebody else has changed since")
    .option("--git-state", "also restore refs, reflogs and the index of the git repository")
    .hook("preAction", requirePerson)
    .action(async (id: string | undefined, _, command: Command) => {
      const { undo } = await import("./commands/undo.ts");
      await undo(id, given(command, command.opts<Omit<UndoCommandOptions, keyof GlobalOptions>>()));
    });

  addRecordCommands(root, given);
  addCronCommands(root, given);
  addSourceCommands(root, given);

  root
    .command("doctor")
    .description("check what works on this machine, and print a fix for what does not")
    .option("--json", "print the findings as JSON")
    .action(async (_, command: Command) => {
      const { doctor } = await import("./commands/doctor.ts");
      await doctor(given(command, command.opts<{ json?: true }>()));
    });

  for (const group of [...root.commands, grants]) refuseUnknownActions(group);
  return root;
}

/** Formats help with a group's commands before the global options. */
function ownFirst(command: Command, helper: Help): string {
  const text = new Help().formatHelp(command, helper);
  return text.replace(/(\nGlobal Options:\n(?: .*\n)+)(\nCommands:\n(?: .*\n)+)/, "$2$1");
}

/** An unknown action of a group becomes an argument of its default action. This refuses it by its name. */
function refuseUnknownActions(group: Command): void {
  const lists = group.commands.filter((each) => each.name() === "list");
  for (const command of group.commands.length === 0 ? [] : [group, ...lists]) {
    command.allowExcessArguments().hook("preAction", (_, action) => {
      const [unknown] = action.args;
      if (action !== command || unknown === undefined) return;
      const actions = group.commands.map((each) =>
        [each.name(), ...each.registeredArguments.map((argument) => argument.name().toUpperCase())].join(" "),
      );
      const expected = actions.join(", ").replace(/, (?=[^,]*$)/, " or ");
      throw new Error(`${namesOf(group).slice(1).join(" ")}: expected ${expected}, got ${JSON.stringify(unknown)}`);
    });
  }
}

function withAgentOptions(command: Command): Command {
  return command
    .option("--model <model>", "PROVIDER:NAME, such as openai:gpt-5; demo needs no key")
    .option("--base-url <url>", "the URL of the model's API, such as http://127.0.0.1:11434/v1")
    .option("--agent <name>", "an agent of the configuration")
    .addOption(new Option("--continue", "continue the last thread of this folder").conflicts("resume"))
    .option("--resume [id]", "continue this thread; without an id, list the threads of this folder")
    .option("--show-prompt", "print the instructions that the model gets")
    .option("--max-rounds <n>", "how many replies the model may give in a turn (default: 100)", wholeNumber)
    .option("--max-time <seconds>", "how many seconds a turn may take (default: no limit)", wholeNumber)
    .option("--max-tokens <n>", "how many tokens a turn may use (default: no limit)", wholeNumber);
}

/** Returns the flag of each kind of target. Only one of them can be given. */
function targetFlags(kinds: readonly TargetKind[]): readonly { readonly kind: TargetKind; readonly option: Option }[] {
  const flags = kinds.flatMap((kind) => {
    const { commandLine: line } = kind;
    return line === undefined ? [] : [{ kind, option: new Option(line.flag, line.description) }];
  });
  for (const { option } of flags)
    option.conflicts(
      flags.map((other) => other.option.attributeName()).filter((name) => name !== option.attributeName()),
    );
  return flags;
}

const EXAMPLES = `
Examples:
  handrail tools
  handrail call read '{"path":"README.md","limit":5}'
  handrail call bash '{"command":"npm test"}' --yes
  handrail policy check --path ~/.ssh/id_ed25519 --op read
  handrail call bash '{"command":"uptime"}' --ssh deploy@host
  handrail run "Find the failing test and repair it" --model demo
  handrail chat --model anthropic:claude-sonnet-4-5
  handrail mcp --work-dir ~/project`;

const HELP = "`handrail --help` lists the commands, `handrail COMMAND --help` describes one.\n";

/** Rephrases Commander's message in our style. Adds the next step if the message has none. */
function usageError(text: string): string {
  const said = text
    .replace(/^error: (?:command-argument (?=value ))?/, "handrail: ")
    .replace(/ is invalid\. expected /, " is invalid. Expected ");
  const isBare = /^error: (?:unknown|missing|too many)/.test(text) && !text.includes("(Did you mean");
  return isBare ? `${said}${HELP}` : said;
}

function url(value: string): string {
  if (!URL.canParse(value)) throw new InvalidArgumentError("expected a URL such as https://example.org/");
  return value;
}

function exitCodeOf(error: unknown): number {
  if (!(error instanceof CommanderError)) return EXIT.usage;
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}

function sentenceOf(error: unknown): string {
  if (error instanceof ToolFailure && error.hint !== undefined) return `${error.message}. ${error.hint}`;
  return messageOf(error);
}
