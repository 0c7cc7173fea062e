import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { resolve as resolvePath } from "node:path";
import { buildInstructions, createAgent, withSubAgents } from "../../agent/agent.ts";
import { loadModel } from "../../agent/models/load.ts";
import { browsersFolder, grantsFolder, keyFile, stateFolder, usersFile } from "../../app/config/state.ts";
import { browserSessions } from "../../serve/browser-sessions.ts";
import { type OpenAgent, type ServerOptions, isLoopback, serveApi } from "../../serve/server.ts";
import { gatewayPrompts } from "../../tools/mcp/prompts.ts";
import { usersIn } from "../../serve/users.ts";
import { keptGrants } from "../../policy/kept-grants.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { agentSettings } from "../agent-settings.ts";
import { apiToken, tokenFile } from "../api-token.ts";
import { skillsOf } from "../agent-parts.ts";
import { approveAll } from "../approver.ts";
import { messageOf } from "../../core/util/errors.ts";
import type { GlobalOptions } from "../options.ts";
import { scheduleRunner } from "../schedules.ts";
import { note, say, warn } from "../say.ts";
import { keptKeys, loadedSettings, tellHowToAttach, toolkitOptions } from "../settings.ts";
import { loadSubAgents } from "../sub-agents.ts";
import { untilStopped } from "../signals.ts";
import type { Io } from "../io.ts";

export interface ServeOptions extends GlobalOptions {
  readonly host?: string;
  readonly port?: number;
  /** Files in PEM. */
  readonly cert?: string;
  readonly key?: string;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly agent?: string;
}

const DEFAULT_PORT = 4747;

/**
 * Serves the HTTP API, and MCP at /mcp, until the process is asked to end. Prints the address with the token, which
 * opens a session in a browser.
 *
 * @throws Error for users of a version with tenants.
 */
export async function run(options: ServeOptions): Promise<void> {
  const tls = tlsOf(options);
  const token = apiToken(options.io);
  const stopped = untilStopped(options.io);
  try {
    const users = usersIn(usersFile(options.io.env));
    users.requireNoTenants();
    const { serve } = (await loadedSettings(options)).settings;
    const own = await partsOf(options, token);
    const { host, port = DEFAULT_PORT, log } = options;
    try {
      await serveUntil(options.io, stopped.signal, {
        ...{ ...own, token, port, log },
        ...(host !== undefined && { host }),
        ...(tls && { tls }),
        origins: serve.origins,
        browsers: browserSessions(browsersFolder(stateFolder(options.io.env))),
        users,
        show: (url) => `${url}/?token=${token}`,
      });
    } finally {
      await own.close();
    }
  } finally {
    stopped.release();
  }
}

/** What `run` serves. */
interface Parts extends Pick<ServerOptions, "toolkit" | "openAgent" | "mcp" | "grants"> {
  close(): Promise<void>;
}

async function partsOf(options: ServeOptions, token: string): Promise<Parts> {
  const { preset, instructions: own, coreBytes, model: chosen, limits, disable } = await agentSettings(options);
  const loaded =
    chosen === undefined
      ? undefined
      : await loadModel(chosen, { keyFile: keyFile(options.io.env), env: options.io.env });
  const { terminal, ...given } = await toolkitOptions(
    { ...options, ...(preset !== undefined && { preset }) },
    { sources: true },
  );
  const others = await loadSubAgents(options);
  const toolkit = await createToolkit({
    ...given,
    mask: { values: [token, ...(await keptKeys(options.io)), ...(loaded?.keys ?? []), ...others.keys] },
    ...(options.yes && { approver: approveAll }),
    ...(terminal !== undefined && { terminal }),
  });
  await tellHowToAttach(options.io, toolkit);
  const { createHttpEndpoint } = await import("../../connect/mcp/http.ts");
  const named = options.agent === undefined ? {} : { name: options.agent };
  const agents = others.of(toolkit);
  const withDelegate = disable.includes("delegate")
    ? toolkit
    : withSubAgents(toolkit, { agents, limits, ...(loaded && { model: loaded.model }), ...named });
  const mcp = createHttpEndpoint(withDelegate, {
    ...gatewayPrompts(given.sources),
    askClient: !options.yes,
    hosts: "checked",
  });
  const builtFrom = { ...(own !== undefined && { own }), ...(coreBytes !== undefined && { coreBytes }) };
  const workspace = options.target === undefined ? toolkit.backend.workDir : undefined;
  const skills = loaded === undefined ? [] : await skillsOf(options.io, workspace, (text) => warn(options.io, [text]));
  const runner = scheduleRunner({
    toolkit,
    agents: loaded && { model: loaded.model, limits, disable, instructions: builtFrom, agents },
  });
  const openAgent: OpenAgent = async (thread) => {
    const scheduled = await runner.agentOf(thread);
    if (scheduled !== undefined) return scheduled;
    if (loaded === undefined)
      throw new Error("No model is chosen. Start with --model PROVIDER:NAME, or set model in the configuration.");
    const instructions = await buildInstructions(withDelegate, builtFrom);
    return await createAgent({
      ...{ model: loaded.model, toolkit, instructions, thread, limits, disable, agents, skills },
      ...named,
    });
  };
  runner.start();
  return {
    ...{ toolkit: withDelegate, openAgent, mcp },
    grants: keptGrants(grantsFolder(stateFolder(options.io.env))),
    async close() {
      await runner.close();
      await toolkit.close();
    },
  };
}

/** Reads the files of `--cert` and `--key`. */
function tlsOf({ io, cert, key }: ServeOptions): ServerOptions["tls"] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw new Error("--cert and --key go together: give the files of both");
  const read = (option: string, file: string) => {
    try {
      return readFileSync(resolvePath(io.cwd, file), "utf8");
    } catch (error) {
      throw new Error(`${option}: ${file} cannot be read: ${messageOf(error)}`, { cause: error });
    }
  };
  return { cert: read("--cert", cert), key: read("--key", key) };
}

export interface Served extends Omit<ServerOptions, "onError" | "reachable"> {
  readonly port: number;
  readonly log: GlobalOptions["log"];
  /** Returns the line for stdout. */
  readonly show: (url: string) => string;
}

/**
 * Serves until the signal fires, and prints the address.
 *
 * @throws Error when the address cannot be listened on, or the store is not writable.
 */
export async function serveUntil(io: Io, signal: AbortSignal, { log, show, ...options }: Served): Promise<void> {
  const { host, port, tls, api } = options;
  const server = await serveApi({
    ...{ ...options, reachable },
    onError: ({ message }) => log?.write("warn", "serve.failed", { message }),
  }).catch((error: NodeJS.ErrnoException) => {
    if (["ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"].includes(error.code ?? ""))
      throw new Error(`this machine has no address ${host}. Give one of its own`, { cause: error });
    if (error.code !== "EADDRINUSE") throw error;
    throw new Error(`port ${port} is in use. Choose another one, or 0 for one that is free`, { cause: error });
  });
  say(io, show(reachable(server.url)));
  note(io, `handrail: the token is kept in ${tokenFile(io)}`);
  if (host !== undefined && !isLoopback(host)) {
    if (tls === undefined)
      note(
        io,
        `handrail: ${host} can be reached from other machines, and nothing is encrypted. ` +
          "Browsers on them are refused: give --cert and --key",
      );
    else if (api !== false) await showPairing(io, server.pair());
  }
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await server.close();
}

/** Replaces "every address", which no browser can open, with an address of this machine. */
function reachable(url: string): string {
  const address = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  return address === undefined ? url : url.replace(/^(https?):\/\/(?:0\.0\.0\.0|\[::\]):/, `$1://${address}:`);
}

/** Prints the link with which a phone gets a session of its own; on a terminal also as a QR code. */
async function showPairing(io: Io, link: string | undefined): Promise<void> {
  if (link === undefined) return;
  note(io, `handrail: to pair a phone, once and within 5 minutes: ${link}`);
  if (!io.stderr.isTTY) return;
  const { renderUnicodeCompact } = await import("uqr");
  note(io, renderUnicodeCompact(link, { border: 2 }));
}
