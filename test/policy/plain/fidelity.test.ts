// A reader of a plain script must see what a shell executes: the same programs, with the same arguments, in the same
// folder. FUZZ_SCRIPTS and FUZZ_SEED set the number of scripts and the seed.
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join, posix } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { once } from "../../../src/policy/look-ups.ts";
import { matching, newBudget, readPattern } from "../../../src/policy/plain/patterns.ts";
import { type PlainScript, type PlainWord, readPlainScript } from "../../../src/policy/plain/script.ts";
import { writeScript } from "../../../src/policy/plain/write.ts";
import { localFiles } from "../../../src/machine/local/files.ts";
import { cases } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { ODD_RECORDERS, RECORDERS, plainScripts } from "./plain-scripts.ts";

const SCRIPTS = Number(process.env["FUZZ_SCRIPTS"] ?? cases(60));
const SEED = Number(process.env["FUZZ_SEED"] ?? 4);
const CHUNK = 1_000;

const SHELLS: readonly (readonly [name: string, argv: readonly string[]])[] = [
  ["bash", ["bash", "--noprofile", "--norc", "-p"]],
  ["dash", ["dash"]],
  ["busybox", ["busybox", "sh"]],
];

const NAMES: readonly string[] = [...RECORDERS, ...ODD_RECORDERS];

const root = temporaryFolder();
const bin = join(root, "recorders");
const work = join(root, "work");

beforeAll(() => {
  const files = [
    "a",
    "b",
    "ab",
    "abb",
    "b.txt",
    "x y",
    "*",
    "?",
    "[a]",
    "1b",
    ".hidden",
    ".b",
    "a.b",
    "sub/deep/x",
    "sub/dup",
    "sub/.b",
  ];
  for (const file of [...files, "sub dir/x", "~/x", "uni/é.txt", "uni/说明", "uni/z", "dash/-n"]) {
    mkdirSync(join(work, posix.dirname(file)), { recursive: true });
    writeFileSync(join(work, file), "");
  }
  mkdirSync(bin);
  for (const name of ODD_RECORDERS.filter((each) => !each.includes("/"))) recorder(join(bin, name));
  for (const folder of [work, "sub", "sub dir", "sub/deep", "~", ".."].map((each) => posix.resolve(work, each))) {
    mkdirSync(join(folder, "bin"));
    for (const name of ODD_RECORDERS.filter((each) => each.includes("/"))) recorder(join(folder, name));
  }
});

describe.each(SHELLS)("%s", (name, argv) => {
  const program = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, argv[0] ?? ""))
    .find((path) => existsSync(path));

  test.skipIf(program === undefined)(
    `reads what we read in those of ${SCRIPTS} scripts that are plain, also when they are rewritten`,
    async () => {
      let plain = 0;
      for (let done = 0; done < SCRIPTS; done += CHUNK) {
        const scripts = fc.sample(plainScripts(), { numRuns: Math.min(CHUNK, SCRIPTS - done), seed: SEED + done });
        const read: (readonly [string, Expected])[] = [];
        for (const script of scripts) {
          const expected = await expectedOf(script);
          if (expected !== undefined) read.push([script, expected]);
        }
        plain += read.length;
        const shell = [program ?? "", ...argv.slice(1)];
        const original = await runAll(
          shell,
          read.map(([script]) => script),
        );
        const anew = await runAll(
          shell,
          read.map(([, { written }]) => written),
        );
        const wrong = read.flatMap(([script, { groups }], index) => {
          const expected = grouped(groups.flat(), groups);
          const seen = [original[index], anew[index]].map((records) => grouped(records ?? [], groups));
          return seen.every((each) => each === expected) ? [] : [{ script, expected, seen }];
        });
        expect(wrong.slice(0, 3), `${wrong.length} of ${read.length}, seed ${SEED + done}`).toEqual([]);
        if (SCRIPTS > CHUNK * 2) process.stderr.write(`${name}: ${plain} plain scripts of ${done + scripts.length}\n`);
      }
      expect(plain).toBeGreaterThan(SCRIPTS / 3);
    },
    60_000 + SCRIPTS * 100,
  );
});

interface Expected {
  /** The recorded commands. Those of a pipeline run concurrently, in any order. */
  readonly groups: readonly (readonly string[])[];
  /** The rewritten script. */
  readonly written: string;
}

const files = localFiles({ workDir: work, home: work });
/** No script changes a file. */
const list = once((folder) => files.list(folder).catch(() => []));

/** Returns the commands that we read; `undefined` if the script is not plain. */
async function expectedOf(text: string): Promise<Expected | undefined> {
  const script = readPlainScript(text);
  if (typeof script === "string") return undefined;
  const cwd = posix.resolve(work, script.cd ?? ".");
  if (!existsSync(cwd)) return undefined;
  const commands: string[][] = [];
  for (const { words } of script.commands) {
    const values = await Promise.all(words.map((word) => expand(word, cwd)));
    // A damaged name is none that is recorded.
    if (values.includes(undefined) || !NAMES.includes(words[0].value)) return undefined;
    commands.push(values.flatMap((each) => each ?? []));
  }
  const records = commands.map(([name = "", ...args]) => [cwd, posix.basename(name), ...args, ""].join("\u001f"));
  const written = writeScript(
    commands.map((words, index) => ({ words, redirections: script.commands[index]?.redirections ?? [] })),
    script.separators,
  );
  const folder = script.cd === undefined ? "" : `cd '${script.cd.replace(/^-/, "./-")}' && `;
  return { groups: ranOf(records, script), written: folder + written };
}

async function expand(word: PlainWord, cwd: string): Promise<readonly string[] | undefined> {
  if (word.wildcards === undefined) return [word.value];
  const pattern = readPattern(word);
  if (typeof pattern === "string") return undefined;
  const entries = await list(posix.resolve(cwd, pattern.folder));
  const found = matching(pattern, entries, newBudget());
  if (typeof found === "string") return undefined;
  return found.length === 0 ? [word.value] : found.map(({ name }) => pattern.folder + name);
}

/** Returns the commands that run, as `&&`, `||` and the exit status decide. */
function ranOf(records: readonly string[], { commands, separators }: PlainScript): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let group: string[] = [];
  let runs = true;
  let succeeded = true;
  for (const [index, record] of records.entries()) {
    group.push(record);
    const separator = separators[index];
    if (separator === "|") continue;
    if (runs) {
      groups.push(group);
      succeeded = commands[index]?.words[0].value !== "no";
    }
    group = [];
    runs = separator === ";" || (separator === "&&") === succeeded;
  }
  return groups;
}

/** Returns the records as one text, with those of a pipeline in a fixed order. */
function grouped(records: readonly string[], groups: readonly (readonly string[])[]): string {
  let at = 0;
  const parts = groups.map(({ length }) => records.slice(at, (at += length)).sort());
  return JSON.stringify([...parts, records.slice(at)].filter(({ length }) => length > 0));
}

/**
 * A record is the folder, the name and the arguments, each followed by a unit separator, then a record separator, in
 * one write.
 */
const RECORD = `printf '%s\\037' "$PWD"`;
const END = `"$(printf '\\036')"`;

function recorder(path: string): void {
  writeFileSync(path, `#!/bin/sh\n${RECORD} "\${0##*/}" "$@" ${END} >&9\n`);
  chmodSync(path, 0o755);
}

/** Runs scripts one after another in one shell. Returns what each has recorded. */
async function runAll(shell: readonly string[], scripts: readonly string[]): Promise<readonly (readonly string[])[]> {
  const log = join(temporaryFolder(), "log");
  const functions = RECORDERS.map(
    (name) => `${name}() { ${RECORD} ${name} "$@" "$end" >&9; return ${name === "no" ? 1 : 0}; }`,
  );
  const steps = scripts.map((script) => `run '${script.replaceAll("'", "'\\''")}'`);
  const driver = [
    `end=${END}`,
    ...functions,
    // In a process of its own. A blank in front, because \`eval\` has options.
    `run() { ( cd ${work}; eval " $1" ) </dev/null >/dev/null 2>&1 || :; printf '\\035' >&9; }`,
    ...steps,
  ].join("\n");
  const file = join(posix.dirname(log), "driver");
  writeFileSync(file, driver);
  writeFileSync(log, "");
  const [program = "", ...options] = shell;
  await promisify(execFile)("/bin/sh", ["-c", `exec "$@" 9>>'${log}'`, "sh", program, ...options, file], {
    env: { PATH: bin, LC_ALL: "C.UTF-8" },
    maxBuffer: 2 ** 26,
  });
  return readFileSync(log, "utf8")
    .split("\u001d")
    .slice(0, -1)
    .map((records) =>
      records
        .split("\u001f\u001e\u001f")
        .slice(0, -1)
        .map((record) => `${record}\u001f`),
    );
}
