import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { CommandRow } from "../../src/cli/command-row.ts";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { commandLine } from "./program.ts";

/** The commands that run something, each with the module that does it. */
function commandsIn(name: string, row: CommandRow, load = row.load): readonly (readonly [string, typeof load])[] {
  const { commands = {}, isCommand } = row;
  const below = Object.entries(commands).flatMap(([each, inner]) =>
    commandsIn(`${name} ${each}`, inner, inner.load ?? load),
  );
  return row.commands === undefined || isCommand ? [[name, load], ...below] : below;
}

const all = Object.entries(COMMANDS).flatMap(([name, row]) => commandsIn(name, row));

test.for(all)("%s has a function in the module that it loads", async ([words, load]) => {
  const { run } = (await load?.()) ?? {};
  const name = words.split(" ").at(-1) ?? "";
  expect(typeof (typeof run === "object" ? run[name] : run)).toBe("function");
});

describe("the script of handrail completion", () => {
  test.for<[typed: string, expected: readonly string[]]>([
    ["jo", ["jobs"]],
    ["jobs ", ["list", "output", "kill", "open", "remove"]],
    ["--yes policy grants re", ["revoke"]],
    ["jobs output --fo", ["--follow"]],
    ["approvals answer once-more re", ["refuse"]],
    ["call --aut", ["--autonomy"]],
    ["run --ss", ["--ssh"]],
  ])("completes %j in bash", async ([typed, expected]) => {
    const { stdout: script } = await (await commandLine()).here(["completion", "bash"]);
    const words = ["handrail", ...typed.split(" ")];
    const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _handrail; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)("bash", ["-c", `${script}\n${ask}`, "bash", ...words]);
    const completed = stdout.trim().split("\n");
    expect(completed).toEqual(expect.arrayContaining([...expected]));
    expect(typed.endsWith(" ") || completed.length === expected.length).toBe(true);
  });
});
