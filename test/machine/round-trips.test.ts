import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { farSandbox } from "../../src/machine/sandbox/far/far-sandbox.ts";
import { remote } from "../../src/machine/shell/backend.ts";
import { bubblewrapProblem } from "./sandbox/contained.ts";
import { type FarTransport, farTransport } from "../support/far-transport.ts";
import { localTransport } from "../support/local-transport.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Hands, handsOn } from "./elsewhere.ts";

/** The round-trip time of the link, in milliseconds. */
const ROUND_TRIP_MS = 50;

/**
 * A machine that pauses for longer than a round trip may count one twice, so a call is repeated up to this many times.
 */
const MOST_CALLS = 8;

/** How many round trips a call of each tool takes in total. */
const CALLS: readonly (readonly [tool: string, input: (round: number) => object, trips: number])[] = [
  ["bash", () => ({ command: "true" }), 1],
  ["read", () => ({ path: "a.txt" }), 1],
  ["ls", () => ({ path: "folder" }), 1],
  ["grep", () => ({ pattern: "needle", path: "folder" }), 1],
  ["find", () => ({ pattern: "*.txt", path: "folder" }), 1],
  ["write", (round) => ({ path: "written.txt", content: `content ${round}\n` }), 2],
  ["edit", (round) => ({ path: "edited.txt", old_text: `line ${round}\n`, new_text: `line ${round + 1}\n` }), 2],
];

describe("on a distant host, from the beginning of a call to its end", () => {
  let hands: Hands;
  let transport: FarTransport;

  beforeAll(async () => {
    const workDir = temporaryFolder();
    mkdirSync(join(workDir, "folder"));
    for (const path of ["a.txt", "written.txt", "folder/b.txt"]) writeFileSync(join(workDir, path), "a needle\n");
    writeFileSync(join(workDir, "edited.txt"), "line 0\n");
    transport = farTransport(localTransport(["sh"]), ROUND_TRIP_MS);
    const backend = await remote(transport, { workDir });
    hands = await handsOn(backend, { preset: "workspace", policy: {} });
  });
  afterAll(() => hands.toolkit.close());

  test.each(CALLS)("%s takes only the expected round trips", async (tool, input, trips) => {
    let fewest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < MOST_CALLS && fewest > trips; round++) {
      const counted = transport.count();
      expect(await hands.call(tool, input(round))).not.toMatch(/^Tool error/);
      fewest = Math.min(fewest, counted());
    }
    expect(fewest).toBe(trips);
  });
});

describe.skipIf(bubblewrapProblem() !== undefined)("in the sandbox there", () => {
  /** The fewest round trips of the first command and of the second, each on a new connection. */
  async function trips(workDir: string, sandboxed: boolean) {
    let fewest = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let attempt = 0; attempt < 3; attempt++) {
      const transport = farTransport(localTransport(["sh"]), ROUND_TRIP_MS);
      const inner = await remote(transport, { workDir });
      const options = {
        required: true,
        writable: [],
        hidden: [],
        isProtected: (path: string) => path.endsWith(".envrc"),
      };
      const backend = sandboxed ? farSandbox(inner, options) : inner;
      const counts: number[] = [];
      for (const script of ["echo x >made", "echo x >.envrc"]) {
        const counted = transport.count();
        const child = await backend.spawn({ argv: ["sh", "-c", script] });
        expect(await child.exit).toMatchObject({ how: "exited", code: sandboxed && script.includes("env") ? 2 : 0 });
        counts.push(counted());
      }
      fewest = fewest.map((count, index) => Math.min(count, counts[index] ?? count));
      await backend.close();
    }
    return fewest;
  }

  test("the first command takes at most one round trip more, and the next ones none", async () => {
    const workDir = temporaryFolder();
    execFileSync("git", ["init", "-q", workDir]);
    mkdirSync(join(workDir, "folder"));
    for (const path of [".envrc", "folder/.envrc"]) writeFileSync(join(workDir, path), "mine\n");
    const [first = 0, next = 0] = await trips(workDir, false);
    const [firstInside = 0, nextInside = 0] = await trips(workDir, true);
    expect(firstInside).toBeLessThanOrEqual(first + 1);
    expect(nextInside).toBe(next);
  });
});

describe("a path that is judged as if it were real", () => {
  async function far() {
    const workDir = temporaryFolder();
    mkdirSync(join(workDir, "folder"));
    writeFileSync(join(workDir, "folder/b.txt"), "a needle\n");
    writeFileSync(join(workDir, "edited.txt"), "one\ntwo\n");
    const transport = farTransport(localTransport(["sh"]), ROUND_TRIP_MS);
    const hands = await handsOn(await remote(transport, { workDir }), { preset: "workspace", policy: {} });
    onTestFinished(() => hands.toolkit.close());
    return { ...hands, transport, at: (path: string) => join(workDir, path) };
  }

  test.each<[string, object, RegExp]>([
    ["read", { path: "link/b.txt" }, /^a needle/],
    ["read", { path: "to-file" }, /^a needle/],
    ["ls", { path: "link" }, /b\.txt/],
    ["grep", { pattern: "needle", path: "link" }, /folder\/b\.txt/],
    ["grep", { pattern: "needle", path: "to-file" }, /needle/],
    ["find", { pattern: "*.txt", path: "link" }, /b\.txt/],
    ["write", { path: "to-file", content: "new\n" }, /^Replaced/],
    ["edit", { path: "link/b.txt", old_text: "needle", new_text: "pin" }, /^Edited/],
  ])("and has a link on it is used by its real path: %s %j", async (name, input, expected) => {
    const { call, at } = await far();
    symlinkSync("folder", at("link"));
    symlinkSync("folder/b.txt", at("to-file"));
    expect(await call(name, input)).toMatch(expected);
  });

  test.each<[string, object]>([
    ["read", { path: "out/passwd" }],
    ["read", { path: "passwd" }],
    ["ls", { path: "out" }],
    ["grep", { pattern: "root", path: "out" }],
    ["find", { pattern: "passwd", path: "out" }],
    ["write", { path: "out/made", content: "x" }],
    ["edit", { path: "passwd", old_text: "root", new_text: "x" }],
  ])("and leads out is refused as before, and nothing of it is returned: %s %j", async (name, input) => {
    const { call, at } = await far();
    symlinkSync("/etc", at("out"));
    symlinkSync("/etc/passwd", at("passwd"));
    expect(await call(name, input)).toMatch(/^Path blocked by security policy: \S+ \(forbidden_paths has \/etc\)$/);
  });

  test("and is a link costs one round trip more: the answer has the real path", async () => {
    const { call, at, transport } = await far();
    symlinkSync("folder/b.txt", at("to-file"));
    let fewest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < MOST_CALLS && fewest > 2; round++) {
      const counted = transport.count();
      await call("read", { path: "to-file" });
      fewest = Math.min(fewest, counted());
    }
    expect(fewest).toBe(2);
  });

  test("and asks a person is asked about before anything is opened", async () => {
    const { toolkit, at } = await far();
    writeFileSync(at(".env"), "TOKEN=needle\n");
    linkSync(at("edited.txt"), at("other-name.txt"));
    const questions: string[] = [];
    const opened: string[] = [];
    const { files } = toolkit.backend;
    expect(files).toBeDefined();
    for (const input of [
      { name: "read", input: { path: ".env" } },
      { name: "edit", input: { path: "edited.txt", old_text: "one", new_text: "1" } },
    ]) {
      const result = await toolkit.call(input, {
        onEvent: (event) => {
          if (event.type === "approval.requested") questions.push(event.decision.rule ?? "");
          if (event.type === "call.approved") opened.push(input.name);
        },
      });
      expect(result.status).toBe("ok");
    }
    expect([questions, opened]).toEqual([
      ["sensitive_files", "hard_link"],
      ["read", "edit"],
    ]);
    expect(readFileSync(at("other-name.txt"), "utf8")).toBe("1\ntwo\n");
  });

  test("parallel edits of one file are all made, although each was read ahead", async () => {
    const { call, at } = await far();
    const changes = [
      ["one", "1"],
      ["two", "2"],
    ] as const;
    const made = await Promise.all(
      changes.map(([old_text, new_text]) => call("edit", { path: "edited.txt", old_text, new_text })),
    );
    expect(made).toEqual([expect.stringMatching(/^Edited/), expect.stringMatching(/^Edited/)]);
    expect(readFileSync(at("edited.txt"), "utf8")).toBe("1\n2\n");
  });
});
