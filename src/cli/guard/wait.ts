import { unlink } from "node:fs/promises";
import { createServer } from "node:net";
import { makePrivateFolder } from "../../core/util/private-file.ts";
import type { GlobalOptions } from "../options.ts";
import { createAnswers } from "./answer.ts";
import { type HookRequest, askWaiting, blocked, guardFolder, hookSocket } from "./hook-client.ts";

/** After how long without an event the process ends, in milliseconds. */
const IDLE_MS = 600_000;
/** The same while a client runs a call: a client that was killed reports no end. */
const BUSY_MS = 6 * 3_600_000;

/**
 * Waits for events of clients, so that a hook need not start everything for each event. Ends after ten minutes without
 * an event, and at once when another process waits already.
 */
export async function waitForEvents(options: GlobalOptions): Promise<void> {
  const answers = createAnswers(options);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let written = "";
    socket.on("error", () => undefined); // the client has stopped its hook
    socket.setEncoding("utf8").on("data", (piece: string) => (written += piece));
    socket.once("end", () => {
      quiet = 0;
      idle.refresh();
      void answerTo(written).then((answer) => socket.end(JSON.stringify(answer)));
    });
  });
  let quiet = 0;
  const idle = setInterval(() => {
    quiet += IDLE_MS;
    void answers.isBusy().then((busy) => (busy && quiet < BUSY_MS ? undefined : server.close()));
  }, IDLE_MS);
  const answerTo = async (written: string) => {
    try {
      return await answers.answer(JSON.parse(written) as HookRequest);
    } catch {
      return blocked("the event was incomplete");
    }
  };
  await makePrivateFolder(guardFolder(options.io.env));
  if (await isListening(server, hookSocket(options)))
    await new Promise<void>((resolve) => server.once("close", resolve));
  clearInterval(idle);
  await answers.close();
}

/** Listens, in place of a process that has died. Resolves to false when another process listens. */
async function isListening(server: ReturnType<typeof createServer>, path: string): Promise<boolean> {
  for (const attempt of [1, 2]) {
    const taken = await new Promise<boolean>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        error.code === "EADDRINUSE" ? resolve(true) : reject(error),
      );
      server.listen(path, () => resolve(false));
    });
    if (!taken) return true;
    if (attempt === 2 || (await askWaiting(path, { client: "", written: "", env: {} }).catch(() => true)) !== undefined)
      break;
    await unlink(path).catch(() => undefined);
  }
  return false;
}
