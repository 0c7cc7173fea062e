// Compares what the policy reads in a script with what a real shell executes. Every executed command must have been
// seen, or the policy must report that it does not see everything. `npm run fuzz` runs many more scripts.
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { findCommands } from "../../src/policy/commands/find-commands.ts";
import { nameOf } from "../../src/policy/commands/search.ts";
import { cases } from "../support/cases.ts";
import { mustBeHere } from "../support/here.ts";
import { layout } from "../support/layout.ts";
import { HARMLESS, HIDDEN, PASSERS, shellScripts } from "./oracle-grammar.ts";
import { type Execution, type Reading, containmentProblem, executionsOf, smallest, unseen } from "./oracle.ts";

const SCRIPTS = Number(process.env["FUZZ_SCRIPTS"] ?? cases(80));
/** Constant in the suite, so that tests do not depend on chance; `npm run fuzz` uses others. */
const SEED = Number(process.env["FUZZ_SEED"] ?? 4);
const CHUNK = 1_000;
const JUDGED_AT_ONCE = 50;

const MAY_RUN: ReadonlySet<string> = new Set([...HARMLESS, ...PASSERS]);

const problem = containmentProblem();

mustBeHere("what scripts execute", problem);

describe.skipIf(problem !== undefined)("the execution oracle", () => {
  const ran: { script: string; executions: readonly Execution[] }[] = [];

  beforeAll(
    async () => {
      for (let done = 0; done < SCRIPTS; done += CHUNK) {
        const numRuns = Math.min(CHUNK, SCRIPTS - done);
        const scripts = fc.sample(shellScripts(), { numRuns, seed: SEED + done });
        const executions = await executionsOf(scripts);
        ran.push(...scripts.map((script, index) => ({ script, executions: executions[index] ?? [] })));
        if (SCRIPTS > CHUNK) process.stderr.write(`oracle: ${ran.length} scripts\n`);
      }
    },
    60_000 + SCRIPTS * 100,
  );

  test(`every command that ${SCRIPTS} generated scripts really execute was seen by the policy`, async () => {
    const missed = ran.filter(({ script, executions }) => unseen(policy(script), executions).length > 0);
    const shown = await Promise.all(missed.slice(0, 6).map(({ script }) => leastMissed(script)));
    expect(shown.join("\n\n"), `${missed.length} of ${SCRIPTS}, seed ${SEED}`).toBe("");
  }, 300_000);

  test(
    "a script that the policy allows without a question executes only harmless commands",
    async () => {
      const { forbiddenPaths, toolkit } = await layout();
      const { judge } = await toolkit({ policy: { forbiddenPaths } });
      const allowed: typeof ran = [];
      // As many in parallel as in a busy agent: all of them would fill the memory.
      for (let done = 0; done < ran.length; done += JUDGED_AT_ONCE) {
        const some = ran.slice(done, done + JUDGED_AT_ONCE);
        const decisions = await Promise.all(some.map(({ script }) => judge([{ kind: "exec", command: script }])));
        allowed.push(...some.filter((_, index) => decisions[index]?.verdict === "allow"));
      }
      const harmful = allowed.flatMap(({ script, executions }) => {
        const found = executions.filter(({ name }) => !MAY_RUN.has(name));
        return found.map(({ name }) => `${name} in ${JSON.stringify(script)}`);
      });
      expect(harmful.slice(0, 5)).toEqual([]);
      expect(allowed.filter(({ executions }) => executions.length > 0).length).toBeGreaterThan(0);
    },
    60_000 + SCRIPTS * 20,
  );

  test("the scripts execute commands, and the policy claims to see all of many of them", () => {
    const executing = ran.filter(({ executions }) => executions.length > 0);
    const claimed = executing.filter(({ script }) => policy(script).complete);
    expect(executing.length / ran.length).toBeGreaterThan(0.6);
    expect(claimed.length / executing.length).toBeGreaterThan(0.2);
    expect(ran.some(({ executions }) => executions.some(({ name }) => name === HIDDEN))).toBe(true);
  });

  test("splitting scripts by their separators would miss many of these commands", () => {
    const missed = ran.filter(({ script, executions }) => unseen(splitter(script), executions).length > 0);
    expect(missed.length).toBeGreaterThan(SCRIPTS / 10);
  });
});

/**
 * What adds commands that are not in the text: variables, arithmetic on them, files and input of shells, start-up
 * files.
 */
const BRINGS_IN = new RegExp(
  String.raw`\$\{?[\w!@*#?-]|\(\(|\[\[|%n|env .*-\w*S|(^|[\s;&|({])\.\s|` +
    String.raw`\b((ba|da)?sh|source|let|test|ENV|BASH_ENV|PS\d|PROMPT_COMMAND)\b`,
);

/** Returns true when the policy claims to see everything: nothing in the script is unclear or adds other commands. */
function policy(script: string): Reading {
  const { commands, unclear, unread } = findCommands(script, { home: "/tmp/work" });
  return { names: commands.map(nameOf), complete: unclear.length + unread.length === 0 && !BRINGS_IN.test(script) };
}

/** Returns the first word after every separator: what a string match sees. */
function splitter(script: string): Reading {
  const names = script.split(/[;&|\n(){}]+/).map((part) => part.trim().split(/\s+/)[0] ?? "");
  return { names, complete: true };
}

async function leastMissed(script: string): Promise<string> {
  const misses = async (shorter: string) => {
    const [executions = []] = await executionsOf([shorter]);
    return unseen(policy(shorter), executions).length > 0;
  };
  const least = await smallest(script, misses);
  const [executions = []] = await executionsOf([least]);
  const names = unseen(policy(least), executions).map(({ name, args }) => [name, ...args].join(" "));
  return `${JSON.stringify(least)} executed ${names.join(", ")}; seen: ${policy(least).names.join(" ")}`;
}
