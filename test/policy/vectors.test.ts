// The cases of areas "path" and "shell" in test/fixtures/security.json, an acceptance criterion of this project. They
// assume the workspace /srv/ws and the home /home/dev, which are replaced with temporary folders here. expect: block =
// denied, approve = not without a person, allow = not refused.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { link } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Risk } from "../../src/core/contract/decision.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import { type Layout, layout } from "../support/layout.ts";

interface Vector {
  readonly id: string;
  readonly area: string;
  readonly input: string;
  readonly kind: "literal" | "scenario";
  readonly op: "read" | "write" | "cwd";
  readonly risk?: Risk;
  readonly expect: "block" | "approve" | "allow";
  readonly why: string;
  readonly platform?: string;
  readonly setup?: readonly string[];
}

const all = JSON.parse(
  readFileSync(new URL("../fixtures/security.json", import.meta.url), "utf8"),
) as readonly Vector[];
const vectors = all.filter(({ area }) => area === "path");

const VERDICTS = { block: ["deny"], approve: ["ask", "deny"], allow: ["allow"] } as const;

describe("security vectors: path", () => {
  test("are complete", () => {
    expect(vectors.length).toBe(20);
    expect(new Set(vectors.map(({ id }) => id)).size).toBe(vectors.length);
  });

  for (const vector of vectors) {
    const title = `${vector.id}: ${vector.op} ${JSON.stringify(vector.input)} is ${VERDICTS[vector.expect].join(" or ")} (${vector.why})`;
    const reason = notHere(vector);
    test.skipIf(reason !== undefined)(reason === undefined ? title : `NOT RUN, ${reason}: ${title}`, async () => {
      const world = await layout();
      for (const step of vector.setup ?? []) await setUp(step, vector, world);
      // Full autonomy, so that only the path is judged: a command would be asked about anyway.
      const { forbiddenPaths } = world;
      const toolkit = await world.toolkit({ policy: { autonomy: "full", forbiddenPaths } });
      const path = placed(vector.input, world);
      const effect: Effect =
        vector.op === "cwd" ? { kind: "exec", command: "true", cwd: path } : { kind: vector.op, path };
      const { verdict } = await toolkit.judge([effect]);
      expect(VERDICTS[vector.expect]).toContain(verdict);
    });
  }
});

const ALLOWED = { block: ["deny"], approve: ["ask", "deny"], allow: ["allow", "ask"] } as const;
const RISKS: readonly Risk[] = ["low", "medium", "high"];

describe("security vectors: shell", () => {
  const shell = all.filter(({ area, kind }) => area === "shell" && kind === "literal");

  test("are complete", () => {
    expect(shell.length).toBe(93);
  });

  for (const vector of shell) {
    const most = vector.expect === "allow" ? `, risk at most ${vector.risk}` : "";
    test(`${vector.id}: ${JSON.stringify(shortened(vector.input))} is ${ALLOWED[vector.expect].join(" or ")}${most} (${vector.why})`, async () => {
      const decision = await judgedInShell(vector.input);
      expect(ALLOWED[vector.expect], JSON.stringify(decision)).toContain(decision.verdict);
      if (vector.expect !== "allow" || vector.risk === undefined) return;
      expect(RISKS.slice(0, RISKS.indexOf(vector.risk) + 1), JSON.stringify(decision)).toContain(decision.risk);
    });
  }

  test("everyday commands that only look run without a question, unless their syntax is not plain", async () => {
    const low = shell.filter(({ id, risk }) => id.includes("benign") && risk === "low");
    const verdicts = await Promise.all(low.map(async ({ input }) => (await judgedInShell(input)).verdict));
    const asked = low.filter((_, index) => verdicts[index] !== "allow").map(({ input }) => input);
    expect(low.length).toBeGreaterThan(8);
    expect(asked).toEqual(["[ -d dist ] && ls dist"]);
  });
});

/** As in supervised autonomy, with the default rules. Nothing runs, so one workspace serves all scripts. */
async function judgedInShell(input: string) {
  shell ??= shellJudge();
  return (await shell)(input);
}

let shell: ReturnType<typeof shellJudge> | undefined;

async function shellJudge() {
  const world = await layout();
  execFileSync("git", ["init", "-q"], { cwd: world.workDir });
  const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
  return async (input: string) => toolkit.judge([{ kind: "exec", command: placedInScript(input, world) }]);
}

function placedInScript(script: string, { root, home }: Layout): string {
  return script.replaceAll(/\/srv(?=\/)/g, join(root, "srv")).replaceAll(/\/home\/dev(?=\/|\b)/g, home);
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 20)} … ${text.slice(-40)}` : text;
}

function notHere({ platform, setup = [] }: Vector): string | undefined {
  if (platform === "win32") return "it is about Windows paths, and Windows is used through WSL";
  const unknown = setup.find((step) => !STEPS.some(({ pattern }) => pattern.test(step)));
  return unknown === undefined ? undefined : `its set-up is not known here ("${unknown}")`;
}

const STEPS: readonly {
  pattern: RegExp;
  run(match: RegExpExecArray, vector: Vector, world: Layout): Promise<unknown>;
}[] = [
  {
    pattern: /^symlink ws\/(\S+) -> (\S+)$/,
    run: ([, name = "", target = ""], _, world) => world.link(name, placed(target, world)),
  },
  {
    pattern: /^hardlink ws\/(\S+) = (\S+)$/,
    run: async ([, name = "", target = ""], _, world) =>
      link(await world.file(placed(target, world)), join(world.workDir, name)),
  },
  {
    pattern: /^symlink inside ws$/,
    run: async (_, { input }, world) => {
      await world.file("node_modules/target/program");
      await world.link(input, join(world.workDir, "node_modules/target/program"));
    },
  },
];

async function setUp(step: string, vector: Vector, world: Layout): Promise<void> {
  for (const { pattern, run } of STEPS) {
    const match = pattern.exec(step);
    if (match) await run(match, vector, world);
  }
}

function placed(path: string, { root, home, outside }: Layout): string {
  return path
    .replace(/^\/srv(?=\/)/, join(root, "srv"))
    .replace(/^\/home\/dev(?=\/|$)/, home)
    .replace(/^\/tmp\/outside(?=\/|$)/, outside);
}
