import { serveAcp } from "../acp/server.ts";
import type { AgentOptions } from "../options.ts";
import { settingsFrom, storeOf } from "../settings.ts";
import { untilStopped } from "../signals.ts";

/** Serves the Agent Client Protocol on stdin and stdout, until the client disconnects. */
export async function run(options: AgentOptions): Promise<void> {
  const stopped = untilStopped(options.io);
  const server = serveAcp(options, async (work) => {
    const store = await storeOf(options.io, await settingsFrom(options));
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  });
  stopped.signal.addEventListener("abort", () => void server.close(), { once: true });
  await server.closed;
  stopped.release();
}
