import { resolve } from "node:path";
import { isServerName } from "../mcp/client/names.ts";
import { quoteWords } from "../util/quote.ts";
import { type Reading, type Shape, shape } from "./shape.ts";
import { choice, fields, integer, list, positive, record, text, yesOrNo } from "./shapes.ts";

/** A configured MCP server: a program, or a URL. */
export interface McpChoice {
  /** The program. A path that begins with `./` or `../` in the file is absolute here. */
  readonly command?: string;
  readonly args?: readonly string[];
  /** The names of environment variables that are passed to the program. */
  readonly env?: readonly string[];
  /** Variables to set for the program. */
  readonly setEnv?: { readonly [name: string]: string };
  /** True if the program runs in the sandbox. Default: false for the user's servers, true for those of a project. */
  readonly sandbox?: boolean;
  /** "workspace": it starts there, and runs in the sandbox by default. */
  readonly cwd?: "workspace";
  /** The hosts that it may reach from the sandbox. */
  readonly hosts?: readonly string[];
  readonly url?: string;
  readonly headers?: { readonly [name: string]: string };
  /** The environment variable with a bearer token for the URL. */
  readonly tokenVariable?: string;
  /** OAuth settings for a login at the URL. */
  readonly oauth?: McpOAuth;
  /** True if a project configures it. Default: it is the user's own. */
  readonly isOfProject?: true;
  /** True if the project is not trusted, so that the server must not be started. */
  readonly isHeld?: true;
  /** Patterns for the names of its tools that are used. Default: all. */
  readonly tools?: readonly string[];
  /** How long a call may take without progress, and how long the start may take, in seconds. */
  readonly timeout?: number;
  readonly startTimeout?: number;
}

export interface McpOAuth {
  readonly clientId?: string;
  readonly clientSecretVariable?: string;
  readonly scope?: string;
  readonly callbackPort?: number;
}

export type McpChoices = { readonly [name: string]: McpChoice };

const variable = text("the name of an environment variable", (name) =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : "A name is letters, digits and _.",
);
const webUrl = text("the URL of an MCP server", (written) =>
  URL.canParse(written) && /^https?:/i.test(written) ? undefined : "It begins with https:// or http://.",
);
const words = list(text("text"));
const texts = record("a map of names, each with a string", () => text("text"));
export const EXPECTED_NAME = 'expected a name of at most 32 letters, digits, "-" and single "_"';

const ofProgram = {
  command: text("a program"),
  args: words,
  env: list(variable),
  sandbox: yesOrNo,
  cwd: choice(["workspace"]),
  hosts: words,
};
const ofUrl = {
  url: webUrl,
  headers: texts,
  token_variable: variable,
  auth: choice(["oauth"]),
  oauth: fields({
    client_id: text("the id of a client"),
    client_secret_variable: variable,
    scope: text("scopes"),
    callback_port: integer(1, 65_535),
  }),
};
const ofAny = { tools: words, timeout: positive(3_600, "seconds"), start_timeout: positive(600, "seconds") };
const anyServer = fields({ ...ofProgram, ...ofUrl, ...ofAny });

const serverShape: Shape<McpChoice> = shape("a map with command or url", (node, { key, reading, wrong }) => {
  const read = anyServer.read(node, key, reading);
  if (read === undefined) return undefined;
  const given = node.kind === "map" ? node.entries.map((entry) => entry.key) : [];
  if (given.includes("command") === given.includes("url"))
    return wrong(given.includes("url") ? "It has both; give it one of them." : "It has neither; give it one of them.");
  const foreign = given.find((each) => Object.hasOwn(given.includes("url") ? ofProgram : ofUrl, each));
  if (foreign !== undefined) return wrong(`${foreign} does not go with ${given.includes("url") ? "url" : "command"}.`);
  const { token_variable: tokenVariable, start_timeout: startTimeout, auth, oauth, command, ...rest } = read;
  const { client_id: clientId, client_secret_variable: secret, scope, callback_port: callbackPort } = oauth ?? {};
  return {
    ...rest,
    ...(command !== undefined && { command: programIn(command, reading) }),
    ...(tokenVariable !== undefined && { tokenVariable }),
    ...(startTimeout !== undefined && { startTimeout }),
    ...((auth !== undefined || oauth !== undefined) && {
      oauth: {
        ...(clientId !== undefined && { clientId }),
        ...(secret !== undefined && { clientSecretVariable: secret }),
        ...(scope !== undefined && { scope }),
        ...(callbackPort !== undefined && { callbackPort }),
      },
    }),
  };
});

/** The parts of a server that are read from `.mcp.json`. */
export const JSON_SERVER = { command: ofProgram.command, args: words, env: texts, url: webUrl, headers: texts };

/** Returns the program that a file in a folder configures. */
export function programIn(command: string, { folder }: Pick<Reading, "folder">): string {
  return /^\.{1,2}\//.test(command) ? resolve(folder, command) : command;
}

/** The shape of `tools.mcp`. */
export const mcpServers = record("a map of names, each with an MCP server", (name) =>
  isServerName(name) ? serverShape : EXPECTED_NAME,
);

/** Marks the servers of a project that is not trusted. */
export function held(servers: McpChoices): McpChoices {
  return Object.fromEntries(
    Object.entries(servers).map(([name, given]) => [name, { ...given, isHeld: true as const }]),
  );
}

/** Marks the servers of a project. They run in the sandbox, unless set otherwise. */
export function ofProject(servers: McpChoices): McpChoices {
  const all = Object.entries(servers).map(([name, given]) => {
    return [
      name,
      { ...given, isOfProject: true as const, ...(given.command !== undefined && { sandbox: given.sandbox ?? true }) },
    ] as const;
  });
  return Object.fromEntries(all);
}

/** Describes to people what a project's server does once it is trusted. */
export function startOf({
  command,
  args = [],
  env = [],
  setEnv = {},
  sandbox = true,
  hosts = [],
  url,
  headers = {},
}: McpChoice): string {
  if (command === undefined) {
    const names = Object.keys(headers);
    return `tools of ${url}${names.length === 0 ? "" : `, with the headers ${names.join(", ")}`}`;
  }
  const variables = [...env, ...Object.keys(setEnv)];
  const where = sandbox
    ? `in the sandbox${hosts.length === 0 ? "" : `, with the hosts ${hosts.join(", ")}`}`
    : "NOT in the sandbox";
  const given = variables.length === 0 ? "" : `, with ${variables.join(", ")}`;
  return `starts ${quoteWords([command, ...args])}, ${where}${given}`;
}
