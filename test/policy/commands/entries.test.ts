import { beforeAll, describe, expect, test } from "vitest";
import type { Decision } from "../../../src/contract/decision.ts";
import type { CommandSpec } from "../../../src/policy/commands/spec.ts";
import { FAMILIES } from "../../../src/policy/commands/tables/index.ts";
import { lookUp } from "../../../src/policy/commands/look-up.ts";
import { walkScript } from "../../../src/policy/commands/walk.ts";
import { type Layout, layout } from "../../support/layout.ts";

let world: Layout;
let judge: (command: string) => Promise<Decision>;

beforeAll(async () => {
  world = await layout();
  const toolkit = await world.toolkit({
    policy: {
      forbiddenPaths: world.forbiddenPaths,
      blockHighRiskCommands: false,
      requireApprovalForMediumRisk: false,
    },
  });
  judge = (command) => toolkit.judge([{ kind: "exec", command }]);
});

/** Understood as a whole, and of exactly this risk. Medium risk is not asked about here, so that what is asked about is not understood. */
async function isUnderstood(command: string, risk: CommandSpec["risk"]): Promise<boolean> {
  const decision = await judge(command);
  const { parts } = walkScript(command, { cwd: world.workDir, home: world.home, lookUp });
  const isClear = parts.every(({ unclear }) => unclear.length === 0);
  return isClear && decision.risk === risk && decision.verdict === (risk === "high" ? "ask" : "allow");
}

const specs = FAMILIES.flat().flatMap((spec) => withSubcommands(spec));

function withSubcommands(
  spec: CommandSpec,
  path: readonly CommandSpec[] = [],
): readonly { spec: CommandSpec; title: string }[] {
  const here = [...path, spec];
  const title = here.map(({ names }) => names[0]).join(" ");
  return [{ spec, title }, ...(spec.subcommands ?? []).flatMap((each) => withSubcommands(each, here))];
}

describe("the entries of the tables", () => {
  test("no two of them have the same name", () => {
    const names = FAMILIES.flat().flatMap((spec) => spec.names);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test.each(specs)("$title judges its own examples as it says", async ({ spec }) => {
    for (const command of spec.match) {
      expect(await isUnderstood(command, spec.risk), `match: ${command}: ${JSON.stringify(await judge(command))}`).toBe(
        true,
      );
    }
    for (const command of spec.notMatch) {
      expect(
        await isUnderstood(command, spec.risk),
        `notMatch: ${command}: ${JSON.stringify(await judge(command))}`,
      ).toBe(false);
    }
  });

  test("each has an example of what it does not judge", () => {
    expect(specs.filter(({ spec }) => spec.notMatch.length === 0).map(({ title }) => title)).toEqual([]);
  });
});
