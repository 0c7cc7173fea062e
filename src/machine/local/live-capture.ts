import { createLiveLog } from "../../core/output/live-log.ts";
import { pause } from "../../core/util/abort.ts";
import type { Capture } from "./capture.ts";
import { pipeToRead } from "./pipe.ts";
import type { Spawner } from "../spawner/connection.ts";

/** How long to wait for the rest of the output after all writers have ended. Milliseconds. */
const REST_MS = 500;

/** Captures what a program in a dialogue writes into one pipe (`createLiveLog`). @throws ToolFailure without a pipe. */
export async function liveCapture(spawner: Spawner, kind: "queue" | "end"): Promise<Capture> {
  const log = createLiveLog(kind);
  let isEnding = false;
  const reader = await pipeToRead(spawner, (length, buffer) => {
    if (log.write(buffer.subarray(0, length)) || isEnding) return true;
    void log.drained().then(reader.resume);
    return false;
  });
  return {
    pipe: reader.pipe,
    log,
    begin: reader.begin,
    keepAlive: (on) => (on ? reader.ref() : reader.unref()),
    async finish() {
      isEnding = true; // little is left in the pipe, so the rest need not wait for its reader
      reader.resume();
      await Promise.race([reader.closed, pause(REST_MS)]);
      reader.destroy();
      log.end();
    },
    abandon() {
      reader.abandon();
      log.end();
    },
  };
}
