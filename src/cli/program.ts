import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { ToolFailure } from "../contract/failure.ts";
import { messageOf } from "../util/errors.ts";
import { EXIT } from "./exit.ts";
import { AUTONOMIES, type GlobalOptions, PRESET_NAMES } from "./options.ts";

/**
 * Runs the command line and sets the process's exit code: 0 when it succeeded, 1 when a call did not, 2 for wrong usage. Never
 * rejects; people are shown a sentence, never a stack.
 */
export async function main(argv: readonly string[]): Promise<void> {
  try {
    await program().parseAsync(argv, { from: "user" });
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    // Commander has printed its own.
    if (!(error instanceof CommanderError)) process.stderr.write(`handrail: ${sentenceOf(error)}\n`);
  }
}

function program(): Command {
  const root = new Command("handrail")
    .description("Tools for language models: checked, policed and recorded, on this machine's real files.")
    .version(__VERSION__, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "handrail: ")) })
    .addOption(new Option("--preset <name>", "the toolset").choices(PRESET_NAMES).default("coding"))
    .option("--work-dir <folder>", "where tools work (default: the current folder)")
    .addOption(new Option("--autonomy <level>", "what runs without asking").choices(AUTONOMIES).default("supervised"))
    .option("--yes", "approve what would be asked; never what is denied")
    .addHelpText("after", EXAMPLES);

  root
    .command("tools")
    .description("list the tools and their definitions")
    .addOption(
      new Option("--format <format>", "for whom")
        .choices(["table", "json", "openai", "anthropic", "mcp"])
        .default("table"),
    )
    .action(async (_, command: Command) => {
      const { tools } = await import("./commands/tools.ts");
      await tools(
        command.optsWithGlobals<GlobalOptions & { format: "table" | "json" | "openai" | "anthropic" | "mcp" }>(),
      );
    });

  root
    .command("call")
    .description("make one call and print its result")
    .argument("<name>", "the tool")
    .argument("[arguments]", "its arguments as JSON; - reads them from stdin")
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, input: string | undefined, _, command: Command) => {
      const { call } = await import("./commands/call.ts");
      await call(name, input, command.optsWithGlobals<GlobalOptions & { json?: true }>());
    });

  root
    .command("mcp")
    .description("serve the tools over MCP on stdin and stdout")
    .action(async (_, command: Command) => {
      const { mcp } = await import("./commands/mcp.ts");
      await mcp(command.optsWithGlobals<GlobalOptions>());
    });

  root
    .command("policy")
    .description("ask the policy")
    .command("check")
    .description("what the policy would say, as JSON: {verdict, risk, rule, reason}")
    .option("--command <script>", "of a shell command")
    .option("--path <path>", "of a path; with --op")
    .addOption(
      new Option("--op <operation>", "what is done with the path").choices(["read", "write", "cwd"]).default("read"),
    )
    .option("--url <url>", "of fetching a URL", url)
    .option("--batch", 'of each line of stdin: {"id","area":"shell"|"path"|"url","input","op"?}')
    .action(async (_, command: Command) => {
      const { policyCheck } = await import("./commands/policy-check.ts");
      await policyCheck(command.optsWithGlobals());
    });

  return root;
}

const EXAMPLES = `
Examples:
  handrail tools
  handrail call read '{"path":"README.md","limit":5}'
  handrail call bash '{"command":"npm test"}' --yes
  handrail policy check --path ~/.ssh/id_ed25519 --op read
  handrail mcp --work-dir ~/project`;

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
