import type { Backend, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWords } from "../../util/quote.ts";

/** A tmux client in control mode (tmux(1), CONTROL MODE) that stays open. */
export interface Control {
  /**
   * Runs one tmux command, and resolves to its output lines. Several can be sent without waiting; they are answered in
   * order. Rejects with a `ToolFailure` with tmux's message when it fails, and with `ControlEnded` when the client ends
   * first.
   */
  send(words: readonly string[]): Promise<readonly string[]>;
  /** False after the client has ended. */
  readonly isOpen: boolean;
  /** Detaches the client. Resolves when it has ended. Never rejects. */
  close(): Promise<void>;
}

/** The client has ended: the session, the server or the connection is gone. */
export class ControlEnded extends ToolFailure {}

/** Bytes of output after which another client takes over: at 256 KiB a log leaves memory and is read less promptly. */
const MOST_HEARD = 196_608;

/** Attaches to an existing session. `tmux`: the program with the options that select the server. */
export async function openControl(
  inner: Backend,
  { tmux, session }: { readonly tmux: readonly string[]; readonly session: string },
): Promise<Control> {
  const options = ["-t", `=${session}`, "-f", "no-output,ignore-size"];
  const attach = quoteWords([...tmux, "-u", "-C", "attach-session", ...options]);
  const client = await inner.spawn({
    argv: ["sh", "-c", `unset TMUX TMUX_PANE; exec ${attach}`],
    stdin: "pipe",
    streams: "split",
  });
  const waiting: ((answer: readonly string[] | Error) => void)[] = [];
  let heard = 0;
  let isOpen = true;
  const reader = readControl({
    answered({ isOurs, failed, lines }) {
      if (!isOurs) return;
      const answer = failed ? new ToolFailure(`tmux: ${lines.join(" ") || "it failed"}`) : lines;
      waiting.shift()?.(answer);
    },
    told(name) {
      if (name === "exit") end();
    },
  });
  const end = () => {
    isOpen = false;
    for (const settle of waiting.splice(0)) settle(new ControlEnded("the tmux session has ended"));
  };
  void (async () => {
    for await (const chunk of client.output.follow()) {
      heard += chunk.length;
      reader.write(chunk);
    }
  })().finally(end);
  void client.exit.then(end);

  return {
    async send(words) {
      if (!isOpen) throw new ControlEnded("the tmux session has ended");
      const answer = new Promise<readonly string[]>((resolve, reject) => {
        waiting.push((given) => (given instanceof Error ? reject(given) : resolve(given)));
      });
      await Promise.all([answer, client.write(`${words.map(controlWord).join(" ")}\n`).catch(end)]);
      return answer;
    },
    get isOpen() {
      return isOpen && (waiting.length > 0 || heard < MOST_HEARD);
    },
    async close() {
      await leave(client);
      end();
    },
  };
}

/** The output of tmux in control mode. */
export interface ControlHeard {
  /** Called with the answer of a command. `isOurs`: this client sent it. */
  answered(answer: { readonly isOurs: boolean; readonly failed: boolean; readonly lines: readonly string[] }): void;
  /** Called with a notification: "window-close" with "@3". */
  told(name: string, words: string): void;
}

/** Parses the output of a client in control mode, in chunks of any size. */
export function readControl(heard: ControlHeard): { write(chunk: Uint8Array): void } {
  const decoder = new TextDecoder();
  let rest = "";
  /** The words after `%begin`. The end of the same answer repeats them. */
  let open: string | undefined;
  let lines: string[] = [];
  const take = (line: string) => {
    if (open !== undefined) {
      const end = /^%(end|error) (.*)$/.exec(line);
      if (end?.[2] !== open) return void lines.push(line);
      heard.answered({ isOurs: open.endsWith(" 1"), failed: end[1] === "error", lines });
      open = undefined;
      return;
    }
    const [, name, words = ""] = /^%([a-z-]+)(?: (.*))?$/s.exec(line) ?? [];
    if (name !== "begin") return name === undefined ? undefined : heard.told(name, words);
    open = words;
    lines = [];
  };
  return {
    write(chunk) {
      const all = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = all.pop() ?? "";
      for (const line of all) take(line.endsWith("\r") ? line.slice(0, -1) : line);
    },
  };
}

/**
 * Quotes a word for tmux: in double quotes; `\\`, `"`, `$` escaped, `~` and control characters octal (tmux(1), PARSING
 * SYNTAX).
 */
export function controlWord(word: string): string {
  const quoted = word
    .replace(/["\\$]/g, "\\$&")
    .replace(/[\0-\x1f\x7f~]/g, (found) => `\\${found.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `"${quoted}"`;
}

/** Detaches a client with an empty line, and ends its process. */
async function leave(client: Process): Promise<void> {
  await client.write("\n").catch(() => undefined);
  await client.endInput().catch(() => undefined);
  await client.kill();
  await Promise.all([client.output.dispose(), client.errors?.dispose()]);
}
