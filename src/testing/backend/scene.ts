import { AssertionError, fail, ok } from "node:assert/strict";
import { posix } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Backend, Command, Exit, OutputLog } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";

/** Tests of the suite by their titles. */
export type Cases = { readonly [title: string]: (scene: Scene) => Promise<void> };

/** In what backends may differ. */
export interface Differences {
  /**
   * How it is told that a signal has ended a process that was not the backend's own: "name" as `{ how: "signaled" }`, or "code" as a shell
   * does that stands between, `{ how: "exited", code: 128 + n }`. Default "name".
   */
  readonly signals: "name" | "code";
  /** What `Process.id` is: "process", the number that a process itself reads in `$$`; "other", something else. Default "process". */
  readonly ids: "process" | "other";
}

/** What a test works with. */
export interface Scene {
  /** Shared with the other tests: not to be closed. */
  readonly backend: Backend;
  readonly differences: Differences;
  /** A folder for this test alone: empty, absolute, real. */
  readonly folder: string;
  /** The absolute path of a name in it. */
  at(name: string): string;
  /** Writes a file of the folder. */
  write(name: string, content: string | Uint8Array): Promise<void>;
  /** Reads a file of the folder whole. */
  read(name: string): Promise<Buffer>;
  /** Runs a script of sh in the folder, to its end. */
  sh(script: string, command?: Omit<Command, "argv">): Promise<Ran>;
  /** Another backend on the same place; closed when the test ends. */
  open(): Promise<Backend>;
  /** Lets go of what the test has opened. */
  end(): Promise<void>;
}

/** A process that has ended. */
export interface Ran {
  readonly exit: Exit;
  readonly bytes: Buffer;
  /** The same as text. */
  readonly output: string;
  /** Of split streams. "" for none. */
  readonly errors: string;
}

/** So long is waited for what must happen soon, on a slow and busy machine too. */
const PATIENCE_MS = 20_000;

let scenes = 0;

/** A scene in a new folder under `folder`, which is relative to the working directory. */
export async function createScene(
  backend: Backend,
  {
    folder: root,
    differences,
    open,
  }: { readonly folder: string; readonly differences: Differences; open(): Promise<Backend> },
): Promise<Scene> {
  const folder = posix.join(backend.workDir, root, String(++scenes));
  const at = (name: string) => posix.join(folder, name);
  const mine: Backend[] = [];
  // Writing makes folders; nothing else of a backend does.
  await backend.files.write(at("first"), new Uint8Array());
  await backend.files.remove(at("first"));
  return {
    backend,
    differences,
    folder,
    at,
    async write(name, content) {
      await backend.files.write(at(name), Buffer.from(content));
    },
    read: (name) => readWhole(backend, at(name)),
    sh: (script, command) => run(backend, { argv: ["sh", "-c", script], cwd: folder, ...command }),
    async open() {
      const another = await open();
      mine.push(another);
      return another;
    },
    async end() {
      await Promise.all(mine.map((each) => each.close()));
    },
  };
}

/** Runs a command to its end. */
export async function run(backend: Backend, command: Command): Promise<Ran> {
  const child = await backend.spawn(command);
  const exit = await child.exit;
  const bytes = await whole(child.output);
  const errors = child.errors === undefined ? "" : (await whole(child.errors)).toString();
  await Promise.all([child.output.dispose(), child.errors?.dispose()]);
  return { exit, bytes, output: bytes.toString(), errors };
}

/** All that a log keeps. */
export async function whole(log: OutputLog): Promise<Buffer> {
  return Buffer.from(await log.read(0, log.kept));
}

/** A file's content, read as `open` says how long it is. */
async function readWhole(backend: Backend, path: string): Promise<Buffer> {
  const file = await backend.files.open(path);
  try {
    return Buffer.from(await file.read(0, file.info.size));
  } finally {
    await file.close();
  }
}

/** The message of the `ToolFailure` that it must reject with, and soon. */
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

/** What it resolves to, which must be soon: a test fails rather than hang. */
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
