import { randomBytes } from "node:crypto";
import type { Backend, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { later } from "../../core/util/promises.ts";
import { closedFailure } from "../process/run.ts";
import PROCESSES from "../shell/processes.sh";
import { spawnOwn } from "./own-programs.ts";
import PANE_STATE from "./pane-state.sh";
import SET_UP from "./set-up.sh";

/** A POSIX shell on the target that stays open, with a folder through which commands and their watchers communicate. */
export interface HelperShell {
  /**
   * Runs a script in the shell, and again in the next one if the shell ends first. So the script must allow running
   * twice, and must not call `exit`. Rejects with a `ToolFailure` when the second shell ends too.
   */
  ask(script: string): Promise<Answer>;
  /**
   * Runs a script in the background of the shell until `done`, and again in the next shell if the shell ends first. So
   * the script must allow running twice. Resolves when `done` has, or nothing can run there. Never rejects.
   */
  persist(script: string, done: Promise<unknown>): Promise<void>;
  /** The folder of this backend on the target. */
  readonly folder: string;
  /** The path of `sh` on the target. */
  readonly shell: string;
  /** Ends the shell. Resolves when it has ended. Never rejects. */
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  /** The script's output, stdout and stderr. */
  readonly out: Buffer;
}

export interface HelperShellOptions {
  readonly inner: Backend;
  /** The end of the folder's name; it must not be guessable. */
  readonly token: string;
  /** Called with each line that a runner wrote to the FIFO `events` in the folder. */
  heard(line: string): void;
  /** Called after the shell was reopened: events in between may be lost. */
  reopened(): void;
}

/** Bytes of output after which another shell takes over: at 256 KiB a log leaves memory and is read less promptly. */
const MOST_SAID = 196_608;

/** In how many shells in a row a persistent script is started. */
const MOST_SHELLS = 5;

/** Opens the shell, and reopens it at the next request after it has ended. */
export async function openHelperShell({ inner, token, heard, reopened }: HelperShellOptions): Promise<HelperShell> {
  let shell = startShell(inner, token, heard);
  const first = await (await shell).ready;
  let closed = false;
  const usable = async (): Promise<Shell> => {
    const now = await shell.catch(() => undefined);
    if (closed) throw closedFailure();
    if (now?.isUsable === true) return now;
    const before = shell;
    await now?.close();
    if (before === shell) {
      shell = startShell(inner, token, heard);
      void shell.then(reopened, () => undefined);
    }
    return shell;
  };
  const persist = async (script: string, done: Promise<unknown>): Promise<void> => {
    let isDone = false;
    const over = done.then(() => (isDone = true));
    for (let attempt = 0; attempt < MOST_SHELLS && !isDone; attempt++) {
      const now = await usable();
      // If the shell has ended, `ended` reports it.
      const begun = now.ask(`{\n${script}\n} >/dev/null 2>&1 &`).catch(() => undefined);
      await Promise.race([begun.then(() => now.ended), over]);
    }
  };
  return {
    ...first,
    async ask(script) {
      const now = await usable();
      return now.ask(script).catch(async (error: unknown) => {
        if (now.isUsable) throw error;
        return (await usable()).ask(script); // the end of a connection may only be noticed now
      });
    },
    persist: (script, done) => persist(script, done).catch(() => undefined),
    async close() {
      closed = true;
      await (await shell.catch(() => undefined))?.close();
    },
  };
}

interface Shell {
  readonly ready: Promise<Pick<HelperShell, "folder" | "shell">>;
  readonly isUsable: boolean;
  /** It has ended, by itself or closed. Never rejects. */
  readonly ended: Promise<void>;
  ask(script: string): Promise<Answer>;
  close(): Promise<void>;
}

async function startShell(inner: Backend, token: string, heard: (line: string) => void): Promise<Shell> {
  const program = await spawnOwn(inner, { argv: ["sh"], stdin: "pipe", streams: "split" });
  const waiting: { readonly nonce: string; settle(answer: Answer | Error): void }[] = [];
  let isOpen = true;
  const ended = later();
  const end = () => {
    isOpen = false;
    ended.resolve();
    for (const { settle } of waiting.splice(0)) settle(new ToolFailure(`the helper shell on ${inner.name} has ended`));
  };
  void readAnswers(program, waiting).finally(end);
  if (program.errors !== undefined) void readLines(program.errors.follow(), heard);
  const ask = async (script: string): Promise<Answer> => {
    if (!isOpen) throw new ToolFailure(`the helper shell on ${inner.name} has ended`);
    const nonce = randomBytes(16).toString("hex");
    const answer = new Promise<Answer>((resolve, reject) => {
      waiting.push({ nonce, settle: (given) => (given instanceof Error ? reject(given) : resolve(given)) });
    });
    const text = `{\n${script}\n} </dev/null 2>&1\nprintf '\\001%s %s\\n' ${nonce} "$?"\n`;
    await Promise.all([answer, program.write(text).catch(end)]);
    return answer;
  };
  const ready = prepare(program, ask, token);
  await ready.catch(async (error: unknown) => {
    await program.kill();
    throw error;
  });
  return {
    ready,
    get isUsable() {
      return isOpen && (waiting.length > 0 || program.output.size + (program.errors?.size ?? 0) < MOST_SAID);
    },
    ended: ended.promise,
    ask,
    async close() {
      if (isOpen) await program.write("kill $hr_listener; exit\n").catch(() => undefined);
      await program.endInput().catch(() => undefined);
      await program.kill();
      end();
      await Promise.all([program.output.dispose(), program.errors?.dispose()]);
    },
  };
}

async function prepare(
  program: Process,
  ask: (script: string) => Promise<Answer>,
  token: string,
): Promise<Pick<HelperShell, "folder" | "shell">> {
  const folderName = `F=\${TMPDIR:-/tmp}/handrail.${token}`;
  await program.write(`hr_umask=$(umask)\numask 077\n${folderName}\n${PANE_STATE}\n${PROCESSES}\n`);
  const { status, out } = await ask(SET_UP);
  const lines = out.toString().split("\n");
  const [folder = "", shell = ""] = lines.slice(-3);
  if (status !== 0 || !folder.startsWith("/")) {
    throw new ToolFailure(`the helper shell could not create its folder: ${out.toString().trim()}`);
  }
  await program.write('cat <&4 4<&- >&2 & hr_listener=$!\nprintf "%s\\n" "$$" >"$F/helper"\n');
  return { folder, shell };
}

async function readAnswers(
  program: Process,
  waiting: { readonly nonce: string; settle(answer: Answer): void }[],
): Promise<void> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of program.output.follow()) {
    bytes = Buffer.concat([bytes, chunk]);
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const start = bytes.indexOf(`\u0001${first.nonce} `);
      const end = start < 0 ? -1 : bytes.indexOf("\n", start);
      if (end < 0) break;
      const status = Number(bytes.toString("latin1", start + first.nonce.length + 2, end));
      const out = Buffer.from(bytes.subarray(0, start));
      bytes = bytes.subarray(end + 1);
      waiting.shift();
      first.settle({ status, out });
    }
  }
}

async function readLines(chunks: AsyncIterable<Uint8Array>, heard: (line: string) => void): Promise<void> {
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + Buffer.from(chunk).toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) heard(line);
  }
}
