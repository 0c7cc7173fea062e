// A day's commands in five kinds of project. In supervised autonomy none of them may be refused, and those that only look may hardly ever
// ask: a rail that is in the way is taken down.
import { beforeAll, describe, expect, test } from "vitest";
import type { Decision } from "../../src/contract/decision.ts";
import { type Layout, layout } from "../support/layout.ts";
import { ACTS, LOOKS } from "./everyday.ts";

let world: Layout;
const judged: { command: string; looks: boolean; decision: Decision }[] = [];

beforeAll(async () => {
  world = await layout();
  await world.file("src/main.ts");
  await world.file("package.json", '{"version":"1.0.0"}\n');
  const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
  for (const [table, looks] of [
    [LOOKS, true],
    [ACTS, false],
  ] as const) {
    for (const command of Object.values(table).flat()) {
      judged.push({ command, looks, decision: await toolkit.judge([{ kind: "exec", command }]) });
    }
  }
});

describe("a day of everyday commands", () => {
  test("is long enough to say something", () => {
    expect(judged.length).toBeGreaterThanOrEqual(250);
    expect(new Set(judged.map(({ command }) => command)).size).toBe(judged.length);
  });

  test("none of them is refused in supervised autonomy", () => {
    const refused = judged.filter(({ decision }) => decision.verdict === "deny");
    expect(refused.map(({ command, decision }) => `${command}: ${decision.reason ?? ""}`)).toEqual([]);
  });

  test("of those that only look at most one in twenty asks", () => {
    const looking = judged.filter(({ looks }) => looks);
    const asking = looking.filter(({ decision }) => decision.verdict !== "allow");
    const all = judged.filter(({ decision }) => decision.verdict === "ask");
    const list = asking.map(({ command, decision }) => `\n  ${command}: ${decision.reason ?? ""}`).join("");
    console.log(
      `${all.length} of ${judged.length} everyday commands ask; of the ${looking.length} that only look: ${asking.length}${list}`,
    );
    expect(asking.length / looking.length).toBeLessThanOrEqual(0.05);
  });

  test("those that change something or run the project's programs are asked about", () => {
    const unasked = judged.filter(({ looks, decision }) => !looks && decision.verdict === "allow");
    expect(unasked.map(({ command }) => command)).toEqual([]);
  });

  test("they are understood: what is asked about is asked about because of what it does", () => {
    const unclear = judged.filter(({ looks, decision }) => !looks && decision.rule === "not_understood");
    expect(unclear.map(({ command, decision }) => `${command}: ${decision.reason ?? ""}`)).toEqual([]);
  });
});
