import { takeReady } from "../../core/call/take-ready.ts";
import { gatewayPrompts } from "../../tools/mcp/prompts.ts";
import { serveStdio } from "../../connect/mcp/serve.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { approveAll } from "../approver.ts";
import type { GlobalOptions } from "../options.ts";
import { howToApprove, keptKeys, loadedSettings, tellHowToAttach, toolkitOptions } from "../settings.ts";
import { requirePerson } from "../people.ts";
import { loadDelegation } from "../delegation.ts";
import { untilStopped } from "../signals.ts";

export interface McpOptions extends GlobalOptions {
  /** Where to listen. Default: stdin and stdout. */
  readonly http?: { readonly host?: string; readonly port: number };
}

/** Serves MCP on stdin and stdout until the client disconnects, or over HTTP until the process is asked to end. */
export async function run({ http, ...options }: McpOptions): Promise<void> {
  if (http !== undefined) {
    await requirePerson("handrail mcp");
    return mcpOverHttp(http, options);
  }
  // sessions must not share saved outputs
  const { outputOwner: _, ...own } = await toolkitOptions(options, { sources: true });
  const delegation = await loadDelegation(options);
  const toolkit = await createToolkit({
    ...own,
    mask: { values: [...(await keptKeys(options.io)), ...delegation.keys] },
    ...(options.yes && { approver: approveAll }),
  });
  void tellHowToAttach(options.io, toolkit);
  const { settings } = await loadedSettings(options);
  const stopped = untilStopped(options.io);
  takeReady(toolkit, { agents: "leave" }); // until the store is closed
  const server = serveStdio(delegation.over(toolkit), {
    ...gatewayPrompts(own.sources),
    ...{ stdin: options.io.stdin, stdout: options.io.stdout },
    askClient: !options.yes,
    howToApprove: howToApprove(settings, "mcp"),
    onError: ({ message }) => options.log?.write("warn", "mcp.failed", { message }),
  });
  stopped.signal.addEventListener("abort", () => void server.close(), { once: true });
  try {
    await server.closed;
  } finally {
    await toolkit.close();
    stopped.release();
  }
}

async function mcpOverHttp(address: NonNullable<McpOptions["http"]>, options: GlobalOptions): Promise<void> {
  const [{ apiToken }, { serveUntil }, { createHttpEndpoint }] = await Promise.all([
    import("../api-token.ts"),
    import("./serve.ts"),
    import("../../connect/mcp/http.ts"),
  ]);
  const { outputOwner: _, ...own } = await toolkitOptions(options, { sources: true });
  const token = apiToken(options.io);
  const { settings } = await loadedSettings(options);
  const delegation = await loadDelegation(options);
  const toolkit = await createToolkit({
    ...own,
    mask: { values: [token, ...(await keptKeys(options.io)), ...delegation.keys] },
    ...(options.yes && { approver: approveAll }),
  });
  void tellHowToAttach(options.io, toolkit);
  const endpoint = createHttpEndpoint(delegation.over(toolkit), {
    ...gatewayPrompts(own.sources),
    hosts: "checked",
    askClient: !options.yes,
    howToApprove: howToApprove(settings, "mcp"),
    onError: ({ message }) => options.log?.write("warn", "mcp.failed", { message }),
  });
  const stopped = untilStopped(options.io);
  takeReady(toolkit, { agents: "leave" });
  try {
    const show = (url: string) => `${url}/mcp`;
    await serveUntil(options.io, stopped.signal, {
      ...address,
      toolkit,
      token,
      mcp: endpoint,
      api: false,
      log: options.log,
      show,
    });
  } finally {
    await toolkit.close();
    stopped.release();
  }
}
