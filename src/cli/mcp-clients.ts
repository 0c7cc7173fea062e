import { existsSync } from "node:fs";
import { join } from "node:path";
import { homeOf } from "../app/config/state.ts";
import type { ClientFormat } from "./client-file.ts";
import type { MCP_CLIENT_NAMES } from "./options.ts";
import type { Io } from "./io.ts";

/** An MCP client: where it keeps its servers, and in which form. */
export interface McpClient {
  readonly title: string;
  /** Its documentation. */
  readonly documentation: string;
  /** The user's file, absolute: the first that exists, otherwise the first. */
  readonly user: (folders: Folders) => readonly [string, ...string[]];
  /** The same for a project, relative to its folder. Absent if the client has no such file. */
  readonly project?: readonly [string, ...string[]];
  readonly format: ClientFormat;
  /** The keys that lead to the map of servers. */
  readonly servers: readonly string[];
  /** What a new file contains besides the servers. */
  readonly besides?: { readonly [key: string]: string };
  /** The text that the client replaces with the open folder. Absent if the client starts a server in that folder. */
  readonly openFolder?: string;
  /** Returns the entry that starts a program with its arguments. */
  entry(program: string, args: readonly string[]): { readonly [key: string]: unknown };
  /** What a person does next. */
  readonly next: string;
}

/** Where files of a user are. */
export interface Folders {
  readonly home: string;
  /** `$XDG_CONFIG_HOME`, by default `~/.config`. */
  readonly config: string;
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
}

/** A person may take this long to answer a question, in seconds; see docs/mcp.md. */
const TIMEOUT_S = 900;

const plain: McpClient["entry"] = (command, args) => ({ command, args });

const OPENCODE = {
  documentation: "https://opencode.ai/v2/docs/mcp-servers/",
  user: ({ config }) => [`${config}/opencode/opencode.json`, `${config}/opencode/opencode.jsonc`],
  project: ["opencode.json", "opencode.jsonc"],
  format: "json",
  besides: { $schema: "https://opencode.ai/config.json" },
  next: "Start opencode again; `opencode mcp list` shows the server.",
} as const satisfies Partial<McpClient>;

/** The clients, by the name on the command line. Read in November 2026. */
export const MCP_CLIENTS: { readonly [name in (typeof MCP_CLIENT_NAMES)[number]]: McpClient } = {
  "claude-code": {
    title: "Claude Code",
    documentation: "https://code.claude.com/docs/en/mcp",
    user: ({ home, env }) => [join(env["CLAUDE_CONFIG_DIR"] ?? home, ".claude.json")],
    project: [".mcp.json"],
    format: "json",
    servers: ["mcpServers"],
    entry: (command, args) => ({ type: "stdio", command, args }),
    next: "Start Claude Code again; /mcp shows the server.",
  },
  cursor: {
    title: "Cursor",
    documentation: "https://cursor.com/docs/mcp",
    user: ({ home }) => [`${home}/.cursor/mcp.json`],
    project: [".cursor/mcp.json"],
    format: "json",
    servers: ["mcpServers"],
    openFolder: "${workspaceFolder}",
    entry: plain,
    next: "Open Cursor's settings, Tools & MCP, and switch the server on.",
  },
  vscode: {
    title: "VS Code",
    documentation: "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
    user: ({ home, config, platform }) => [
      `${platform === "darwin" ? `${home}/Library/Application Support` : config}/Code/User/mcp.json`,
    ],
    project: [".vscode/mcp.json"],
    format: "json",
    servers: ["servers"],
    openFolder: "${workspaceFolder}",
    entry: (command, args) => ({ type: "stdio", command, args }),
    next: "Run `MCP: List Servers` in VS Code, and start the server.",
  },
  zed: {
    title: "Zed",
    documentation: "https://zed.dev/docs/ai/mcp",
    user: ({ config, home, platform }) => [`${platform === "darwin" ? `${home}/.config` : config}/zed/settings.json`],
    project: [".zed/settings.json"],
    format: "json",
    servers: ["context_servers"],
    entry: (command, args) => ({ command, args, env: {} }),
    next: "Zed starts the server by itself; the settings of its agent panel show it.",
  },
  goose: {
    title: "Goose",
    documentation: "https://goose-docs.ai/docs/guides/config-files",
    user: ({ home, platform, config }) => [`${platform === "darwin" ? `${home}/.config` : config}/goose/config.yaml`],
    format: "yaml",
    servers: ["extensions"],
    entry: (cmd, args) => ({
      ...{ name: "handrail", type: "stdio", enabled: true, cmd, args, envs: {}, timeout: TIMEOUT_S },
    }),
    next: "Start a new session of Goose.",
  },
  opencode: {
    title: "opencode 2",
    ...OPENCODE,
    servers: ["mcp", "servers"],
    entry: (program, args) => ({ type: "local", command: [program, ...args] }),
  },
  "opencode-1": {
    title: "opencode 1",
    ...OPENCODE,
    documentation: "https://opencode.ai/docs/mcp-servers/",
    servers: ["mcp"],
    entry: (program, args) => ({ type: "local", command: [program, ...args], enabled: true }),
  },
};

/** Returns the folders of this user. */
function foldersOfUser({ env }: Io): Folders {
  const home = homeOf(env);
  const { XDG_CONFIG_HOME: config = "" } = env;
  return { home, config: config.startsWith("/") ? config : `${home}/.config`, env, platform: process.platform };
}

/**
 * Returns the file in which a client keeps servers.
 *
 * @param project the folder of the project; `undefined` for the file of the user
 * @throws Error when the client has no file for a project.
 */
export function fileOfClient(io: Io, { title, user, project: files }: McpClient, project: string | undefined): string {
  if (project !== undefined && files === undefined)
    throw new Error(`${title} has no file for a project; omit --project`);
  const places = project === undefined ? user(foldersOfUser(io)) : (files ?? []).map((file) => join(project, file));
  return places.find((place) => existsSync(place)) ?? places[0] ?? "";
}
