import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildInstructions, createAgent } from "../../agent/agent.ts";
import { loadModel } from "../../agent/models/load.ts";
import { keyFile, stateFolder } from "../../config/state.ts";
import { type OpenAgent, isLoopback, serveApi } from "../../console/server.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import { createToolkit } from "../../toolkit.ts";
import { agentSettings } from "../agent-settings.ts";
import { approveAll } from "../approver.ts";
import type { GlobalOptions } from "../options.ts";
import { toolkitOptions } from "../settings.ts";
import { untilStopped } from "../signals.ts";

export interface ServeOptions extends GlobalOptions {
  readonly host?: string;
  readonly port?: number;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly agent?: string;
}

/** How often it looks for events of other processes: who watches in a browser should not wait. */
const LOOK_MS = 15;

/** Serves the HTTP API until the process is asked to end. Prints the address with the token, which opens a browser's session. */
export async function serve(options: ServeOptions): Promise<void> {
  const { preset, instructions: own, coreBytes, model: chosen, limits } = await agentSettings(options);
  const loaded = chosen === undefined ? undefined : await loadModel(chosen, { keyFile: keyFile() });
  const given = await toolkitOptions({ ...options, ...(preset !== undefined && { preset }) }, LOOK_MS);
  const token = apiToken();
  const toolkit = await createToolkit({
    ...given,
    mask: { values: [token, ...(loaded?.keys ?? [])] },
    ...(options.yes && { approver: approveAll }),
  });
  const stopped = untilStopped();
  const openAgent: OpenAgent = async (thread) => {
    if (loaded === undefined)
      throw new Error("No model is chosen. Start with --model PROVIDER:NAME, or set model in the configuration.");
    const instructions = await buildInstructions(toolkit, {
      ...(own !== undefined && { own }),
      ...(coreBytes !== undefined && { coreBytes }),
    });
    return await createAgent({ model: loaded.model, toolkit, instructions, thread, limits });
  };
  try {
    await serveUntil(stopped.signal, { toolkit, token, openAgent, options });
  } finally {
    await toolkit.close();
    stopped.release();
  }
}

interface Served {
  readonly toolkit: Toolkit;
  readonly token: string;
  readonly openAgent: OpenAgent;
  readonly options: ServeOptions;
}

async function serveUntil(signal: AbortSignal, { toolkit, token, openAgent, options }: Served): Promise<void> {
  const { host, port = 4747, log } = options;
  const server = await serveApi({
    ...{ toolkit, token, openAgent, port },
    ...(host !== undefined && { host }),
    onError: ({ message }) => log?.write("warn", "serve.failed", { message }),
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new Error(`port ${port} is in use. Choose another with --port, or 0 for one that is free`, { cause: error });
  });
  process.stdout.write(`${server.url}/?token=${token}\n`);
  process.stderr.write(`handrail: the token is kept in ${tokenFile()}\n`);
  if (host !== undefined && !isLoopback(host)) {
    process.stderr.write(`handrail: ${host} can be reached from other machines, and nothing is encrypted\n`);
  }
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await server.close();
}

/** In the state folder, which no tool reads and no contained command sees. Removing the file renews it. */
function tokenFile(): string {
  return join(stateFolder(), "api-token");
}

function apiToken(): string {
  const file = tokenFile();
  mkdirSync(stateFolder(), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, `${randomBytes(32).toString("base64url")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(file, "utf8").trim();
}
