import { serveStdio } from "../../mcp/serve.ts";
import { createToolkit } from "../../toolkit.ts";
import { approveAll } from "../approver.ts";
import type { GlobalOptions } from "../options.ts";
import { howToApprove, loadedSettings, toolkitOptions } from "../settings.ts";
import { untilStopped } from "../signals.ts";

/** Serves MCP on stdin and stdout until the client goes or the process is asked to end. */
export async function mcp(options: GlobalOptions): Promise<void> {
  const { outputOwner: _, ...own } = await toolkitOptions(options); // outputs of one session are not another's
  const toolkit = await createToolkit({ ...own, ...(options.yes && { approver: approveAll }) });
  const { settings } = await loadedSettings(options);
  const stopped = untilStopped();
  const server = serveStdio(toolkit, {
    closeToolkit: true,
    askClient: !options.yes,
    howToApprove: howToApprove(settings, "mcp"),
    onError: ({ message }) => options.log?.write("warn", "mcp.failed", { message }),
  });
  stopped.signal.addEventListener("abort", () => void server.close(), { once: true });
  await server.closed;
  stopped.release();
}
