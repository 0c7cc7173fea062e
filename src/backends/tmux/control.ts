import type { Backend, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWords } from "../../util/shell.ts";

/** A client of tmux in control mode (tmux(1), CONTROL MODE), held open. */
export interface Control {
  /**
   * Runs one tmux command, and resolves to the lines that it printed. Several may be sent without waiting: they are answered in order. Rejects with a `ToolFailure`
   * of tmux' own words when it fails, and with `ControlEnded` when the client has ended before the answer came.
   */
  send(words: readonly string[]): Promise<readonly string[]>;
  /** False once it has ended. */
  readonly isOpen: boolean;
  /** Detaches it. Resolves when it has ended. Never rejects. */
  close(): Promise<void>;
}

/** The client has ended: the session is gone, or the server, or the way there. */
class ControlEnded extends ToolFailure {}

/** Its log leaves memory at 256 KiB and is read less promptly from then on, so before that another client takes over. */
const MOST_HEARD = 196_608;

/** Attaches to a session that is there. `tmux` is the program with the options that say which server. */
export async function openControl(
  inner: Backend,
  { tmux, session }: { readonly tmux: readonly string[]; readonly session: string },
): Promise<Control> {
  const attach = quoteWords([
    ...tmux,
    "-u",
    "-C",
    "attach-session",
    "-t",
    `=${session}`,
    "-f",
    "no-output,ignore-size",
  ]);
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

/** What tmux says in control mode. */
export interface ControlHeard {
  /** A command has been answered; `isOurs` when it came from this client. */
  answered(answer: { readonly isOurs: boolean; readonly failed: boolean; readonly lines: readonly string[] }): void;
  /** Something has happened: "window-close" with "@3". */
  told(name: string, words: string): void;
}

/** Reads what a client in control mode prints, in chunks of any size. */
export function readControl(heard: ControlHeard): { write(chunk: Uint8Array): void } {
  const decoder = new TextDecoder();
  let rest = "";
  /** The words behind `%begin`, which stand behind the end of the same answer too. */
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

/** One word as tmux reads it: in double quotes, where `\`, `"` and `$` are special, and `~` and what is not seen as octal numbers (tmux(1), PARSING SYNTAX). */
export function controlWord(word: string): string {
  const quoted = word
    .replace(/["\\$]/g, "\\$&")
    .replace(/[\0-\x1f\x7f~]/g, (found) => `\\${found.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `"${quoted}"`;
}

/** An empty line detaches a client; where nobody reads it any more, it is ended. */
async function leave(client: Process): Promise<void> {
  await client.write("\n").catch(() => undefined);
  await client.endInput().catch(() => undefined);
  await client.kill();
  await Promise.all([client.output.dispose(), client.errors?.dispose()]);
}
