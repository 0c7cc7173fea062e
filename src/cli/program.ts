import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { TARGETS, targetOfFlag } from "../backends/targets.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { TargetKind } from "../contract/target.ts";
import { messageOf } from "../util/errors.ts";
import type { AgentOptions } from "./agent-parts.ts";
import type { PolicyCheckOptions } from "./commands/policy-check.ts";
import { EXIT } from "./exit.ts";
import type { RunOptions } from "./commands/run.ts";
import type { ServeOptions } from "./commands/serve.ts";
import type { DebugLog } from "./log.ts";
import { addMemoryCommands } from "./memory-commands.ts";
import { AUTONOMIES, type GlobalOptions, PRESET_NAMES, SANDBOX_MODES, TOOL_FORMATS } from "./options.ts";
import { requirePerson } from "./people.ts";

/**
 * Runs the command line and sets the process's exit code: 0 when it succeeded, 1 when a call did not, 2 for wrong usage. Never
 * rejects; people are shown a sentence, never a stack. `kinds` are kinds of targets beside those that Handrail comes with.
 */
export async function main(argv: readonly string[], kinds: readonly TargetKind[] = []): Promise<void> {
  const run: Run = { log: undefined };
  try {
    const words = argv.length === 0 && process.stdin.isTTY && process.stdout.isTTY ? ["chat"] : argv;
    await program(run, kinds).parseAsync(words, { from: "user" });
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    run.log?.write("error", "program.failed", { message: sentenceOf(error) });
    // Commander has printed its own.
    if (!(error instanceof CommanderError)) process.stderr.write(`handrail: ${sentenceOf(error)}\n`);
  }
  run.log?.write("info", "program.ended", { code: process.exitCode ?? EXIT.ok });
}

/** One run of the program. */
interface Run {
  log: DebugLog | undefined;
}

function program(run: Run, kinds: readonly TargetKind[]): Command {
  /** The options of a command, its own and the global ones, with the target that a flag names, and the log. */
  const given = <Own extends object>(command: Command, own: Own): GlobalOptions & Own => {
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
    .description("Tools for language models: checked, policed and recorded, on this machine's real files.")
    .version(__VERSION__, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: (text, write) => write(usageError(text)) })
    .option("--config <file>", "configuration to use in place of the project's handrail.yaml")
    .option("--preset <name>", `the toolset: ${PRESET_NAMES.join(", ")} or one of yours (default: coding)`)
    .option(
      "--work-dir <folder>",
      "where tools work (default: the current folder; elsewhere the home, or the image's own)",
    );
  for (const { option } of flags) root.addOption(option);
  root
    .option("--tmux", "run commands in a tmux session that you can attach to, watch and take over")
    .option("--tmux-session <name>", "the same, in a session of this name (default: handrail)")
    .addOption(new Option("--autonomy <level>", "what runs without asking (default: supervised)").choices(AUTONOMIES))
    .addOption(
      new Option("--sandbox <mode>", "contain commands: where that works (default: auto), always, or not").choices(
        SANDBOX_MODES,
      ),
    )
    .option("--yes", "approve what would be asked; never what is denied")
    .option("--log-file <file>", "append what happens to a file, as JSON lines, for finding faults")
    .addHelpText("after", EXAMPLES)
    .hook("preAction", async (_, command) => {
      const { startLog } = await import("./settings.ts");
      run.log = await startLog(command.name(), given(command, {}));
    });

  root
    .command("tools")
    .description("list the tools and their definitions")
    .addOption(new Option("--format <format>", "for whom").choices(TOOL_FORMATS).default("table"))
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
    .description("talk with an agent (the default at a terminal)")
    .action(async (_, command: Command) => {
      const { chat } = await import("./commands/chat.ts");
      await chat(given(command, command.opts<Omit<AgentOptions, keyof GlobalOptions>>()));
    });

  withAgentOptions(root.command("run"))
    .description("give an agent a task, and show its work")
    .argument("[prompt]", "the task (default: from stdin)")
    .option("--json", "print each event as a line of JSON")
    .action(async (prompt: string | undefined, _, command: Command) => {
      const { run: runAgent } = await import("./commands/run.ts");
      await runAgent(prompt, given(command, command.opts<Omit<RunOptions, keyof GlobalOptions>>()));
    });

  root
    .command("mcp")
    .description("serve the tools over MCP on stdin and stdout")
    .action(async (_, command: Command) => {
      const { mcp } = await import("./commands/mcp.ts");
      await mcp(given(command, {}));
    });

  root
    .command("serve")
    .description("serve the HTTP API: watch, approve and stop what all processes do")
    .hook("preAction", requirePerson)
    .option("--host <address>", "listen there (default: 127.0.0.1)")
    .option("--port <n>", "listen on this port; 0: one that is free (default: 4747)", port)
    .option("--model <model>", "of the agent that answers prompts: PROVIDER:NAME")
    .option("--base-url <url>", "where the model's API is")
    .option("--agent <name>", "an agent of the configuration")
    .action(async (_, command: Command) => {
      const { serve } = await import("./commands/serve.ts");
      await serve(given(command, command.opts<Omit<ServeOptions, keyof GlobalOptions>>()));
    });

  const policy = root.command("policy").description("ask the policy, and look after what you have allowed for good");
  policy
    .command("check")
    .description("what the policy would say: in words on a terminal, else as JSON {verdict, risk, rule, reason}")
    .option("--command <script>", "of a shell command")
    .option("--path <path>", "of a path; with --op")
    .addOption(
      new Option("--op <operation>", "what is done with the path").choices(["read", "write", "cwd"]).default("read"),
    )
    .option("--url <url>", "of fetching a URL", url)
    .option("--batch", 'of each line of stdin: {"id","area":"shell"|"path"|"url","input","op"?}')
    .option("--explain", "in words, also where the output is no terminal")
    .option("--json", "as JSON, on a terminal too")
    .action(async (_, command: Command) => {
      const { policyCheck } = await import("./commands/policy-check.ts");
      await policyCheck(given(command, command.opts<Omit<PolicyCheckOptions, keyof GlobalOptions>>()));
    });

  const grants = policy
    .command("grants")
    .description('list what was answered with "always"')
    .hook("preAction", requirePerson)
    .option("--json", "print them as JSON")
    .action(async (options: { json?: true }) => {
      await (await import("./commands/policy-grants.ts")).listGrants(options);
    });
  grants
    .command("revoke")
    .description("take one back, or all")
    .argument("[id]")
    .addOption(new Option("--all", "all of them, in every workspace"))
    .action(async (id: string | undefined, options: { all?: true }) => {
      await (await import("./commands/policy-grants.ts")).revokeGrants(id, options);
    });

  const threads = root.command("threads").description("look at what was said and called, in every process");
  threads
    .command("list", { isDefault: true })
    .description("list the threads")
    .option("--json", "print each as a line of JSON")
    .action(async (_, command: Command) => {
      await (await import("./commands/threads.ts")).listThreads(given(command, command.opts<{ json?: true }>()));
    });
  threads
    .command("show")
    .description("print the messages of a thread")
    .argument("<id>")
    .option("--json", "print each as a line of JSON")
    .action(async (id: string, _, command: Command) => {
      await (await import("./commands/threads.ts")).showThread(id, given(command, command.opts<{ json?: true }>()));
    });
  threads
    .command("follow")
    .description("print them, and each again when it changes, until it is stopped")
    .argument("<id>")
    .option("--json", "print each as a line of JSON")
    .action(async (id: string, _, command: Command) => {
      const { showThread } = await import("./commands/threads.ts");
      await showThread(id, given(command, { follow: true, ...command.opts<{ json?: true }>() }));
    });

  const approvals = root
    .command("approvals")
    .description("answer the questions of all processes")
    .hook("preAction", requirePerson);
  approvals
    .command("list", { isDefault: true })
    .description("list those that are open")
    .option("--json", "print them as JSON")
    .action(async (_, command: Command) => {
      await (await import("./commands/approvals.ts")).listApprovals(given(command, command.opts<{ json?: true }>()));
    });
  approvals
    .command("answer")
    .description("answer one of them")
    .argument("<id>")
    .addArgument(new Argument("<answer>", "for how long to allow it, or not").choices(ANSWERS))
    .option("--reason <text>", "told to the model, with refuse")
    .action(async (id: string, answer: (typeof ANSWERS)[number], _, command: Command) => {
      const { answerApproval } = await import("./commands/approvals.ts");
      await answerApproval(id, answer, given(command, command.opts<{ reason?: string }>()));
    });
  approvals
    .command("wait")
    .description(
      "wait for questions, and ask them on this terminal; calls that nobody else could be asked about wait meanwhile",
    )
    .option("--json", "print each as a line of JSON instead")
    .action(async (_, command: Command) => {
      await (await import("./commands/approvals.ts")).waitForApprovals(given(command, command.opts<{ json?: true }>()));
    });

  const jobs = root
    .command("jobs")
    .description("look after jobs: the detached ones, which outlive their session, and those of other processes");
  jobs
    .command("list", { isDefault: true })
    .description("list them")
    .allowExcessArguments() // an unknown action comes here
    .action(async (_, command: Command) => {
      const [unknown] = command.args;
      if (unknown !== undefined)
        throw new Error(`jobs: expected list, output ID, kill ID or remove ID, got ${JSON.stringify(unknown)}`);
      const commands = await import("./commands/jobs.ts");
      await commands.jobs("list", undefined, given(command, {}));
    });
  jobs
    .command("output")
    .description("print what a job has written")
    .argument("<id>")
    .option("--follow", "and what it writes from now on, until it ends")
    .action(async (id: string, _, command: Command) =>
      (await import("./commands/jobs.ts")).jobs("output", id, given(command, command.opts<{ follow?: true }>())),
    );
  jobs
    .command("kill")
    .description("stop a job and all it started")
    .argument("<id>")
    .action(async (id: string, _, command: Command) =>
      (await import("./commands/jobs.ts")).jobs("kill", id, given(command, {})),
    );
  jobs
    .command("remove")
    .description("forget a job that has ended, with its output")
    .argument("<id>")
    .action(async (id: string, _, command: Command) =>
      (await import("./commands/jobs.ts")).jobs("remove", id, given(command, {})),
    );

  addMemoryCommands(root, (command) => given(command, {}));

  root
    .command("trust")
    .description("let a project's handrail.yaml have what it asks for")
    .hook("preAction", requirePerson)
    .argument("[file]", "default: the handrail.yaml of this folder or one above")
    .addOption(new Option("--list", "list what is trusted").conflicts("revoke"))
    .option("--revoke", "trust it no longer")
    .action(async (file: string | undefined, _, command: Command) => {
      const { trust } = await import("./commands/trust.ts");
      await trust(file, given(command, command.opts<{ list?: true; revoke?: true }>()));
    });

  root
    .command("doctor")
    .description("check what works on this machine, each with its fix")
    .option("--json", "print the findings as JSON")
    .action(async (_, command: Command) => {
      const { doctor } = await import("./commands/doctor.ts");
      await doctor(given(command, command.opts<{ json?: true }>()));
    });

  return root;
}

function withAgentOptions(command: Command): Command {
  return command
    .option("--model <model>", "PROVIDER:NAME, as openai:gpt-5; demo needs no key")
    .option("--base-url <url>", "where the model's API is, as http://127.0.0.1:11434/v1")
    .option("--agent <name>", "an agent of the configuration")
    .addOption(new Option("--continue", "continue the last thread of this folder").conflicts("resume"))
    .option("--resume [id]", "continue this thread; without an id, list those of this folder")
    .option("--show-prompt", "print the instructions that the model gets")
    .option("--max-rounds <n>", "replies of the model in a turn (default: 100)", wholeNumber)
    .option("--max-time <seconds>", "seconds that a turn may take (default: no limit)", wholeNumber)
    .option("--max-tokens <n>", "tokens that a turn may use (default: no limit)", wholeNumber);
}

/** The flag of each kind of target. Only one of them can be given. */
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

const ANSWERS = ["once", "session", "always", "refuse"] as const;

const HELP = "`handrail --help` lists the commands, `handrail COMMAND --help` says what one of them takes.\n";

/** Commander's text as ours. Where it says only what is wrong, what to do next is added. */
function usageError(text: string): string {
  const said = text.replace(/^error: /, "handrail: ");
  const isBare = /^error: (?:unknown|missing|too many)/.test(text) && !text.includes("(Did you mean");
  return isBare ? `${said}${HELP}` : said;
}

function url(value: string): string {
  if (!URL.canParse(value)) throw new InvalidArgumentError("expected a URL such as https://example.org/");
  return value;
}

function wholeNumber(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError("expected a whole number above 0");
  return Number(value);
}

function port(value: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw new InvalidArgumentError("expected a port from 0 to 65535");
  return Number(value);
}

function exitCodeOf(error: unknown): number {
  if (!(error instanceof CommanderError)) return EXIT.usage;
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}

function sentenceOf(error: unknown): string {
  if (error instanceof ToolFailure && error.hint !== undefined) return `${error.message}. ${error.hint}`;
  return messageOf(error);
}
