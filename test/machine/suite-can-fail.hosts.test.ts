// Runs the backend suite on backends with one fault: the test for the fault must fail.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { ToolFailure } from "../../src/core/contract/failure.ts";
import type { Backend, Command, Files, OutputLog, Process } from "../../src/core/contract/backend.ts";
import { type BackendSuiteOptions, backendSuite } from "../suites/index.ts";
import { temporaryFolder } from "../support/workspace.ts";

/** The replaced methods of an otherwise correct backend. */
interface Wrong {
  readonly files?: Partial<Files>;
  readonly spawn?: Backend["spawn"];
  readonly search?: Backend["search"];
  readonly find?: Backend["find"];
  readonly close?: Backend["close"];
}

function withWrong(inner: Backend, { files = {}, spawn, search, find, close }: Wrong): Backend {
  const right = inner.files;
  return {
    name: inner.name,
    workDir: inner.workDir,
    home: inner.home,
    files: {
      realPath: files.realPath ?? ((path) => right.realPath(path)),
      stat: files.stat ?? ((path, options) => right.stat(path, options)),
      open: files.open ?? ((path, options) => right.open(path, options)),
      write: files.write ?? ((path, bytes, options) => right.write(path, bytes, options)),
      list: files.list ?? ((path, options) => right.list(path, options)),
      remove: files.remove ?? ((path, options) => right.remove(path, options)),
    },
    spawn: spawn ?? ((command) => inner.spawn(command)),
    search: search ?? ((query) => inner.search(query)),
    find: find ?? ((query) => inner.find(query)),
    close: close ?? (() => inner.close()),
  };
}

function processWith(inner: Process, { output, exit, write, kill }: Partial<Process>): Process {
  return {
    id: inner.id,
    output: output ?? inner.output,
    errors: inner.errors,
    exit: exit ?? inner.exit,
    write: write ?? ((text) => inner.write(text)),
    endInput: () => inner.endInput(),
    kill: kill ?? (() => inner.kill()),
  };
}

function logWith(inner: OutputLog, { read, follow, grown }: Partial<OutputLog>): OutputLog {
  return {
    get size() {
      return inner.size;
    },
    get kept() {
      return inner.kept;
    },
    read: read ?? ((start, end) => inner.read(start, end)),
    tail: (bytes) => inner.tail(bytes),
    grown: grown ?? ((beyond, signal) => inner.grown(beyond, signal)),
    follow: follow ?? ((signal) => inner.follow(signal)),
    dispose: () => inner.dispose(),
  };
}

interface Collected {
  readonly tests: ReadonlyMap<string, () => Promise<void>>;
  readonly skipped: readonly string[];
  end(): Promise<void>;
}

/** Collects the suite's tests without running them. */
function collected(options: BackendSuiteOptions): Collected {
  const tests = new Map<string, () => Promise<void>>();
  const skipped: string[] = [];
  const ends: (() => Promise<void>)[] = [];
  const take = Object.assign((title: string, body: () => Promise<void>) => void tests.set(title, body), {
    skip: (title: string) => void skipped.push(title),
  });
  backendSuite(options, {
    describe: (_, body) => body(),
    test: take,
    afterAll: (body) => void ends.push(body),
  });
  return {
    tests,
    skipped,
    async end() {
      for (const each of ends) await each();
    },
  };
}

/** Collects the tests of a local backend with one fault, in its own folder. `end` closes the real backend. */
function wrong(make: (inner: Backend) => Wrong): Collected {
  const root = temporaryFolder();
  const workDir = join(root, "work");
  mkdirSync(workDir);
  const inners: Backend[] = [];
  const suite = collected({
    name: "wrong",
    async open() {
      const inner = await local({ workDir, home: root, outputFolder: join(root, "outputs") });
      inners.push(inner);
      return withWrong(inner, make(inner));
    },
  });
  return {
    tests: suite.tests,
    skipped: suite.skipped,
    async end() {
      await suite.end();
      await Promise.all(inners.map((inner) => inner.close()));
    },
  };
}

/** Returns how the test with this title ends. */
async function outcomeOf({ tests }: Collected, title: string): Promise<"passed" | "failed"> {
  const body = tests.get(title);
  if (body === undefined) throw new Error(`the suite has no test "${title}"`);
  return body().then(
    () => "passed",
    () => "failed",
  );
}

const WRONGS: readonly (readonly [what: string, title: string, make: (inner: Backend) => Wrong])[] = [
  [
    "takes exit code 255 for its own",
    "every exit code from 0 to 255 is returned",
    (inner) => ({
      async spawn(command) {
        const child = await inner.spawn(command);
        const exit = child.exit.then((how) =>
          how.how === "exited" && how.code === 255 ? { how: "lost" as const, reason: "the connection" } : how,
        );
        return processWith(child, { exit });
      },
    }),
  ],
  [
    "joins arguments to a line",
    "arguments arrive byte for byte, with any content",
    (inner) => ({ spawn: (command) => inner.spawn({ ...command, argv: ["sh", "-c", command.argv.join(" ")] }) }),
  ],
  [
    "forgets variables",
    "variables are added, with any names and values",
    (inner) => ({ spawn: (command) => inner.spawn({ ...command, env: {} }) }),
  ],
  [
    "starts in the working directory alone",
    "it starts in the working directory, or in the folder asked for, by its real path",
    (inner) => ({ spawn: (command) => inner.spawn({ ...command, cwd: "." }) }),
  ],
  [
    "tells of a missing program by an exit code",
    "a program that is missing or not executable is a failure that names it",
    (inner) => ({ spawn: (command) => inner.spawn({ ...command, argv: ["sh", "-c", '"$@"', "sh", ...command.argv] }) }),
  ],
  [
    "loses the last byte of much output",
    "five megabytes arrive whole on either stream",
    (inner) => ({
      spawn: reading(inner, async (log, start, end) => (await log.read(start, end)).subarray(0, 5_000_000)),
    }),
  ],
  [
    "reads output as text",
    "every byte arrives, also what looks like a protocol",
    (inner) => ({
      spawn: reading(inner, async (log, start, end) =>
        Buffer.from(Buffer.from(await log.read(start, end)).toString("utf8")),
      ),
    }),
  ],
  [
    "strips the end of output",
    "output is unchanged: without a last line end, empty, or only line ends",
    (inner) => ({
      spawn: reading(inner, async (log, start, end) =>
        Buffer.from(
          Buffer.from(await log.read(start, end))
            .toString("latin1")
            .trimEnd(),
          "latin1",
        ),
      ),
    }),
  ],
  [
    "merges streams that were to be split",
    "split streams are separate, each in order",
    (inner) => ({ spawn: ({ streams: _, ...command }) => inner.spawn(command) }),
  ],
  [
    "gives output when the process has ended",
    "followed, it yields what exists and then what comes, and ends with the process",
    (inner) => ({
      async spawn(command) {
        const child = await inner.spawn(command);
        const output = logWith(child.output, {
          async *follow(signal) {
            const late = setTimeout(() => void child.kill(), 1_000); // nothing else would end it
            await child.exit;
            clearTimeout(late);
            yield* child.output.follow(signal);
          },
        });
        return processWith(child, { output });
      },
    }),
  ],
  [
    "takes line ends from what is written to stdin",
    "it receives the written text exactly, until it is ended",
    (inner) => ({
      async spawn(command) {
        const child = await inner.spawn(command);
        return processWith(child, { write: (text) => child.write(text.trimEnd()) });
      },
    }),
  ],
  [
    "leaves stdin open where it is to be closed",
    "when closed, it is at its end at once, and cannot be written",
    (inner) => ({ spawn: (command) => inner.spawn({ ...command, stdin: "pipe" }) }),
  ],
  [
    "runs what was stopped before it began",
    "stopped by a signal before it began, it never runs",
    (inner) => ({ spawn: ({ signal: _, ...command }) => inner.spawn(command) }),
  ],
  [
    "tells an abort as a kill",
    "stopped by a signal while it runs, it is reported as aborted",
    (inner) => ({
      async spawn({ signal, ...command }) {
        const child = await inner.spawn(command);
        signal?.addEventListener("abort", () => void child.kill());
        return child;
      },
    }),
  ],
  [
    "kills without a word before",
    "TERM comes first, so that a process can clean up; its output until then is kept",
    (inner) => ({
      async spawn(command) {
        const child = await inner.spawn(command);
        return processWith(child, {
          async kill() {
            process.kill(Number(child.id), "SIGKILL");
            await child.exit;
          },
        });
      },
    }),
  ],
  [
    "writes in two steps",
    "a reader meanwhile sees the old content or the new, never a part or a mixture",
    (inner) => ({
      files: {
        async write(path, bytes, options) {
          await inner.files.write(path, bytes.subarray(0, bytes.length / 2), options);
          await new Promise((resolve) => setTimeout(resolve, 30));
          return inner.files.write(path, bytes, options);
        },
      },
    }),
  ],
  [
    "makes files that all may write",
    "a new file has the mode of the target's umask, an old one keeps its own",
    (inner) => ({
      files: {
        async write(path, bytes, options) {
          const { path: real } = await inner.files.write(path, bytes, options);
          await (
            await inner.spawn({ argv: ["chmod", "666", real] })
          ).exit;
          return (await inner.files.stat(real)) ?? expect.fail("it has gone");
        },
      },
    }),
  ],
  [
    "gives a file with several names a new one",
    "a file with several names keeps them all, and its mode, whether it grows or shrinks",
    (inner) => ({
      files: {
        async write(path, bytes, options) {
          if ((await inner.files.stat(path).catch(() => undefined))?.kind === "file") await inner.files.remove(path);
          return inner.files.write(path, bytes, options);
        },
      },
    }),
  ],
  [
    "follows links where it must not",
    "with `real`, a link on the path is a failure without effect",
    (inner) => ({
      files: {
        stat: (path) => inner.files.stat(path),
        write: (path, bytes) => inner.files.write(path, bytes),
      },
    }),
  ],
  [
    "tells the version by size alone",
    "the version stays while the file is unchanged, and changes with it",
    (inner) => ({
      files: {
        async write(path, bytes, options) {
          return { ...(await inner.files.write(path, bytes, options)), version: `${bytes.length}` };
        },
        async stat(path, options) {
          const info = await inner.files.stat(path, options);
          return info && { ...info, version: `${info.size}` };
        },
      },
    }),
  ],
  [
    "does not say what failed",
    "a missing path, a folder and a path below a file fail with the path as written",
    (inner) => ({
      files: {
        open: (path, options) =>
          inner.files.open(path, options).catch((error: Error) => {
            error.message = "it failed";
            throw error;
          }),
      },
    }),
  ],
  [
    "sorts by an alphabet",
    "entries are sorted by code units, with hidden ones, without the folder itself and its parent",
    (inner) => ({
      files: {
        list: async (path, options) =>
          (await inner.files.list(path, options)).toSorted((one, other) => one.name.localeCompare(other.name)),
      },
    }),
  ],
  [
    "takes a line for a name",
    "spaces, quotes, line breaks, leading dashes, globs and shell syntax are part of names",
    (inner) => ({
      files: {
        list: async (path, options) =>
          (await inner.files.list(path, options)).flatMap((entry) =>
            entry.name.split("\n").map((name) => ({ ...entry, name })),
          ),
      },
    }),
  ],
  [
    "takes links for what does not exist",
    "a broken link is followed too: writing through it would create its target",
    (inner) => ({
      files: {
        async realPath(path) {
          const real = await inner.files.realPath(path);
          return (await inner.files.stat(real)) === undefined ? path : real;
        },
      },
    }),
  ],
  [
    "removes what a link leads to",
    "a file is removed, a link without its target, and a folder with its content",
    (inner) => ({
      files: { remove: async (path, options) => inner.files.remove(await inner.files.realPath(path), options) },
    }),
  ],
  [
    "searches what is excepted",
    "excepted paths are not searched, nor anything in them",
    (inner) => ({
      search: ({ except: _, ...query }) => inner.search(query),
      find: ({ except: _, ...query }) => inner.find(query),
    }),
  ],
  [
    "searches files where it should search what is open",
    "an open file is searched instead of files, under the given name",
    (inner) => ({ search: ({ input: _, ...query }) => inner.search({ ...query, path: "." }) }),
  ],
];

/** For these the suite waits until its own timeout. */
const SLOW: typeof WRONGS = [
  [
    "kills the shell and nothing that it has started",
    "kill ends everything it started: children, orphans, other sessions, processes that ignore signals",
    (inner) => ({
      async spawn(command) {
        const child = await inner.spawn(command);
        return processWith(child, {
          async kill() {
            process.kill(Number(child.id), "SIGKILL");
            await child.exit;
          },
        });
      },
    }),
  ],
  [
    "closes without an end to what runs",
    "running commands are ended, and background children of ended ones",
    () => ({ close: async () => {} }),
  ],
  [
    "forgets the time",
    "after its time it is stopped, and its output so far is kept",
    (inner) => ({ spawn: ({ timeoutMs: _, ...command }) => inner.spawn(command) }),
  ],
];

describe("a backend that", () => {
  test.each(WRONGS)("%s fails the test: %s", async (_, title, make) => {
    const suite = wrong(make);
    try {
      expect(await outcomeOf(suite, title)).toBe("failed");
    } finally {
      await suite.end();
    }
  });

  test.concurrent.each(SLOW)(
    "%s fails the test, after a while: %s",
    async (_, title, make) => {
      const suite = wrong(make);
      try {
        expect(await outcomeOf(suite, title)).toBe("failed");
      } finally {
        await suite.end();
      }
    },
    60_000,
  );

  test("without a fault passes all of these", async () => {
    const suite = wrong(() => ({}));
    try {
      const titles = [...new Set(WRONGS.map(([, title]) => title))];
      const outcomes = await Promise.all(titles.map(async (title) => [title, await outcomeOf(suite, title)]));
      expect(outcomes).toEqual(titles.map((title) => [title, "passed"]));
    } finally {
      await suite.end();
    }
  });

  test("without detached processes, and refusing to start one, passes", async () => {
    const suite = wrong((inner) => ({
      spawn: (command) =>
        command.lifetime === "detached" ? Promise.reject(new ToolFailure("there are none")) : inner.spawn(command),
    }));
    try {
      expect(await outcomeOf(suite, "there are none, and starting one is a failure")).toBe("passed");
    } finally {
      await suite.end();
    }
  });
});

describe("skip", () => {
  test("omits a test by its title, and shows the reason", () => {
    const title = "a link is not followed";
    const { tests, skipped } = collected({
      name: "x",
      open: () => expect.fail("nothing is run"),
      skip: { [title]: "there are no links" },
    });
    expect(skipped).toEqual([`${title} (NOT RUN: there are no links)`]);
    expect([...tests.keys()]).not.toContain(title);
    expect(tests.size).toBeGreaterThan(100);
  });

  test("of an unknown title is reported at once", () => {
    expect(() =>
      collected({ name: "x", open: () => expect.fail("nothing is run"), skip: { "no such test": "?" } }),
    ).toThrow('skip: expected titles of the suite\'s tests, got "no such test", which none of them has');
  });
});

function reading(inner: Backend, read: (log: OutputLog, start: number, end: number) => Promise<Uint8Array>) {
  return async (command: Command): Promise<Process> => {
    const child = await inner.spawn(command);
    return processWith(child, {
      output: logWith(child.output, { read: (start, end) => read(child.output, start, end) }),
    });
  };
}
