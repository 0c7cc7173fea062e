import { type Command, InvalidArgumentError, Option } from "commander";
import type { McpOptions } from "./commands/mcp.ts";
import type { TestOptions } from "./commands/mcp-servers.ts";
import { type Given, LANGUAGES } from "./options.ts";
import { requirePerson } from "./people.ts";

/** Adds the commands on tools of other programs (MCP servers and plugins), and on serving tools over MCP. */
export function addSourceCommands(root: Command, given: Given): void {
  const mcpCommand = root
    .command("mcp")
    .description("serve the tools over MCP on stdin and stdout, or over HTTP")
    .option("--http <[host:]port>", "serve over streamable HTTP at /mcp (default host: 127.0.0.1)", address)
    .action(async (_, command: Command) => {
      const own = command.opts<Pick<McpOptions, "http">>();
      if (own.http !== undefined) await requirePerson(command, command);
      const { mcp } = await import("./commands/mcp.ts");
      await mcp(given(command, own));
    });
  mcpCommand
    .command("list")
    .description("list the configured MCP servers, without starting them")
    .action(async (_, command: Command) => {
      const { listServers } = await import("./commands/mcp-servers.ts");
      await listServers(given(command, {}));
    });
  mcpCommand
    .command("test")
    .description("start an MCP server and list its tools and prompts")
    .argument("<name>", "the server")
    .option("--call <tool>", "also call this tool")
    .option("--input <json>", "the arguments of the call (default: {})")
    .action(async (name: string, _, command: Command) => {
      const { testServer } = await import("./commands/mcp-servers.ts");
      await testServer(name, given(command, command.opts<Pick<TestOptions, "call" | "input">>()));
    });
  mcpCommand
    .command("login")
    .description("log in to an MCP server in a browser (OAuth)")
    .hook("preAction", requirePerson)
    .argument("<name>", "the server")
    .action(async (name: string, _, command: Command) => {
      const { loginToServer } = await import("./commands/mcp-servers.ts");
      await loginToServer(name, given(command, {}));
    });

  const plugins = root
    .command("plugin")
    .description("write, test and list plugins: external programs that bring tools");
  plugins
    .command("new")
    .description("write a working plugin and its test to a new folder")
    .argument("<name>", "its name, such as weather")
    .addOption(new Option("--lang <language>", "the language").choices(LANGUAGES).default("python"))
    .action(async (name: string, _, command: Command) => {
      await (
        await import("./commands/plugin.ts")
      ).newPlugin(name, command.opts<{ lang: (typeof LANGUAGES)[number] }>());
    });
  plugins
    .command("test")
    .description("test a plugin against the protocol; its own options follow --")
    .argument("<path>", "the program")
    .argument("[args...]", "its arguments")
    .option("--call <call>", "a call that must succeed, as 'TOOL {…}' (default: the examples in its schemas)", listed)
    .option("--env <name>", "the name of an environment variable to pass to it", listed)
    .action(async (path: string, args: readonly string[], _, command: Command) => {
      await (
        await import("./commands/plugin.ts")
      ).testPlugin(path, args, given(command, command.opts<{ call?: string[] }>()));
    });
  plugins
    .command("list", { isDefault: true })
    .description("list the plugins of the configuration")
    .option("--json", "print them as JSON")
    .action(async (_, command: Command) => {
      await (await import("./commands/plugin.ts")).listPlugins(given(command, command.opts<{ json?: true }>()));
    });

  root
    .command("trust")
    .description("trust the settings of a project that need it, its plugins and its MCP servers")
    .hook("preAction", requirePerson)
    .argument("[file]", "default: the nearest handrail.yaml and .mcp.json, from this folder upwards")
    .addOption(new Option("--list", "list the trusted files, and where models could write").conflicts("revoke"))
    .addOption(new Option("--forget", "no longer treat the named folder as written by a model").conflicts("revoke"))
    .option("--revoke", "revoke the trust")
    .action(async (file: string | undefined, _, command: Command) => {
      const { trust } = await import("./commands/trust.ts");
      await trust(file, given(command, command.opts<{ list?: true; revoke?: true; forget?: true }>()));
    });
}

function address(value: string): { readonly host?: string; readonly port: number } {
  const [, host, number = ""] = /^(?:\[?([^[\]]+)\]?:)?(\d+)$/.exec(value) ?? [];
  return { port: port(number), ...(host !== undefined && { host }) };
}

/** Parses a TCP port, or 0. */
export function port(value: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw new InvalidArgumentError("expected a port from 0 to 65535");
  return Number(value);
}

/** Collects an option that may be given more than once. */
function listed(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
