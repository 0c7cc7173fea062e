import { randomBytes } from "node:crypto";
import { type MarkerReader, readMarkers } from "./markers.ts";
import type { Line, LineEnd } from "./transport.ts";

/** A shell is ready, its profile read, so long after it was started at the latest: 30 s. */
const READY_MS = 30_000;

/** Of what a line says on stderr so much is kept, for saying why it ended. */
const MOST_SAID = 8_192;

/** A POSIX shell on another system, held open: it runs scripts of ours one after the other. */
export interface Shell {
  /**
   * Runs a script in a subshell, its stdin at its end and its stderr with its stdout. Several may be asked without waiting: they travel together and are answered in
   * order. With `input` the script reads exactly those bytes from its stdin. Rejects with `LineLost` when the shell ends before it has answered.
   */
  ask(script: string, options?: AskInput): Promise<Answer>;
  /**
   * Runs a script whose streams are handed on as they come. Its stdin is what is written to the stream. It may tell things with the function `hr_tell WORD…` on any of its two
   * output streams. Nothing else can be asked of this shell until it has ended.
   */
  stream(script: string, heard: Heard): Streaming;
  /** False once it has ended, or when what was streamed has ended its input. */
  readonly isUsable: boolean;
  /** True while something that was asked has not been answered. */
  readonly owesAnswer: boolean;
  /** Settles when it has ended. Never rejects. */
  readonly ended: Promise<LineEnd>;
  /** Lets it end, as at the end of its script. */
  end(): void;
  /** Ends it at once, from this side. */
  kill(): void;
}

export interface AskInput {
  readonly input?: Uint8Array;
  /** Takes what the script writes, as it comes; `Answer.out` stays empty then. Default: it is gathered. */
  readonly heard?: (chunk: Buffer) => void;
  /** True: the script runs in the shell itself, not in a subshell, so that what it sets (variables, traps) stays. Not together with `input`. Default false. */
  readonly stays?: boolean;
}

export interface Answer {
  /** The script's exit code. */
  readonly status: number;
  /** All that it wrote. */
  readonly out: Buffer;
}

/** What is heard of a script that is streamed. */
export interface Heard {
  out(chunk: Buffer): void;
  err(chunk: Buffer): void;
  /** What the script told with `hr_tell`. */
  told(words: string): void;
}

export interface Streaming {
  /** Resolves when all that it writes has come and nobody holds its streams any more. Rejects with `LineLost`. */
  readonly finished: Promise<void>;
  /** To the script's stdin. Resolves when it is on its way. Rejects when the line has ended. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the script's stdin, and with it, afterwards, the shell. */
  endInput(): Promise<void>;
  /** No more is read until `resume`: who writes there waits. */
  pause(): void;
  resume(): void;
}

/** The line to a shell has ended before what was asked of it was done. */
export class LineLost extends Error {
  readonly end: LineEnd;
  /** Nothing of the script was sent, so nothing of it has run. */
  readonly unsent: boolean;

  constructor(end: LineEnd, unsent: boolean) {
    super("the line has ended");
    this.end = end;
    this.unsent = unsent;
  }
}

/** A script that is waited for. */
interface Waiting {
  readonly about: number;
  /** What it writes. */
  readonly heard: (chunk: Buffer) => void;
  /** Sends it, or what is left to send. */
  readonly send: () => void;
  /** It reads from stdin, so nothing may stand there behind it. */
  readonly isAlone: boolean;
  marker(words: string): void;
  lost(error: LineLost): void;
}

/**
 * Speaks with the shell on the line. `preamble` defines what later scripts call; it is read before anything is asked.
 *
 * @throws LineLost when the line ends before the shell is ready, and when that takes longer than 30 s.
 */
export async function speakWith(line: Line, preamble: string): Promise<Shell> {
  const secret = randomBytes(16).toString("hex");
  const queue: Waiting[] = [];
  let sent = 0;
  let numbers = 0;
  let streaming: { about: number; heard: Heard; ends: number; done(): void; lost(error: LineLost): void } | undefined;
  let isReady = false;
  let inputEnded = false;
  let end: LineEnd | undefined;
  let said = "";

  const write = (text: string | Uint8Array) => {
    if (!line.stdin.destroyed) line.stdin.write(text);
  };

  /** Sends what may be sent: everything up to a script that reads stdin, and nothing behind it until it is done. */
  const sendOn = () => {
    for (; sent < queue.length && streaming === undefined; sent++) {
      const next = queue[sent];
      if (next === undefined || (sent > 0 && (next.isAlone || queue[sent - 1]?.isAlone === true))) return;
      next.send();
    }
  };

  const answered = () => {
    queue.shift();
    sent--;
    sendOn();
  };

  const stdout: MarkerReader = readMarkers(secret, {
    data(chunk) {
      if (streaming !== undefined) streaming.heard.out(chunk);
      else if (isReady) queue[0]?.heard(chunk);
    },
    marker: (about, words) => marker(about, words),
  });
  const stderr: MarkerReader = readMarkers(secret, {
    data(chunk) {
      if (streaming !== undefined) streaming.heard.err(chunk);
      else said = (said + chunk.toString("utf8")).slice(-MOST_SAID);
    },
    marker: (about, words) => marker(about, words),
  });
  const marker = (about: number, words: string) => {
    if (about === 0) isReady = true;
    if (streaming?.about === about) {
      if (words !== "end") return streaming.heard.told(words);
      if (++streaming.ends === 2) streaming.done();
      return;
    }
    if (queue[0]?.about === about) queue[0].marker(words);
  };

  line.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  line.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  for (const stream of [line.stdin, line.stdout, line.stderr]) stream.on("error", () => undefined); // it shows in the end
  const ended = line.ended.then((how) => {
    end = { ...how, said: (said + how.said).trim() };
    const lostOne = streaming;
    streaming = undefined;
    lostOne?.lost(new LineLost(end, false));
    for (const [index, each] of queue.splice(0).entries()) each.lost(new LineLost(end, index >= sent));
    return end;
  });

  const enqueue = (
    make: (about: number, resolve: (answer: Answer) => void) => Omit<Waiting, "about" | "lost" | "heard">,
    heard: Waiting["heard"],
  ) =>
    new Promise<Answer>((resolve, reject) => {
      if (end !== undefined) return reject(new LineLost(end, true));
      const about = ++numbers;
      queue.push({ about, heard, lost: reject, ...make(about, resolve) });
      sendOn();
    });

  const shell: Shell = {
    ask(script, { input, heard, stays = false } = {}) {
      const [open, close] = stays ? ["{", "}"] : ["(", ")"];
      const chunks: Buffer[] = [];
      return enqueue(
        (about, resolve) => {
          const name = `${secret}:${about}`;
          const answer = `printf '\\001%s %s\\n' '${name}' "$?"`;
          return {
            isAlone: input !== undefined,
            send: () =>
              write(
                input === undefined
                  ? `${open} ${script}\n${close} </dev/null 2>&1; ${answer}\n`
                  : `printf '\\001%s ready\\n' '${name}'; (${script}\n) 2>&1; ${answer}\n`,
              ),
            marker(words) {
              if (words === "ready") return write(input ?? "");
              answered();
              resolve({ status: Number(words), out: Buffer.concat(chunks) });
            },
          };
        },
        heard ?? ((chunk) => chunks.push(chunk)),
      );
    },
    stream(script, heard) {
      if (queue.length > 0 || streaming !== undefined) throw new Error("a shell that is asked something cannot stream");
      const about = ++numbers;
      const name = `${secret}:${about}`;
      const finished = new Promise<void>((resolve, reject) => {
        if (end !== undefined) return reject(new LineLost(end, true));
        const done = () => {
          streaming = undefined;
          line.stdout.resume();
          line.stderr.resume();
          resolve();
          sendOn();
        };
        streaming = { about, heard, ends: 0, done, lost: reject };
        write(`hr_n='${name}'; {\n${script}\n}; hr_tell end; hr_tell end >&2\n`);
      });
      finished.catch(() => undefined); // told to whoever waits for it
      return {
        finished,
        write: (bytes) =>
          new Promise((resolve, reject) => {
            if (end !== undefined || line.stdin.destroyed) return reject(new Error("the line has ended"));
            line.stdin.write(bytes, (error) => (error ? reject(error) : resolve()));
          }),
        endInput: () =>
          new Promise((resolve) => {
            inputEnded = true;
            if (line.stdin.destroyed) return resolve();
            line.stdin.end(() => resolve());
          }),
        pause() {
          line.stdout.pause();
          line.stderr.pause();
        },
        resume() {
          line.stdout.resume();
          line.stderr.resume();
        },
      };
    },
    get isUsable() {
      return end === undefined && !inputEnded;
    },
    get owesAnswer() {
      return queue.length > 0;
    },
    ended,
    end() {
      inputEnded = true;
      line.stdin.end();
    },
    kill: () => line.kill(),
  };

  const timer = setTimeout(() => {
    said += `\nno shell was ready within ${READY_MS / 1_000} s`;
    line.kill();
  }, READY_MS);
  try {
    // Nothing may stand behind this on stdin until it is read: what reads the profile could take it.
    const ready = new Promise<void>((resolve, reject) => {
      queue.push({
        about: 0,
        heard: () => undefined,
        isAlone: true,
        send: () => undefined,
        lost: reject,
        marker: () => (answered(), resolve()),
      });
      sent = 1;
    });
    write(`${TELL}\n${preamble}\nhr_n='${secret}:0'; hr_tell ready\n`);
    await ready;
    said = "";
  } finally {
    clearTimeout(timer);
  }
  return shell;
}

/** Writes a marker about what runs now. */
const TELL = `hr_tell() { printf '\\001%s %s\\n' "$hr_n" "$*"; }`;
