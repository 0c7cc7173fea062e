import { Argument, Command, CommanderError, Help, Option } from "commander";
import { TARGETS, targetOfFlag } from "../machine/targets.ts";
import { TENANTS_WERE_REMOVED } from "../core/util/removed.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import type { TargetKind } from "../core/contract/target.ts";
import { messageOf } from "../core/util/errors.ts";
import { requireNode } from "../core/util/runtime.ts";
import type { CommandRow, CommandTable, Flag } from "./command-row.ts";
import { COMMANDS, GLOBAL_FLAGS } from "./command-table.ts";
import { EXIT } from "./exit.ts";
import type { DebugLog } from "./log.ts";
import type { GlobalOptions } from "./options.ts";
import { requirePerson } from "./people.ts";
import type { Tracing } from "./tracing.ts";
import type { Io } from "./io.ts";
import { note, write } from "./say.ts";

/**
 * Runs the command line. Resolves to the exit code: 0 on success, 1 when a call did not succeed, 2 for wrong usage.
 * Never rejects. People are shown a sentence, never a stack.
 *
 * @param argv the words after the program's name
 * @param io the streams, environment and folder that it works with; runs with different ones do not affect each other
 * @param kinds kinds of targets in addition to the built-in ones
 */
export async function main(argv: readonly string[], io: Io, kinds: readonly TargetKind[] = []): Promise<number> {
  const run: Run = { log: undefined, tracing: undefined, code: EXIT.ok };
  try {
    requireNode();
    const words = argv.length === 0 && io.stdin.isTTY && io.stdout.isTTY ? ["chat"] : argv;
    await program({ io, words }, kinds, run).parseAsync(words, { from: "user" });
  } catch (error) {
    run.code = exitCodeOf(error);
    run.log?.write("error", "program.failed", { message: sentenceOf(error) });
    // Commander has printed its error already.
    if (!(error instanceof CommanderError)) note(io, `handrail: ${sentenceOf(error)}`);
  }
  const untraced = await run.tracing?.end();
  if (untraced !== undefined) note(io, `handrail: ${untraced}`);
  run.log?.write("info", "program.ended", { code: run.code });
  run.release?.();
  return run.code;
}

/** One run of the program. */
interface Run {
  log: DebugLog | undefined;
  tracing: Tracing | undefined;
  /** Ends what holds during the run. */
  release?: () => void;
  code: number;
}

/**
 * Returns the command line: its commands and flags, as the table has them. `run` collects what a run of it has to end.
 *
 * @param called the words and the process, which every command gets
 * @param kinds kinds of targets in addition to the built-in ones
 */
export function program(
  called: Pick<GlobalOptions, "io" | "words">,
  kinds: readonly TargetKind[] = [],
  run: Run = { log: undefined, tracing: undefined, code: EXIT.ok },
): Command {
  const targets = targetFlags([...TARGETS, ...kinds]);
  const given: Given = (command) => {
    const options = command.optsWithGlobals<GlobalOptions & { readonly [flag: string]: unknown }>();
    const flag = targets.find(({ option }) => options[option.attributeName()] !== undefined);
    return {
      ...options,
      ...called,
      ...(flag !== undefined && { target: targetOfFlag(flag.kind, String(options[flag.option.attributeName()])) }),
      ...(kinds.length > 0 && { targets: kinds }),
      ...(run.log !== undefined && { log: run.log }),
    };
  };
  const root = new Command("handrail")
    .description("Tools for language models: every call is checked, judged by a policy and recorded.")
    .version(__VERSION__, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, formatHelp: ownFirst })
    .configureOutput({
      outputError: (text, print) => print(usageError(text)),
      writeOut: (text) => void write(called.io, text),
      writeErr: (text) => note(called.io, text.replace(/\n$/, "")),
      getOutHelpWidth: () => called.io.stdout.columns ?? HELP_COLUMNS,
      getErrHelpWidth: () => called.io.stderr.columns ?? HELP_COLUMNS,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  const options = [
    ...GLOBAL_FLAGS.first.map(optionOf),
    ...targets.map(({ option }) => option),
    ...GLOBAL_FLAGS.last.map(optionOf),
  ];
  for (const option of options) root.addOption(option);
  root.addHelpText("after", EXAMPLES).hook("preAction", async (_, command) => {
    const { startWatching } = await import("./settings.ts");
    Object.assign(run, await startWatching(command.name(), given(command)));
  });
  addCommands(root, { table: COMMANDS, given, run });
  return root;
}

/** Returns the options of a command: its own and the global ones, with the target that a flag names, and the log. */
type Given = (command: Command) => GlobalOptions;

/** What every command is added with. */
interface Added {
  readonly table: CommandTable;
  readonly given: Given;
  /** Gets the exit code. */
  readonly run: Run;
}

/** Adds the commands of the table, and those of their groups. */
function addCommands(to: Command, { table, ...shared }: Added, parent?: CommandRow): void {
  const { given, run: result } = shared;
  for (const [name, row] of Object.entries(table)) {
    const { summary, args = [], flags = [], person, load = parent?.load, commands, isCommand } = row;
    const isDefault = name === "list" && parent !== undefined && !parent.isCommand;
    const command = to.command(name, { isDefault }).description(summary);
    for (const [spec, help, choices] of args) {
      const argument = new Argument(spec, help);
      command.addArgument(choices === undefined ? argument : argument.choices(choices));
    }
    for (const flag of flags) command.addOption(optionOf(flag));
    if (person) command.hook("preAction", (_, action) => requirePerson(namesOf(action).join(" ")));
    if (commands !== undefined) addCommands(command, { ...shared, table: commands }, row);
    if (commands !== undefined) refuseUnknownActions(command);
    if (load === undefined || (commands !== undefined && !isCommand)) continue;
    command.action(async (...values: readonly unknown[]) => {
      const { run } = await load();
      const perform = typeof run === "function" ? run : run[name];
      if (perform === undefined) throw new Error(`${namesOf(command).join(" ")}: its module has no function for it`);
      result.code = (await perform(...([...values.slice(0, args.length), given(command)] as never[]))) ?? EXIT.ok;
    });
  }
}

function optionOf([spec, help, more = {}]: Flag): Option {
  const option = new Option(spec, help);
  if (more.choices !== undefined) option.choices(more.choices);
  if (more.default !== undefined) option.default(more.default);
  if (more.parse !== undefined) option.argParser<unknown>(more.parse as (value: string, before: unknown) => unknown);
  if (more.conflicts !== undefined) option.conflicts(more.conflicts);
  return option;
}

/** Formats help with a group's commands before the global options. */
function ownFirst(command: Command, helper: Help): string {
  const text = new Help().formatHelp(command, helper);
  return text.replace(/(\nGlobal Options:\n(?: .*\n)+)(\nCommands:\n(?: .*\n)+)/, "$2$1");
}

/** An unknown action of a group becomes an argument of its default action. This refuses it by its name. */
function refuseUnknownActions(group: Command): void {
  const lists = group.commands.filter((each) => each.name() === "list");
  for (const command of [group, ...lists]) {
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

/** Returns the words that a command is called with: "handrail", its groups and its own name. */
function namesOf(command: Command): readonly string[] {
  return command.parent === null ? [command.name()] : [...namesOf(command.parent), command.name()];
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
  handrail run practice --model demo
  handrail chat --model anthropic:claude-sonnet-4-5
  handrail mcp --work-dir ~/project`;

/** The build renders the help for this terminal width. */
const HELP_COLUMNS = 80;

const HELP = "`handrail --help` lists the commands, `handrail COMMAND --help` describes one.\n";

/** Rephrases Commander's message in our style. Adds the next step if the message has none. */
function usageError(text: string): string {
  const message = text
    .replace(/^error: (?:command-argument (?=value ))?/, "handrail: ")
    .replace(/ is invalid\. expected /, " is invalid. Expected ");
  if (/unknown option '--tenant[='"]/.test(text)) return `${message.trimEnd()}. ${TENANTS_WERE_REMOVED}.\n`;
  const isBare = /^error: (?:unknown|missing|too many)/.test(text) && !text.includes("(Did you mean");
  return isBare ? `${message}${HELP}` : message;
}

function exitCodeOf(error: unknown): number {
  if (!(error instanceof CommanderError)) return EXIT.usage;
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}

function sentenceOf(error: unknown): string {
  if (error instanceof ToolFailure && error.hint !== undefined) return `${error.message}. ${error.hint}`;
  return messageOf(error);
}
