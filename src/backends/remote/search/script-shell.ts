import { randomBytes } from "node:crypto";
import type { Process } from "../../../contract/backend.ts";
import { ToolFailure } from "../../../contract/failure.ts";
import { readMarkers } from "../markers.ts";

/** How often it is looked whether more was written than is kept, which nobody tells. */
const LOOK_MS = 500;

/** A shell that belongs to one search, and that goes with it. */
export interface ScriptShell {
  /**
   * Runs a script and resolves to its exit code. What it writes to stdout is handed on as it comes, and in between how often `tell` was called. Several may be asked
   * without waiting; they run one after the other. Rejects when the shell ends before.
   */
  ask(script: string, heard: Heard): Promise<number>;
  /** Lets it end. Resolves to what was written to stderr. */
  end(): Promise<string>;
}

export interface Heard {
  data(chunk: Buffer): void;
  told?(): void;
}

/** In a script: tells of something, in the middle of what is written. */
export const TELL = "tell";

/** Of stderr so much is read. */
const MOST_SAID = 256 * 1024;

interface Waiting extends Heard {
  done(code: number): void;
  lost(error: unknown): void;
}

/** Speaks with `sh`, started with a stdin and split streams. */
export function speakWithScripts(process: Process): ScriptShell {
  const secret = randomBytes(16).toString("hex");
  const queue: Waiting[] = [];
  let ended: unknown;
  const reader = readMarkers(secret, {
    data: (chunk) => queue[0]?.data(chunk),
    marker(_, words) {
      if (words === "told") return queue[0]?.told?.();
      queue.shift()?.done(Number(words));
    },
  });
  const lose = (error: unknown) => {
    ended ??= error;
    for (const each of queue.splice(0)) each.lost(ended);
  };
  const look = setInterval(() => {
    if (process.output.size > process.output.kept) void process.kill();
  }, LOOK_MS);
  const followed = (async () => {
    for await (const chunk of process.output.follow())
      reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  })();
  void followed
    .then(() => process.exit)
    .then(() => lose(new ToolFailure("the search has ended in the middle")), lose) // or what was heard could not be made sense of
    .finally(() => clearInterval(look));
  const write = (text: string) => void process.write(text).catch(() => undefined); // it shows in the end
  write(PREAMBLE.replaceAll("SECRET", secret));

  return {
    ask: (script, heard) =>
      new Promise((done, lost) => {
        if (ended !== undefined) return lost(ended);
        queue.push({ ...heard, done, lost });
        write(`{\n${script}\n} </dev/null; answer $?\n`);
      }),
    async end() {
      await process.endInput();
      await process.exit;
      return Buffer.from((await process.errors?.read(0, MOST_SAID)) ?? []).toString("latin1");
    },
  };
}

const PREAMBLE = `
LC_ALL=C; export LC_ALL
unset GREP_OPTIONS GREP_COLOR POSIXLY_CORRECT
answer() { printf '\\001SECRET:0 %s\\n' "$1"; }
tell() { printf '\\001SECRET:0 told\\n'; }
`;
