import { startOf } from "../../app/config/mcp.ts";
import type { Tool } from "../../core/contract/tool.ts";
import { paramsHint } from "../../core/call/toolset.ts";
import { asText } from "../../core/call/result.ts";
import { oneLine, terminalSafe } from "../../core/output/terminal-text.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { approveAll, terminalApprover } from "../approver.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { loadedSettings, toolkitOptions } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { hasOwnToken, mcpSource, namedServers, oauthSettings, tokensOf, unsetVariables } from "../sources.ts";
import { withoutBoundaries } from "../../core/util/boundary.ts";
import { say, warn } from "../say.ts";

/** The commands of `handrail mcp` about servers of others. */
export const run = { list: listServers, test: testServer, login: loginToServer };

/** Lists the configured MCP servers. Starts none. */
async function listServers(options: GlobalOptions): Promise<void> {
  const { text, notices } = await serversText(options);
  warn(options.io, notices);
  say(options.io, text);
}

/**
 * Lists the configured MCP servers, a line each. Starts none.
 *
 * @param stateOf what is known of a server that may run: "12 tools". Default: nothing
 */
export async function serversText(
  options: GlobalOptions,
  stateOf: (name: string) => string = () => "",
): Promise<{ readonly text: string; readonly notices: readonly string[] }> {
  const { servers, notices } = await serversOf(options);
  const rows = await Promise.all(
    Object.entries(servers).map(async ([name, choice]) => {
      const { url, oauth, sandbox = false } = choice;
      const isIn =
        url === undefined ||
        oauth === undefined ||
        oauth.grant !== undefined ||
        (await (await tokensOf(options.io, url)).read()) !== undefined;
      const login = isIn ? "" : ` (no login: handrail mcp login ${name})`;
      return `${name.padEnd(16)} ${stateOf(name)}${oneLine(startOf({ ...choice, sandbox }), 500)}${login}`;
    }),
  );
  return { text: rows.length === 0 ? "No MCP servers are configured." : rows.join("\n"), notices };
}

interface TestOptions extends GlobalOptions {
  /** The tool to call, by the server's name for it. `input` has its arguments as JSON. */
  readonly call?: string;
  readonly input?: string;
}

/**
 * Starts one server and lists what it offers. Calls a tool only if one is named. Exit code 1 when the server cannot be
 * used, or the call fails.
 */
async function testServer(name: string, { call, input, ...options }: TestOptions): Promise<number | void> {
  if (call === undefined && input !== undefined) throw new Error("--input is of a call: name its tool with --call");
  const { source } = await serverOf(name, options);
  const approver = options.yes ? approveAll : terminalApprover(options.io);
  let hasProblem = false;
  let code: number = EXIT.ok;
  const toolkit = await createToolkit({
    ...(await toolkitOptions(options)),
    ...{ preset: "none", lifetime: "call" as const, sources: [source] },
    onNotice(text: string) {
      if (!text.startsWith(source.name)) return; // the text is about names of other servers' tools
      hasProblem = true;
      warn(options.io, [text]);
    },
    ...(approver !== undefined && { approver }),
  });
  const stopped = untilStopped(options.io);
  try {
    await toolkit.ready;
    const tools = [...toolkit.tools.values()];
    const prompts = source.prompts();
    if (tools.length === 0 && prompts.length === 0) {
      if (!hasProblem) warn(options.io, [`${source.name} has started, and offers no tools and no prompts`]);
      code = EXIT.notSucceeded;
    }
    for (const tool of tools) say(options.io, oneLine(toolLine(tool), 300));
    for (const prompt of prompts) say(options.io, oneLine(`prompt ${prompt.name}: ${prompt.description ?? ""}`, 300));
    if (call === undefined) return code;
    const meant = tools.find((tool) => tool.name === call || tool.name === `mcp__${name}__${call}`)?.name ?? call;
    const result = await toolkit.call({ name: meant, input: input ?? "{}" }, { signal: stopped.signal });
    if (result.status !== "ok") code = EXIT.notSucceeded;
    say(options.io, terminalSafe(withoutBoundaries(asText(result))));
    return code;
  } finally {
    await toolkit.close();
    stopped.release();
  }
}

/** How long a person may take to log in, in milliseconds. */
const LOGIN_MS = 600_000;

const NO_REGISTRATION = ". If the server has a login, register a client at its authority and configure oauth.client_id";

/** Logs in to a server in a browser, and stores its tokens. */
async function loginToServer(name: string, options: GlobalOptions): Promise<void> {
  const { choice, settings } = await serverOf(name, options);
  const { url, oauth = {} } = choice;
  if (url === undefined) throw new Error(`${name} is a program, not a URL: it has no login`);
  if (hasOwnToken(choice)) throw new Error(`${name} is sent the token that its configuration names: it has no login`);
  const unset = unsetVariables(options.io, choice);
  if (unset !== undefined) throw new Error(`${name} expects ${unset}, which is not set`);
  if (oauth.grant !== undefined) throw new Error(`${name} logs in by itself, with oauth.client_id: nobody has to`);
  const [{ login }, { causesOf }] = await Promise.all([
    import("../../tools/mcp/login.ts"),
    import("../../tools/mcp/problem.ts"),
  ]);
  const stopped = untilStopped(options.io);
  try {
    await login({
      ...{
        url,
        network: settings.policy.network,
        file: await tokensOf(options.io, url),
        settings: oauthSettings(options.io, oauth),
      },
      ...(oauth.callbackPort !== undefined && { port: oauth.callbackPort }),
      show: (address) => say(options.io, `Open this address in a browser on this machine:\n${address.href}`),
      signal: AbortSignal.any([stopped.signal, AbortSignal.timeout(LOGIN_MS)]),
    }).catch((error: unknown) => {
      const why = oneLine(causesOf(error), 1_000);
      const hint = /dynamic client registration/i.test(why) ? NO_REGISTRATION : "";
      throw new Error(`cannot log in to ${name}: ${why}${hint}`, { cause: error });
    });
    say(options.io, `Logged in to ${name}.`);
  } finally {
    stopped.release();
  }
}

async function serversOf(options: GlobalOptions) {
  const { settings } = await loadedSettings(options);
  return { settings, ...(await namedServers(settings, options)) };
}

/** A server may exit at a first message that it does not know. The command ends after the second failure. */
const ONCE = { mostFailures: 2 };

async function serverOf(name: string, options: GlobalOptions) {
  const { settings, servers, notices } = await serversOf(options);
  const choice = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (choice === undefined) {
    warn(options.io, notices);
    const known = Object.keys(servers).join(", ") || "none";
    throw new Error(`no MCP server is named ${JSON.stringify(name)}. Configured: ${known}`);
  }
  return { choice, settings, source: await mcpSource(name, choice, settings, options, ONCE) };
}

function toolLine(tool: Tool): string {
  const [first = ""] = tool.description.split("\n");
  return `${tool.name}  ${paramsHint(tool)}  ${first}`;
}
