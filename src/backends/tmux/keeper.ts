import { randomBytes } from "node:crypto";
import type { Backend, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { LOOKING } from "./looking-script.ts";
import { STOPPING } from "./stopping-script.ts";

/** A POSIX shell there, held open, that has the folder in which commands and those who watch them meet. */
export interface Keeper {
  /** Runs a script in that shell (no `exit` in it). Rejects with a `ToolFailure` when the shell has ended before it has answered. */
  ask(script: string): Promise<Answer>;
  /**
   * Runs a script in the background of that shell until `done`, and again in the next shell when that one has ended before; so it must bear to be run twice. Resolves when `done`
   * has, or nothing can be run there. Never rejects.
   */
  persist(script: string, done: Promise<unknown>): Promise<void>;
  /** The folder there, for this backend alone. */
  readonly folder: string;
  /** The `sh` there, by its path. */
  readonly shell: string;
  /** Ends the shell. Resolves when it has ended. Never rejects. */
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  /** What it wrote to stdout and stderr. */
  readonly out: Buffer;
}

export interface KeeperOptions {
  readonly inner: Backend;
  /** Ends the folder's name; not to be guessed. */
  readonly token: string;
  /** A line that a runner wrote into the FIFO `events` of the folder. */
  heard(line: string): void;
  /** The shell was opened again: what was told meanwhile may be lost. */
  reopened(): void;
}

/** Its log leaves memory at 256 KiB and is read less promptly from then on, so before that another shell takes over. */
const MOST_SAID = 196_608;

/** So many shells one after the other are tried for what is to go on. */
const MOST_SHELLS = 5;

/** Opens the shell, and again whenever it has ended, at the next question. */
export async function openKeeper({ inner, token, heard, reopened }: KeeperOptions): Promise<Keeper> {
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
      const begun = now.ask(`{\n${script}\n} >/dev/null 2>&1 &`).catch(() => undefined); // the shell has ended: it shows there
      await Promise.race([begun.then(() => now.ended), over]);
    }
  };
  return {
    ...first,
    ask: async (script) => (await usable()).ask(script),
    persist: (script, done) => persist(script, done).catch(() => undefined),
    async close() {
      closed = true;
      await (await shell.catch(() => undefined))?.close();
    },
  };
}

interface Shell {
  readonly ready: Promise<Pick<Keeper, "folder" | "shell">>;
  readonly isUsable: boolean;
  /** It has ended, by itself or closed. Never rejects. */
  readonly ended: Promise<void>;
  ask(script: string): Promise<Answer>;
  close(): Promise<void>;
}

async function startShell(inner: Backend, token: string, heard: (line: string) => void): Promise<Shell> {
  const program = await inner.spawn({ argv: ["sh"], stdin: "pipe", streams: "split" });
  const waiting: { readonly nonce: string; settle(answer: Answer | Error): void }[] = [];
  let isOpen = true;
  let tellEnd: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (tellEnd = resolve));
  const end = () => {
    isOpen = false;
    tellEnd();
    for (const { settle } of waiting.splice(0))
      settle(new ToolFailure(`the shell on ${inner.name} that watches over commands has ended`));
  };
  void readAnswers(program, waiting).finally(end);
  if (program.errors !== undefined) void readLines(program.errors.follow(), heard);
  const ask = async (script: string): Promise<Answer> => {
    if (!isOpen) throw new ToolFailure(`the shell on ${inner.name} that watches over commands has ended`);
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
    ended,
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
): Promise<Pick<Keeper, "folder" | "shell">> {
  await program.write(`hr_umask=$(umask)\numask 077\nF=\${TMPDIR:-/tmp}/handrail.${token}\n${LOOKING}\n${STOPPING}\n`);
  const { status, out } = await ask(SET_UP);
  const lines = out.toString().split("\n");
  const [folder = "", shell = ""] = lines.slice(-3);
  if (status !== 0 || !folder.startsWith("/")) {
    throw new ToolFailure(`a folder for watching over commands could not be made: ${out.toString().trim()}`);
  }
  await program.write('cat <&4 4<&- >&2 & hr_listener=$!\nprintf "%s\\n" "$$" >"$F/keeper"\n');
  return { folder, shell };
}

/**
 * Makes the folder, the FIFO through which runners tell what happens, and the environment of commands: this shell's own, but for what belongs to a
 * terminal or to this one process. What backends that have died left behind is removed after a day.
 */
const SET_UP = String.raw`
hr_left() {
  for hr_old in "${"$"}{TMPDIR:-/tmp}"/handrail.*; do
    [ -f "$hr_old/keeper" ] && [ ! -h "$hr_old" ] && [ -O "$hr_old" ] || continue
    read -r hr_pid <"$hr_old/keeper" && kill -0 "$hr_pid" 2>/dev/null && continue
    [ -n "$(find "$hr_old" -prune -mtime +0 2>/dev/null)" ] && rm -rf "$hr_old"
  done
}
[ -d "$F" ] || { mkdir "$F" && hr_left 2>/dev/null; }
[ -p "$F/events" ] || mkfifo "$F/events"
[ -s "$F/environment" ] || (
  unset TERM TMUX TMUX_PANE HANDRAIL_PROCESS PWD OLDPWD SHLVL _
  { printf 'umask %s\n' "$hr_umask"; export -p; } >"$F/environment"
)
exec 4<>"$F/events"
cd -P "$F" && F=$PWD && printf '%s\n%s\n' "$F" "$(command -v sh)" && [ -p "$F/events" ] && [ -f "$F/environment" ]`;

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

function closedFailure(): ToolFailure {
  return new ToolFailure("the backend is closed: nothing can be started on it any more");
}
