import { AssertionError, deepEqual, equal, fail, ok } from "node:assert/strict";
import { posix } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Backend, Command, Exit, OutputLog, Process } from "../../../src/core/contract/backend.ts";
import { ToolFailure } from "../../../src/core/contract/failure.ts";

/** Tests of the suite by their titles. */
export type Cases = { readonly [title: string]: (scene: Scene) => Promise<void> };

/** Allowed differences between backends. */
export interface Differences {
  /**
   * How the end by a signal is reported for a process that is not the backend's own: "name" as `{ how: "signaled" }`,
   * or "code" as a shell in between does, `{ how: "exited", code: 128 + n }`. Default "name".
   */
  readonly signals: "name" | "code";
  /** `Process.id`: "process" is the number that the process sees in `$$`. Default "process". */
  readonly ids: "process" | "other";
}

/** The environment of a test. */
export interface Scene {
  /** Shared with other tests: do not close it. */
  readonly backend: Backend;
  readonly differences: Differences;
  /** A folder for this test alone: empty, absolute, real. */
  readonly folder: string;
  /** The absolute path of a name in it. */
  at(name: string): string;
  /** Writes a file of the folder. */
  write(name: string, content: string | Uint8Array): Promise<void>;
  /** Reads a whole file of the folder. */
  read(name: string): Promise<Buffer>;
  /** Runs a script of sh in the folder, to its end. */
  sh(script: string, command?: Omit<Command, "argv">): Promise<Ran>;
  /** Another backend on the same target; closed when the test ends. */
  open(): Promise<Backend>;
  /** Closes what the test has opened. */
  end(): Promise<void>;
}

/** A process that has ended. */
export interface Ran {
  readonly exit: Exit;
  readonly bytes: Buffer;
  /** The output as text. */
  readonly output: string;
  /** stderr of split streams; else "". */
  readonly errors: string;
}

/** How long a test waits for what must happen soon, also on a slow and busy machine. */
const PATIENCE_MS = 20_000;

let scenes = 0;

/** A scene in a new folder under `folder`, which is relative to the working directory. */
export async function createScene(
  backend: Backend,
  within: { readonly folder: string; readonly differences: Differences; open(): Promise<Backend> },
): Promise<Scene> {
  const folder = posix.join(backend.workDir, within.folder, String(++scenes));
  const at = (name: string) => posix.join(folder, name);
  const mine: Backend[] = [];
  // `write` creates folders; no other method does.
  await backend.files.write(at("first"), new Uint8Array());
  await backend.files.remove(at("first"));
  return {
    backend,
    differences: within.differences,
    folder,
    at,
    async write(name, content) {
      await backend.files.write(at(name), Buffer.from(content));
    },
    read: (name) => readWhole(backend, at(name)),
    sh: (script, command) => run(backend, inShell(script, { cwd: folder, ...command })),
    async open() {
      const another = await within.open();
      mine.push(another);
      return another;
    },
    async end() {
      await Promise.all(mine.map((each) => each.close()));
    },
  };
}

/** The command that runs a script of sh. */
export function inShell(script: string, more: Omit<Command, "argv"> = {}): Command {
  return { argv: ["sh", "-c", script], ...more };
}

/** A script that waits until the test writes the file "go" into its folder. */
export const UNTIL_GO = "while [ ! -e go ]; do sleep 0.05 2>/dev/null || sleep 1; done";

/** Runs a command to its end. */
export async function run(backend: Backend, command: Command): Promise<Ran> {
  const child = await backend.spawn(command);
  const exit = await child.exit;
  const bytes = await whole(child.output);
  const errors = child.errors === undefined ? "" : (await whole(child.errors)).toString();
  await Promise.all([child.output.dispose(), child.errors?.dispose()]);
  return { exit, bytes, output: bytes.toString(), errors };
}

/** Everything that a log keeps. */
export async function whole(log: OutputLog): Promise<Buffer> {
  return Buffer.from(await log.read(0, log.kept));
}

/** The output of a process so far, as text. */
export async function textOf({ output }: Process): Promise<string> {
  return (await whole(output)).toString();
}

/** Requires that the process ends soon by itself, with this exit code and, if given, this output. */
export async function exits(child: Process, code: number, output?: string): Promise<void> {
  deepEqual(await soon("it ends", child.exit), { how: "exited", code });
  if (output !== undefined) equal(await textOf(child), output);
}

/** The names of entries. */
export function namesOf(entries: readonly { readonly name: string }[]): readonly string[] {
  return entries.map(({ name }) => name);
}

/** The content of a file, with the length that `open` reports. */
async function readWhole(backend: Backend, path: string): Promise<Buffer> {
  const file = await backend.files.open(path);
  try {
    return Buffer.from(await file.read(0, file.info.size));
  } finally {
    await file.close();
  }
}

/** Returns the message of the `ToolFailure` with which the promise must reject soon. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await soon(
    "it fails",
    work.then(
      () => fail("expected a ToolFailure, but it succeeded"),
      (reason: unknown) => reason,
    ),
  );
  ok(error instanceof ToolFailure, `expected a ToolFailure, got ${String(error)}`);
  return error.message;
}

/** Returns the value of the promise, which must resolve soon, so that a test fails instead of hanging. */
export async function soon<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AssertionError({ message: inVain(what) })), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until the condition holds. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) fail(inVain(what));
    await pause(LOOK_MS);
  }
}

const LOOK_MS = 20;

function inVain(what: string): string {
  return `waited ${PATIENCE_MS} ms in vain until ${what}`;
}
