import { hook } from "../guard/hook-client.ts";
import type { GlobalOptions } from "../options.ts";
import { readStdin } from "../stdin.ts";

/** Answers one event of a client, which is on stdin. */
export async function run(client: string, id: string | undefined, options: GlobalOptions): Promise<number | void> {
  if (client === "run") return (await import("../guard/ticket.ts")).runTicket(id ?? "", options);
  if (client === "wait") return (await import("../guard/wait.ts")).waitForEvents(options);
  return await hook(client, await readStdin(options.io), options);
}
