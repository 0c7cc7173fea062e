import { resolve } from "node:path";
import type { Base } from "../../core/util/paths.ts";
import { quoteWords } from "../../core/util/quote.ts";
import { type Camelled, camelKeys } from "./names.ts";
import type { Complaint } from "./project-rules.ts";
import {
  type ValueOf,
  choice,
  fields,
  integer,
  list,
  positive,
  record,
  text,
  variable,
  webUrl,
  yesOrNo,
} from "./schemas.ts";
import { mapped } from "./values.ts";

const words = list(text("text"));
const texts = record("a map of names, each with a string", text("a name"), text("text"));
const serverUrl = webUrl("the URL of an MCP server");

const ofProgram = {
  command: text("a program"),
  args: words,
  env: list(variable),
  sandbox: yesOrNo,
  cwd: choice(["workspace"]),
  hosts: words,
};
const ofUrl = {
  url: serverUrl,
  headers: texts,
  token_variable: variable,
  auth: choice(["oauth"]),
  oauth: fields({
    client_id: text("the id of a client"),
    client_secret_variable: variable,
    scope: text("scopes"),
    client_metadata_url: text("the https URL of a document that describes the client"),
    issuer: text("the URL of an authority"),
    grant: choice(["client_credentials"]),
    private_key_variable: variable,
    callback_port: integer(1, 65_535),
  }),
};
const ofAny = { tools: words, timeout: positive(3_600, "seconds"), start_timeout: positive(600, "seconds") };

export const serverSchema = fields({ ...ofProgram, ...ofUrl, ...ofAny });
type Written = ValueOf<typeof serverSchema>;

/**
 * A configured MCP server: a program, or a URL. A `command` that begins with `./` or `../` in a file is absolute here.
 * `env` names variables to pass, `tools` patterns for the names of tools. Times are in seconds.
 */
export interface McpChoice extends Camelled<Omit<Written, "auth" | "oauth">> {
  /** Variables to set for the program. */
  readonly setEnv?: { readonly [name: string]: string };
  /** OAuth settings for a login at the URL. */
  readonly oauth?: Camelled<NonNullable<Written["oauth"]>>;
  /** True if a project configures it. Default: it is the user's own. */
  readonly isOfProject?: true;
  /** True if the project is not trusted, so that the server must not be started. */
  readonly isHeld?: true;
}
export type McpChoices = { readonly [name: string]: McpChoice };

/** The parts of a server that are read from `.mcp.json`. */
export const JSON_SERVER = { command: ofProgram.command, args: words, env: texts, url: serverUrl, headers: texts };
export const jsonServerSchema = fields(JSON_SERVER);

export const serverNames = text('a name of at most 32 letters, digits, "-" and single "_"', { format: "server-name" });

/** Complains about servers that have both a program and a URL, or neither, or a key of the other kind. */
export function complaintsOfServers(servers: { readonly [name: string]: Written }): readonly Complaint[] {
  return Object.entries(servers).flatMap(([name, server]) => {
    const [kind, other] = server.url === undefined ? (["command", ofUrl] as const) : (["url", ofProgram] as const);
    const foreign = Object.keys(server).find((key) => Object.hasOwn(other, key));
    if (server.command === undefined && server.url === undefined)
      return [{ at: [name], message: "expected a map with command or url. It has neither; give it one of them" }];
    if (server.command !== undefined && server.url !== undefined)
      return [{ at: [name], message: "expected a map with command or url. It has both; give it one of them" }];
    return foreign === undefined ? [] : [{ at: [name, foreign], message: `${foreign} does not go with ${kind}` }];
  });
}

/** The servers of a file, by name. */
export function serversOf(servers: { readonly [name: string]: Written }, base: Base): McpChoices {
  return mapped(servers, ({ command, auth, oauth, ...rest }) => ({
    ...camelKeys(rest),
    ...(command !== undefined && { command: commandIn(command, base) }),
    ...((auth !== undefined || oauth !== undefined) && { oauth: camelKeys(oauth ?? {}) }),
  }));
}

/** Returns the program of a server. Only a path that begins with `./` or `../` is relative to the file. */
export function commandIn(command: string, { workDir }: Pick<Base, "workDir">): string {
  return /^\.{1,2}\//.test(command) ? resolve(workDir, command) : command;
}

/** Marks the servers of a project. They run in the sandbox, unless set otherwise. */
export function markServers(servers: McpChoices, standing: "trusted" | "not trusted"): McpChoices {
  return mapped(servers, (given) => ({
    ...given,
    isOfProject: true,
    ...(given.command !== undefined && { sandbox: given.sandbox ?? true }),
    ...(standing !== "trusted" && { isHeld: true }),
  }));
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
