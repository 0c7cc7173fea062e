import { describe, expect, test } from "vitest";
import { aiSdk } from "../../src/connect/adapters/ai-sdk.ts";
import { createAgent } from "../../src/agent/agent.ts";
import { requireValidOptions } from "../../src/app/toolkit-options.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import { toolkitWith } from "../support/workspace.ts";

/** The message for options that have no type here, as a program in JavaScript gives them. */
function problemOf(options: object): string {
  try {
    requireValidOptions(options);
    return "";
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as Error).message;
  }
}

describe("every option in an option is checked, as in a configuration file", () => {
  test.each<[options: object, names: readonly string[]]>([
    [{ policy: { autonomy: "read-only" } }, ['policy.autonomy: expected "readonly"', 'Did you mean "readonly"?']],
    [{ policy: { commands: { denied: ["rm"] } } }, ['policy.commands has no key "denied"', "deny"]],
    [
      { policy: { forbidden_paths: ["~/x"] } },
      ['policy has no key "forbidden_paths"', 'Did you mean "forbiddenPaths"?'],
    ],
    [{ policy: { commands: { deny: "rm" } } }, ['policy.commands.deny: expected a list, got "rm"']],
    [{ policy: { commands: { deny: [{ rules: "rm" }] } } }, ['policy.commands.deny[0] has no key "rules"', '"rule"']],
    [{ policy: { workspaceOnly: "true" } }, ['policy.workspaceOnly: expected true or false, got "true"']],
    [{ policy: { network: { deny_hosts: ["x"] } } }, ['policy.network has no key "deny_hosts"', '"denyHosts"']],
    [{ policy: { network: { fetch: "always" } } }, ['policy.network.fetch: expected "open" or "seen" or "ask"']],
    [
      { policy: { maxActionsPerHour: Number.NaN } },
      ["policy.maxActionsPerHour: expected a number of at least 0, got NaN"],
    ],
    [{ policy: { maxActionsPerHour: "10" } }, ["policy.maxActionsPerHour: expected a number"]],
    [{ policy: { allowedRoots: "/srv" } }, ["policy.allowedRoots: expected a list"]],
    [{ policy: "readonly" }, ["policy: expected an object with autonomy"]],
    [{ policy: null }, ["policy: expected an object"]],
    [{ sandbox: "of" }, ['sandbox: expected "off" or "auto" or "on", got "of". Did you mean "off"']],
    [{ sandbox: { mod: "on" } }, ['sandbox has no key "mod". Did you mean "mode"?']],
    [{ sandbox: { mode: "always" } }, ["sandbox.mode: expected"]],
    [{ sandbox: { limits: { mem: 1 } } }, ['sandbox.limits has no key "mem"']],
    [{ sandbox: { limits: { memory: "4G" } } }, ["sandbox.limits.memory: expected a number of at least 1"]],
    [{ sandbox: true }, ["sandbox: expected an object"]],
    [{ approvers: { phones: "none" } }, ['approvers has no key "phones". Did you mean "phone"?']],
    [{ approvers: { phone: "no" } }, ["approvers.phone: expected"]],
    [{ grants: "never" }, ['grants: expected "once"']],
    [{ park: "later" }, ['park: expected "now" or "never", got "later"']],
    [{ park: { after: 5 } }, ['park has no key "after". Did you mean "afterMs"?']],
    [{ mask: { value: ["x"] } }, ['mask has no key "value". Did you mean "values"?']],
    [{ mask: true }, ["mask: expected an object"]],
    [{ browser: { headless: true } }, ['browser has no key "headless"']],
    [{ disable: "bash" }, ["disable: expected a list"]],
    [{ approver: "always" }, ["approver: expected a function"]],
    [{ hooks: "x" }, ["hooks: expected an object"]],
    [{ undo: "on" }, ["undo: expected true or false"]],
    [{ passEnv: "CI" }, ["passEnv: expected a list"]],
    [{ memoryScope: "global" }, ["memoryScope: expected"]],
    [{ lifetime: "calls" }, ['lifetime: expected "call"', 'Did you mean "call"?']],
    [{ toolsets: { mine: "read" } }, ["toolsets.mine: expected a list"]],
  ])("%j", (options, names) => {
    const problem = problemOf(options);
    for (const name of names) expect(problem).toContain(name);
  });

  test("all problems are named at once, and what fits is accepted", async () => {
    expect(problemOf({ sandbox: "of", undo: 1, policy: { autonomy: "x" } }).split("\n")).toHaveLength(3);
    expect(
      problemOf({ policy: { autonomy: undefined, commands: { deny: ["rm", { rule: "x", match: ["x"] }] } } }),
    ).toBe("");
    expect(problemOf({ sandbox: { mode: "off", limits: {}, alarms: {} }, mask: false, park: { afterMs: 1 } })).toBe("");
    await expect(createToolkit({ policy: { autonomy: "read-only" as "readonly" } })).rejects.toThrow("policy.autonomy");
  });

  test("of an adapter and an agent too", async () => {
    const toolkit = await toolkitWith({});
    expect(() => aiSdk(toolkit, { approval: "toolkit" } as object)).toThrow(
      'has no option "approval". Did you mean "approvals"?',
    );
    expect(() => aiSdk(toolkit, { approvals: "tookit" as "toolkit" })).toThrow('Did you mean "toolkit"?');
    const agent = { model: "demo", toolkit, disabled: ["delegate"] } as unknown as Parameters<typeof createAgent>[0];
    await expect(createAgent(agent)).rejects.toThrow('createAgent has no option "disabled". Did you mean "disable"?');
  });
});
