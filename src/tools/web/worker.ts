/**
 * Converts content from the web in a thread, so that no page can block or end the process. Gets jobs as messages and
 * answers each with a message. See `reader.ts`.
 */
import { parentPort } from "node:worker_threads";
import { decodeBody } from "../../machine/network/charset.ts";
import type { WorkerResult, Job, Reading } from "./jobs.ts";
import { tried } from "../../core/util/errors.ts";

parentPort?.on("message", (job: Job) => {
  read(job).then(
    (reading) => answer({ ok: true, reading }),
    (error: unknown) => answer({ ok: false, message: error instanceof Error ? error.message : String(error) }),
  );
});

function answer(message: WorkerResult): void {
  parentPort?.postMessage(message, []);
}

async function read(job: Job): Promise<Reading> {
  switch (job.kind) {
    case "html": {
      const { toMarkdown } = await import("./markdown.ts");
      return toMarkdown(decodeBody(job.bytes, job.contentType), job);
    }
    case "json":
      const text = decodeBody(job.bytes, job.contentType);
      return { text: tried(() => JSON.stringify(JSON.parse(text), null, 2)) ?? text };
    case "pdf": {
      const { toText } = await import("./pdf.ts");
      return toText(job.bytes);
    }
    case "results": {
      const { readResults } = await import("./duckduckgo.ts");
      return readResults(decodeBody(job.bytes, job.contentType));
    }
  }
}
