// What the sandbox spares people: a day's commands with it and without it, in supervised autonomy.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Toolkit } from "../../src/contract/toolkit.ts";
import { DEFAULT_FORBIDDEN_PATHS } from "../../src/policy/settings.ts";
import { isInside } from "../../src/util/paths.ts";
import { ACTS, LOOKS } from "../policy/everyday.ts";
import { mustBeHere } from "../support/here.ts";
import { toolkitWith } from "../support/workspace.ts";
import { bubblewrapProblem } from "./contained.ts";

const problem = bubblewrapProblem();
mustBeHere("the sandbox", problem);

const root = mkdtempSync(join(homedir(), "handrail-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test.skipIf(problem !== undefined)(
  "of a day's commands few are asked about in the sandbox, and without it what changes or runs something is",
  async () => {
    const workDir = join(root, "ws");
    mkdirSync(join(workDir, "src"), { recursive: true });
    writeFileSync(join(workDir, "src/main.ts"), "export {};\n");
    writeFileSync(join(workDir, "package.json"), '{"version":"1.0.0"}\n');
    const policy = {
      forbiddenPaths: DEFAULT_FORBIDDEN_PATHS.filter((path) => path.startsWith("~") || !isInside(root, path)),
    };
    const [contained, plain] = [
      await toolkitWith({ workDir, policy, sandbox: "on" }),
      await toolkitWith({ workDir, policy, sandbox: "off" }),
    ];
    const rows: string[] = [];
    const all = { commands: 0, contained: 0, plain: 0 };
    const asking: string[] = [];
    for (const [kind, table] of Object.entries({ "only look": LOOKS, "change or run something": ACTS })) {
      const commands = Object.values(table).flat();
      const [inside, outside] = [await askedOf(contained, commands), await askedOf(plain, commands)];
      rows.push(
        `${kind}: ${commands.length} commands, ${outside.length} ask without the sandbox, ${inside.length} in it`,
      );
      all.commands += commands.length;
      all.contained += inside.length;
      all.plain += outside.length;
      asking.push(...inside);
    }
    console.log(
      [
        ...rows,
        `together: ${share(all.plain, all.commands)} ask without, ${share(all.contained, all.commands)} in it:`,
        ...asking,
      ].join("\n  "),
    );
    expect(all.contained / all.commands).toBeLessThanOrEqual(0.1);
    expect(all.contained).toBeLessThan(all.plain / 3);
  },
);

/** Those that a person is asked about, with why. */
async function askedOf(toolkit: Toolkit, commands: readonly string[]): Promise<readonly string[]> {
  const asked: string[] = [];
  for (const command of commands) {
    const { verdict, reason = "" } = await toolkit.judge([{ kind: "exec", command }]);
    if (verdict !== "allow") asked.push(`${command}: ${reason}`);
  }
  return asked;
}

function share(part: number, whole: number): string {
  return `${((part / whole) * 100).toFixed(1)} %`;
}
