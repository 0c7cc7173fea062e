import { randomBytes } from "node:crypto";
import { readMarkers } from "./markers.ts";
import type { Line, LineEnd } from "./transport.ts";

/** How long a shell may take to start and read its profile: 30 s. */
const READY_MS = 30_000;

/** Characters of a line's stderr that are kept to explain its end. */
const MOST_SAID = 8_192;

/** A POSIX shell on a remote host that stays open and runs scripts one after another. */
export interface Shell {
  /**
   * Runs a script in a subshell, with empty stdin and with stderr merged into stdout. Several scripts can be sent
   * without waiting; they are answered in order. With `input`, the script reads exactly those bytes from its stdin.
   * Rejects with `LineLost` if the shell ends before it has answered.
   */
  ask(script: string, options?: AskInput): Promise<Answer>;
  /**
   * Runs a script and passes its output on as it arrives. Its stdin is what is written to the stream. The script can
   * report words with the function `hr_tell WORD…` on either output stream. Nothing else can be asked of this shell
   * until the script has ended.
   */
  stream(script: string, heard: Heard): Streaming;
  /** False after the shell has ended, or after the input of a streamed script was ended. */
  readonly isUsable: boolean;
  /** True while a script has not been answered. */
  readonly owesAnswer: boolean;
  /** Resolves when the shell has ended. Never rejects. */
  readonly ended: Promise<LineEnd>;
  /** Ends the shell's stdin, so that it exits after its last script. */
  end(): void;
  /** Kills the local program of the line at once. */
  kill(): void;
}

export interface AskInput {
  readonly input?: Uint8Array;
  /** Called with each chunk of output; `Answer.out` is then empty. Default: the output is collected. */
  readonly heard?: (chunk: Buffer) => void;
  /** True: runs in the shell itself, so that variables and traps persist. Not with `input`. Default: false. */
  readonly stays?: boolean;
}

export interface Answer {
  /** The script's exit code. */
  readonly status: number;
  /** The script's output, stdout and stderr. */
  readonly out: Buffer;
}

/** Receives the output and reports of a streamed script. */
export interface Heard {
  out(chunk: Buffer): void;
  err(chunk: Buffer): void;
  /** Called with the words of each `hr_tell`. */
  told(words: string): void;
}

export interface Streaming {
  /** Resolves when all output has arrived and both streams are closed. Rejects with `LineLost`. */
  readonly finished: Promise<void>;
  /** Writes to the script's stdin. Resolves when the bytes are sent. Rejects if the line has ended. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the script's stdin. The shell ends too, after the script. */
  endInput(): Promise<void>;
  /** Stops reading until `resume`; the remote program waits when it writes. */
  pause(): void;
  resume(): void;
}

/** The line to a shell ended before a script was answered. */
export class LineLost extends Error {
  readonly end: LineEnd;
  /** True: the script was not sent, so nothing of it has run. */
  readonly unsent: boolean;

  constructor(end: LineEnd, unsent: boolean) {
    super("the line has ended");
    this.end = end;
    this.unsent = unsent;
  }
}

/** A script that has not been answered. */
interface Waiting {
  readonly about: number;
  /** Called with its output. */
  readonly heard: (chunk: Buffer) => void;
  /** Sends the script. */
  readonly send: () => void;
  /** Whether the script reads from stdin, so that no other script may be sent before it has ended. */
  readonly isAlone: boolean;
  marker(words: string): void;
  lost(error: LineLost): void;
}

/** Scripts that have not been answered, in the order in which they are sent. */
function createQueue(maySend: () => boolean) {
  const queue: Waiting[] = [];
  let sent = 0;
  /** Sends scripts up to one that reads stdin. Nothing is sent after that script until it is answered. */
  const sendOn = () => {
    for (; sent < queue.length && maySend(); sent++) {
      const next = queue[sent];
      if (next === undefined || (sent > 0 && (next.isAlone || queue[sent - 1]?.isAlone === true))) return;
      next.send();
    }
  };
  return {
    add(script: Waiting) {
      queue.push(script);
      sendOn();
    },
    /** The script that is answered next. */
    get first() {
      return queue[0];
    },
    /** The first one was answered. */
    answered() {
      queue.shift();
      sent--;
      sendOn();
    },
    sendOn,
    /** The line has ended. */
    lose(end: LineEnd) {
      for (const [index, each] of queue.splice(0).entries()) each.lost(new LineLost(end, index >= sent));
    },
  };
}

/**
 * Prepares the shell at the end of a line. `preamble` defines functions that later scripts call; the shell reads it
 * first.
 *
 * @throws LineLost when the line ends before the shell is ready, or that takes longer than 30 s.
 */
export async function speakWith(line: Line, preamble: string): Promise<Shell> {
  const secret = randomBytes(16).toString("hex");
  const scripts = createQueue(() => streaming === undefined);
  let numbers = 0;
  let streaming: { about: number; heard: Heard; ends: number; done(): void; lost(error: LineLost): void } | undefined;
  let isReady = false;
  let inputEnded = false;
  let end: LineEnd | undefined;
  let message = "";

  const write = (text: string | Uint8Array) => {
    if (!line.stdin.destroyed) line.stdin.write(text);
  };

  const stdout = readMarkers(secret, {
    data(chunk) {
      if (streaming !== undefined) streaming.heard.out(chunk);
      else if (isReady) scripts.first?.heard(chunk);
    },
    marker: (about, words) => marker(about, words),
  });
  const stderr = readMarkers(secret, {
    data(chunk) {
      if (streaming !== undefined) streaming.heard.err(chunk);
      else message = (message + chunk.toString("utf8")).slice(-MOST_SAID);
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
    if (scripts.first?.about === about) scripts.first.marker(words);
  };

  line.stdout.on("data", stdout);
  line.stderr.on("data", stderr);
  // `ended` reports it
  for (const stream of [line.stdin, line.stdout, line.stderr]) stream.on("error", () => undefined);
  const ended = line.ended.then((how) => {
    end = { ...how, message: (message + how.message).trim() };
    const lostOne = streaming;
    streaming = undefined;
    lostOne?.lost(new LineLost(end, false));
    scripts.lose(end);
    return end;
  });

  const enqueue = (
    make: (about: number, resolve: (answer: Answer) => void) => Omit<Waiting, "about" | "lost" | "heard">,
    heard: Waiting["heard"],
  ) =>
    new Promise<Answer>((resolve, reject) => {
      if (end !== undefined) return reject(new LineLost(end, true));
      const about = ++numbers;
      scripts.add({ about, heard, lost: reject, ...make(about, resolve) });
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
              scripts.answered();
              resolve({ status: Number(words), out: Buffer.concat(chunks) });
            },
          };
        },
        heard ?? ((chunk) => chunks.push(chunk)),
      );
    },
    stream(script, heard) {
      if (scripts.first !== undefined || streaming !== undefined)
        throw new Error("a shell that is asked something cannot stream");
      const about = ++numbers;
      const name = `${secret}:${about}`;
      const finished = new Promise<void>((resolve, reject) => {
        if (end !== undefined) return reject(new LineLost(end, true));
        const done = () => {
          streaming = undefined;
          line.stdout.resume();
          line.stderr.resume();
          resolve();
          scripts.sendOn();
        };
        streaming = { about, heard, ends: 0, done, lost: reject };
        write(`hr_n='${name}'; {\n${script}\n}; hr_tell end; hr_tell end >&2\n`);
      });
      finished.catch(() => undefined); // callers that await it get the error
      return streamingOn(line, finished, {
        isEnded: () => end !== undefined,
        inputEnds: () => (inputEnded = true),
      });
    },
    get isUsable() {
      return end === undefined && !inputEnded;
    },
    get owesAnswer() {
      return scripts.first !== undefined;
    },
    ended,
    end() {
      inputEnded = true;
      line.stdin.end();
    },
    kill: () => line.kill(),
  };

  const timer = setTimeout(() => {
    message += `\nno shell was ready within ${READY_MS / 1_000} s`;
    line.kill();
  }, READY_MS);
  try {
    // Nothing may follow this on stdin until it is read: a program in the profile that reads stdin could take it.
    const ready = new Promise<void>((resolve, reject) => {
      scripts.add({
        ...{ about: 0, isAlone: true, lost: reject },
        heard: () => undefined,
        send: () => undefined,
        marker: () => (scripts.answered(), resolve()),
      });
    });
    write(`${TELL}\n${preamble}\nhr_n='${secret}:0'; hr_tell ready\n`);
    await ready;
    message = "";
  } finally {
    clearTimeout(timer);
  }
  return shell;
}

/** The function that writes a marker for the running script. */
const TELL = `hr_tell() { printf '\\001%s %s\\n' "$hr_n" "$*"; }`;

/** The streams of a script that runs on a line. */
function streamingOn(
  { stdin, stdout, stderr }: Line,
  finished: Promise<void>,
  { isEnded, inputEnds }: { isEnded(): boolean; inputEnds(): void },
): Streaming {
  return {
    finished,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (isEnded() || stdin.destroyed) return reject(new Error("the line has ended"));
        stdin.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
    endInput: () =>
      new Promise((resolve) => {
        inputEnds();
        if (stdin.destroyed) return resolve();
        stdin.end(() => resolve());
      }),
    pause() {
      stdout.pause();
      stderr.pause();
    },
    resume() {
      stdout.resume();
      stderr.resume();
    },
  };
}
