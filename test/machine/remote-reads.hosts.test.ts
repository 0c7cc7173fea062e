import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { link, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { askFacts } from "../../src/machine/shell/facts.ts";
import FILES from "../../src/machine/shell/files.sh";
import PATHS from "../../src/machine/shell/path.sh";
import { remoteFiles } from "../../src/machine/shell/files.ts";
import { type Shells, openShells } from "../../src/machine/shell/shells.ts";
import type { Files } from "../../src/core/contract/backend.ts";
import { failureOf } from "../support/failing.ts";
import { mustBeHere } from "../support/here.ts";
import { type LocalTransport, localTransport } from "../support/local-transport.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { shellsHere } from "./there.ts";

/** Kernel-generated content that is longer than what opening a file returns. */
const FUNCTIONS = PATHS + FILES;

const KERNEL_FILE = "/proc/kallsyms";
const kernelProblem =
  existsSync(KERNEL_FILE) && readFileSync(KERNEL_FILE).length > 1_000_000 ? undefined : `${KERNEL_FILE} is short here`;
mustBeHere("a long file that the kernel makes up", kernelProblem);

/**
 * Returns what was read, or why reading failed. Without creation times in stat(1), it is open whether the file is the
 * same.
 */
const textIn = (read: Promise<Uint8Array>): Promise<string> =>
  read.then(
    (bytes) => Buffer.from(bytes).toString(),
    (error: Error) => error.message,
  );

describe.each(shellsHere().map((argv) => ({ argv })))("reads through $argv", ({ argv }) => {
  let folder: string;
  let transport: LocalTransport;
  let shells: Shells;
  /** The requested ranges: the second block, for example, is `skip 1`. */
  let asked: string[];
  const at = (path: string) => join(folder, path);

  /** Creates files over shells in which something happens at a certain moment. `functions` are those of the shells. */
  const filesWith = async (functions = FUNCTIONS, openMs?: number): Promise<Files> => {
    transport = localTransport(argv);
    shells = await openShells({ transport, preamble: () => functions });
    const shell = await shells.take();
    const facts = await askFacts(shell);
    shells.giveBack(shell);
    const noted = (script: string) => {
      const [, words] = /hr_file_read \S+ (.*)/.exec(script) ?? [];
      if (words !== undefined) asked.push(words);
    };
    const seen: Pick<Shells, "ask" | "askAside"> = {
      ask: (script, options) => (noted(script), shells.ask(script, options)),
      askAside: (script, options) => (noted(script), shells.askAside(script, options)),
    };
    const base = { workDir: folder, home: folder };
    return remoteFiles({ shells: seen, facts, base, ...(openMs !== undefined && { openMs }) });
  };
  beforeEach(() => {
    folder = temporaryFolder();
    asked = [];
  });
  afterEach(() => shells.close());

  test("return the file's content, in any order and concurrently", { timeout: 60_000 }, async () => {
    const files = await filesWith();
    const content = randomBytes(700_000);
    await writeFile(at("file"), content);
    const length = fc.constantFrom(1, 4_095, 65_536, 65_537, 200_000, 262_145, 1_000_000);
    const step = fc.record({ on: fc.boolean(), offset: fc.nat({ max: 720_000 }), length, waits: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const file = await files.open("file");
        const reads: Promise<void>[] = [];
        let next = 0;
        for (const { on, offset, length: wanted, waits } of steps) {
          const from = on ? next : offset;
          next = from + wanted;
          const read = file.read(from, wanted).then((got) => {
            expect(content.subarray(from, from + wanted).equals(got)).toBe(true);
          });
          reads.push(read);
          if (waits) await read;
        }
        await Promise.all(reads);
        await file.close();
      }),
      { numRuns: 12 },
    );
  });

  test("take one request each, and none for the beginning of the file", async () => {
    const files = await filesWith();
    await writeFile(at("file"), randomBytes(400_000));
    const file = await files.open("file");
    await file.read(0, 65_536);
    expect(asked).toEqual([]);
    await file.read(131_072, 131_072);
    await file.read(262_144, 131_072);
    expect(asked).toEqual(["65536 2 2 blocks", "65536 4 2 blocks"]);
  });

  test("return the new content after a change between opening and reading, from the beginning on", async () => {
    const files = await filesWith();
    await writeFile(at("file"), Buffer.alloc(200_000, "a"));
    const file = await files.open("file");
    await writeFile(at("file"), Buffer.alloc(200_000, "b"));
    expect(await textIn(file.read(0, 200_000))).toMatch(/^(b{200000}|file was replaced.*)$/);
  });

  test("reopen a lost connection in the middle, and return no byte twice", async () => {
    const files = await filesWith();
    const content = randomBytes(30_000_000);
    await writeFile(at("file"), content);
    for (const wait of [1, 10, 30]) {
      const file = await files.open("file");
      const read = file.read(0, content.length);
      await new Promise((resolve) => setTimeout(resolve, wait));
      transport.cut();
      expect(content.equals(await read)).toBe(true);
    }
  });

  test.skipIf(kernelProblem !== undefined)("return all of what the kernel generates, however long it is", async () => {
    const files = await filesWith();
    const file = await files.open(KERNEL_FILE);
    expect(file.info.size).toBe(0);
    const content = readFileSync(KERNEL_FILE);
    expect(content.subarray(0, 1_000_000).equals(await file.read(0, 1_000_000))).toBe(true);
    expect(content.subarray(70_000, 140_000).equals(await file.read(70_000, 70_000))).toBe(true);
  });

  describe("a path that is replaced in the middle", () => {
    /** Runs a change after a function's look-up, or before the function. */
    const swap = (before: string, what: string) => {
      if (!FUNCTIONS.includes(before)) throw new Error(`there is no ${before}`);
      return FUNCTIONS.replace(before, `${before}\n${what}`);
    };
    const FIFO = (name: string) => `rm -f "${name}"; mkfifo "${name}"`;
    const FOUND = 'hr_file_find "$1" "$2" && hr_file_regular; then';

    test("by a FIFO without a writer blocks neither the opening nor later requests", async () => {
      const files = await filesWith(swap(FOUND, FIFO("./$hr_name")), 1_000);
      await writeFile(at("file"), "x");
      const [message, info] = await Promise.all([failureOf(files.open("file")), files.stat(".")]);
      expect(message).toBe(
        "file could not be opened within 1 s: its disk does not answer, or it was replaced by a FIFO",
      );
      expect(info?.kind).toBe("folder");
      expect((await shells.ask("printf still")).out.toString()).toBe("still");
    });

    test("by a FIFO that is held open without being written to does not block either", async () => {
      const files = await filesWith(swap(FOUND, `${FIFO("./$hr_name")}; exec 7<>"./$hr_name"`));
      await writeFile(at("file"), "x");
      expect(await failureOf(files.open("file"))).toContain("was replaced while it was being opened");
    });

    test("by a FIFO before a later read does not block either", async () => {
      const files = await filesWith(swap('hr_word=missing\n  if [ -f "$1" ]; then', FIFO("$1")), 1_000);
      for (const length of [100_000, 400_000]) {
        await writeFile(at("file"), Buffer.alloc(500_000));
        const file = await files.open("file");
        expect(await failureOf(file.read(70_000, length))).toContain("could not be opened within 1 s");
        await rm(at("file"));
      }
    });

    test("by a link, in place of a file with two names, is not followed, and nothing is created at its target", async () => {
      const out = join(temporaryFolder(), "out");
      await mkdir(out);
      const files = await filesWith(
        swap("hr_file_in_place() {", `rm -f "./$hr_name"; ln -s '${out}/made' "./$hr_name"`),
      );
      await writeFile(at("one"), "old");
      await link(at("one"), at("two"));
      expect(await failureOf(files.write("one", Buffer.from("new")))).toContain(
        "was replaced while it was being opened",
      );
      expect(await readdir(out)).toEqual([]);
      expect(readFileSync(at("two"), "utf8")).toBe("old");
      expect((await readdir(folder)).sort()).toEqual(["one", "two"]);
    });

    test("by a new link leads to the new target, and never to nothing", async () => {
      const gone = `[ -e '${at("done")}' ] || { : >'${at("done")}'; rm "$1"; ln -s new "$1"; hr_target=; return; }`;
      const files = await filesWith(swap("hr_file_link() {", gone));
      for (const name of ["old", "new"]) {
        await mkdir(at(name));
        await writeFile(at(`${name}/file`), name);
      }
      await symlink("old", at("current"));
      expect(await files.realPath("current")).toBe(at("new"));
    });
  });
});
