import { resolve } from "node:path";
import { type OpenedProgram, type ProgramTrust, createProgramTrust } from "../app/config/program-trust.ts";
import type { Settings } from "../app/config/settings.ts";
import type { PluginSetting } from "../app/config/values.ts";
import { stateFolder } from "../app/config/state.ts";
import { createTrust } from "../app/config/trust.ts";
import type { Env } from "../core/contract/effect.ts";
import type { ToolSource } from "../core/contract/tool-source.ts";
import type { SourceGuards } from "../core/call/restarting.ts";
import { moduleSource } from "../tools/plugins/module.ts";
import { plugin, pluginName } from "../tools/plugins/plugin.ts";
import { MCP_FILE, findProjectFile } from "../app/config/find.ts";
import type { McpChoice, McpChoices } from "../app/config/mcp.ts";
import { readMcpFile } from "../app/config/mcp-file.ts";
import type { OAuthSettings, TokenFile } from "../tools/mcp/token-file.ts";
import type { McpSource, ServerSettings } from "../tools/mcp/source.ts";
import type { NetworkSettings } from "../machine/network/network-settings.ts";
import { writtenPlaces } from "../policy/provenance/written-places.ts";
import { variablesNamed } from "../core/util/environment.ts";
import { displayPath } from "../core/util/paths.ts";
import type { GlobalOptions } from "./options.ts";
import type { Io } from "./io.ts";

/**
 * Returns the sources of tools that the settings and a `.mcp.json` name, and servers that are `added`, with notices for
 * people. Starts no source: a toolkit does that.
 */
export async function sourcesOf(settings: Settings, options: GlobalOptions, added: McpChoices = {}) {
  const trust = trustFor(settings, options);
  const project = findProjectFile(options.workDir, options.io) ?? "";
  const place = placing(trust, resolve(options.io.cwd, options.workDir ?? settings.tools.workDir ?? "."));
  const plugins = await Promise.all(
    settings.tools.plugins.map((each) => pluginSource(each, { trust, project, place, environment: options.io.env })),
  );
  const modules = settings.tools.modules.map(({ path, project: standing }) =>
    moduleSource(path, {
      mayStart: async () =>
        standing === "not trusted"
          ? "is not loaded: its project is not trusted. See: handrail trust"
          : trust.mayStart([path]),
      copy: () => trust.copyOf(path, `${stateFolder(options.io.env)}/programs/modules`),
    }),
  );
  const { servers, notices } = await namedServers(settings, options);
  const mcp = await Promise.all(
    Object.entries({ ...servers, ...added }).map(([name, choice]) => mcpSource(name, choice, settings, options)),
  );
  return { sources: [...plugins, ...modules, ...mcp], notices };
}

/** Returns the check of trust for the programs of sources, for the configured folder. */
export function trustFor({ tools, policy }: Settings, { io, target, workDir }: GlobalOptions): ProgramTrust {
  return createProgramTrust({
    trust: createTrust(stateFolder(io.env)),
    workDir: target === undefined ? resolve(io.cwd, workDir ?? tools.workDir ?? ".") : io.cwd,
    ...(io.env["PATH"] !== undefined && { path: io.env["PATH"] }),
    writable: policy.allowedRoots,
    written: writtenPlaces(stateFolder(io.env)).list,
  });
}

/**
 * Returns the source of a configured plugin. In a project that is not trusted, the source reports that and does not
 * start.
 */
async function pluginSource(
  setting: PluginSetting,
  {
    trust,
    project: projectFile,
    place,
    environment,
  }: { trust: ProgramTrust; project: string; place: Placing; environment: NodeJS.ProcessEnv },
): Promise<ToolSource> {
  const { path, args, env, project, name = pluginName(path, args), hosts = [] } = setting;
  const source = `plugin:${name}`;
  if (project === "not trusted") {
    return {
      name: source,
      start: async (host) => host.notice(`${source} is not started: its project is not trusted. See: handrail trust`),
      close: async () => {},
    };
  }
  const argv = [path, ...args];
  const { sandbox, cwd, opened } = await place(source, argv, { ...setting, isOfProject: project !== undefined });
  return plugin({
    ...{ path, args, env, environment, name, sandbox, hosts, ...(cwd !== undefined && { cwd }) },
    ...(setting.timeout !== undefined && { quietMs: setting.timeout * 1_000 }),
    mayStart: () => trust.mayStart(argv, opened),
    ...(project !== undefined && { mayUse: (tools) => trust.mayUse(source, projectFile, tools) }),
  });
}

/** Where a configured program runs. */
type Placing = (
  source: string,
  argv: readonly string[],
  setting: {
    readonly sandbox?: boolean;
    readonly cwd?: "workspace";
    readonly isOfProject?: boolean;
    /** Names of variables that it gets, and variables that are set for it. */
    readonly env?: readonly string[];
    readonly setEnv?: Env;
  },
) => Promise<{
  readonly sandbox: boolean;
  /** Default: see `SourceProgram`. */
  readonly cwd: string | undefined;
  /** Present if the program must be trusted by name. */
  readonly opened: OpenedProgram | undefined;
}>;

/**
 * Returns a function that decides where programs run. A program runs in the sandbox, unless the user has set otherwise,
 * if it starts in the workspace or is not proven to run nothing that a model could have written, now or in an earlier
 * session. Outside the sandbox such a program must be trusted: each file by its bytes, all else by its name and words.
 *
 * @param workDir the workspace, absolute
 */
export function placing(trust: ProgramTrust, workDir: string): Placing {
  return async (source, argv, { sandbox: wanted, cwd, isOfProject = false, env = [], setEnv }) => {
    const isOpen = cwd === "workspace" || !(await trust.isProven(argv, { ...variablesNamed(env), ...setEnv }));
    const sandbox = wanted ?? (isOfProject || isOpen);
    return {
      sandbox,
      cwd: isOpen && !sandbox ? workDir : undefined,
      opened: isOpen && !sandbox ? { source } : undefined,
    };
  };
}

/** The servers that the configuration and a trusted `.mcp.json` name. */
export interface NamedServers {
  readonly servers: McpChoices;
  /** Sentences for people about `.mcp.json`. */
  readonly notices: readonly string[];
}

/** Collects the servers. A server of the configuration overrides a server of the same name in `.mcp.json`. */
export async function namedServers({ tools }: Settings, { io, target, workDir }: GlobalOptions): Promise<NamedServers> {
  const configured = Object.fromEntries(Object.entries(tools.mcp).filter(([, { isHeld }]) => isHeld !== true));
  const path = findProjectFile(target === undefined ? workDir : undefined, io, MCP_FILE);
  if (path === undefined) return { servers: configured, notices: [] };
  const { standing, asks, servers, problems } = await readMcpFile(path, createTrust(stateFolder(io.env)), io.env);
  const shown = displayPath(path, { workDir: io.cwd });
  const isHeld = asks.length > 0 && standing !== "trusted";
  const why = standing === "changed" ? "has changed since you trusted it" : "is not trusted";
  const held = `${shown} ${why}: its MCP servers are not started. Run: handrail trust ${shown}`;
  return { servers: { ...servers, ...configured }, notices: isHeld ? [...problems, held] : problems };
}

/** Creates the source of a server. Loads its code only now. */
export async function mcpSource(
  name: string,
  choice: McpChoice,
  settings: Settings,
  options: GlobalOptions,
  guards: Pick<SourceGuards, "mostFailures"> = {},
): Promise<McpSource> {
  logWarnings(options.log);
  const { command, args = [], isOfProject } = choice;
  const trust = trustFor(settings, options);
  const place = placing(trust, resolve(options.io.cwd, options.workDir ?? settings.tools.workDir ?? "."));
  const argv = command === undefined ? [] : [command, ...args];
  const { sandbox, cwd, opened } = await place(`mcp:${name}`, argv, choice);
  const [{ mcpServer }, server] = await Promise.all([
    import("../tools/mcp/source.ts"),
    serverSettings(options.io, { ...choice, sandbox }, settings.policy.network, cwd),
  ]);
  const project =
    findProjectFile(options.workDir, options.io) ?? findProjectFile(options.workDir, options.io, MCP_FILE) ?? "";
  return mcpServer(name, server, {
    ...guards,
    async mayStart() {
      const unset = unsetVariables(options.io, choice);
      if (unset !== undefined) return `expects ${unset}, which is not set.`;
      return command === undefined ? undefined : trust.mayStart(argv, opened);
    },
    ...(isOfProject === true && { mayUse: (tools) => trust.mayUse(`mcp:${name}`, project, tools) }),
  });
}

/**
 * Moves `console.warn` to the log. The SDK writes warnings for developers to it, some in a server's words, which would
 * appear in a chat. Our notices contain what people need to know.
 */
function logWarnings(log: GlobalOptions["log"]): void {
  console.warn = (...words: readonly unknown[]) =>
    log?.write("warn", "console.warned", { message: words.map(String).join(" ") });
}

async function serverSettings(
  io: Io,
  choice: McpChoice,
  network: NetworkSettings,
  cwd: string | undefined,
): Promise<ServerSettings> {
  const { command, args, env = [], setEnv = {}, sandbox = false, hosts = [], url = "", tools } = choice;
  const { timeout, startTimeout } = choice;
  const any = {
    ...(tools !== undefined && { tools }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1_000 }),
    ...(startTimeout !== undefined && { startMs: startTimeout * 1_000 }),
  };
  if (command !== undefined) {
    return {
      ...any,
      command,
      ...(args !== undefined && { args }),
      env: { ...variablesNamed(env, io.env), ...setEnv },
      ...(cwd !== undefined && { cwd }),
      within: sandbox ? { network: hosts } : "none",
    };
  }
  const { headers = {}, tokenVariable, oauth = {} } = choice;
  const token = tokenVariable === undefined ? undefined : io.env[tokenVariable];
  const { storedTokens } = await import("../tools/mcp/oauth.ts");
  return {
    ...{ ...any, url, network },
    headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(!hasOwnToken(choice) && { auth: storedTokens(await tokensOf(io, url), oauthSettings(io, oauth)) }),
  };
}

/** Returns the environment variables of a URL's token, headers and client that are not set. */
export function unsetVariables(io: Io, { headers = {}, tokenVariable, oauth }: McpChoice): string | undefined {
  const inHeaders = Object.values(headers).flatMap((value) => /\$\{(\w+)\}/.exec(value)?.[1] ?? []);
  const named = [tokenVariable, oauth?.clientSecretVariable, oauth?.privateKeyVariable].filter(
    (name) => name !== undefined && !io.env[name],
  );
  const unset = [...named, ...inHeaders];
  return unset.length === 0 ? undefined : unset.join(", ");
}

/** Returns true if the configuration names the token for a server: the server then has no login. */
export function hasOwnToken({ headers = {}, tokenVariable, oauth }: McpChoice): boolean {
  if (oauth !== undefined) return false;
  return tokenVariable !== undefined || Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

/** Returns the store of the tokens for a URL. */
export async function tokensOf(io: Io, url: string): Promise<TokenFile> {
  const { tokenFile } = await import("../tools/mcp/token-file.ts");
  return tokenFile(stateFolder(io.env), url);
}

/** Returns the configured OAuth client, with its secret from the environment. */
export function oauthSettings(
  io: Io,
  { clientSecretVariable, privateKeyVariable, callbackPort: _, ...rest }: NonNullable<McpChoice["oauth"]>,
): OAuthSettings {
  const clientSecret = clientSecretVariable === undefined ? undefined : io.env[clientSecretVariable];
  const privateKey = privateKeyVariable === undefined ? undefined : io.env[privateKeyVariable];
  return {
    ...rest,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(privateKey !== undefined && { privateKey }),
  };
}
