// Everyday commands in supervised autonomy, in the sandbox and outside: how many run, are asked about, are refused.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { local } from "../../src/backends/local/backend.ts";
import type { Backend } from "../../src/contract/backend.ts";
import type { Decision, Verdict } from "../../src/contract/decision.ts";
import { layout } from "../support/layout.ts";
import { ACTS, CLOSED, LOOKS } from "./everyday.ts";

const REGIMES = ["inside", "outside"] as const;
const WORDS = { allow: "run", ask: "asked", deny: "refused" } as const satisfies { readonly [V in Verdict]: string };

interface Judged extends Readonly<Record<(typeof REGIMES)[number], Decision>> {
  readonly command: string;
  readonly kind: "looks" | "acts" | "closed";
}

const judged: Judged[] = [];

beforeAll(async () => {
  const world = await layout();
  const { workDir, home, stateDir, forbiddenPaths } = world;
  execFileSync("git", ["init", "--quiet", workDir]);
  for (const path of ["src/main.ts", "src/util.ts", "dist/a.js", "README.md", "a.txt", "b.txt"]) await world.file(path);
  await world.file("package.json", '{"version":"1.0.0"}\n');
  const plain = await local({ workDir, home, outputFolder: join(stateDir, "outputs") });
  const hidden = [join(home, ".ssh"), join(home, ".npmrc")];
  const state = async () => ({ works: true, missing: [] }) as const;
  const contained: Backend = {
    ...plain,
    name: "sandbox(local)",
    sandbox: { required: false, hidden, temporary: [], isTemporary: () => false, state },
  };
  const inside = await world.toolkit({ target: contained, policy: { forbiddenPaths } });
  const outside = await world.toolkit({ target: plain, policy: { forbiddenPaths } });
  const tables = [["looks", LOOKS] as const, ["acts", ACTS] as const, ["closed", CLOSED] as const];
  for (const [kind, table] of tables) {
    for (const command of Object.values(table).flat()) {
      const effects = [{ kind: "exec", command }] as const;
      const decisions = { inside: await inside.judge(effects), outside: await outside.judge(effects) };
      judged.push({ command, kind, ...decisions });
    }
  }
  report();
});

test("the everyday commands are at least 300 different ones", () => {
  expect(new Set(judged.map(({ command }) => command)).size).toBe(judged.length);
  expect(judged.length).toBeGreaterThanOrEqual(300);
});

describe("in the sandbox", () => {
  test("at least 98 of 100 run", () => {
    const stopped = judged.filter(({ inside }) => inside.verdict !== "allow");
    expect(stopped.length / judged.length, list(stopped, "inside").join("\n")).toBeLessThanOrEqual(0.02);
  });

  test("none is refused", () => {
    const refused = judged.filter(({ inside }) => inside.verdict === "deny");
    expect(list(refused, "inside")).toEqual([]);
  });
});

describe("outside the sandbox", () => {
  test("none that only looks is refused", () => {
    expect(list(of("looks", "outside", "deny"), "outside")).toEqual([]);
  });

  test("none that does more than look runs unasked", () => {
    expect(of("acts", "outside", "allow").map(({ command }) => command)).toEqual([]);
  });
});

test("a path outside the workspace is closed without the sandbox; in it, the sandbox decides", () => {
  const closed = judged.filter(({ kind }) => kind === "closed");
  expect(closed.length).toBeGreaterThan(0);
  expect(closed.filter(({ outside }) => outside.verdict !== "deny").map(({ command }) => command)).toEqual([]);
  expect(closed.filter(({ inside }) => inside.verdict === "deny").map(({ command }) => command)).toEqual([]);
});

function of(kind: Judged["kind"], regime: (typeof REGIMES)[number], verdict: Verdict): readonly Judged[] {
  return judged.filter((each) => each.kind === kind && each[regime].verdict === verdict);
}

function list(some: readonly Judged[], regime: (typeof REGIMES)[number]): readonly string[] {
  return some.map(({ command, [regime]: { verdict, reason = "" } }) =>
    `${WORDS[verdict]}: ${command}: ${reason}`.replaceAll("\n", "\\n"),
  );
}

/**
 * Prints the numbers of run/asked/refused commands of each kind in both regimes, with those that do not run in the
 * sandbox and those that only look and do not run outside.
 */
function report(): void {
  const lines = REGIMES.flatMap((regime) => [
    `${regime} the sandbox, run/asked/refused:`,
    ...(["looks", "acts", "closed"] as const).map((kind) => {
      const counts = (["allow", "ask", "deny"] as const).map((verdict) => of(kind, regime, verdict).length);
      return `  ${kind}: ${counts.join("/")}`;
    }),
  ]);
  const stopped = judged.filter(({ inside }) => inside.verdict !== "allow");
  const looking = judged.filter(({ kind, outside }) => kind === "looks" && outside.verdict !== "allow");
  lines.push(`not run in the sandbox: ${stopped.length} of ${judged.length}`, ...list(stopped, "inside"));
  lines.push(`only look, not run outside: ${looking.length}`, ...list(looking, "outside"));
  console.log(lines.join("\n"));
}
