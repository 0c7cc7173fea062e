import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { lastValidIn } from "../../../src/app/config/last-valid.ts";
import { readSettings } from "../../../src/app/config/read-settings.ts";
import { commandLine } from "../../cli/program.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { place } from "./config.ts";

describe("a project's file that is broken", () => {
  test.for<[string, (path: string) => Promise<unknown>, RegExp]>([
    ["is no YAML", (path) => writeFile(path, "x: [\n"), /handrail\.yaml:\d+:\d+: broken YAML/],
    [
      "has an unknown key",
      (path) => writeFile(path, "policy: { autonomi: full }\n"),
      /:1:11: policy\.autonomi: unknown key/,
    ],
    ["loosens the policy", (path) => writeFile(path, "policy: { autonomy: full }\n"), /can only tighten/],
    ["names a preset that is not there", (path) => writeFile(path, "tools: { preset: codign }\n"), /expected a preset/],
    ["disables an unknown tool", (path) => writeFile(path, "tools: { disable: [bsh] }\n"), /name of a tool/],
    [
      "has a rule that cannot be read",
      (path) => writeFile(path, "policy: { commands: { deny: ['Bash()'] } }\n"),
      /deny/,
    ],
    ["is a link to nothing", (path) => symlink("nowhere", path), /there is no such file/],
    ["is a folder", (path) => mkdir(path), /this is a folder/],
    ["is binary", (path) => writeFile(path, Buffer.from([0x73, 0xff, 0xfe])), /not UTF-8/],
    ["repeats itself without end", (path) => writeFile(path, "toolsets: { a: &a [*a] }\n"), /handrail\.yaml:/],
  ])("and %s is a warning; commands, undo and threads go on", async ([, make, warning]) => {
    const { folder, here } = await commandLine();
    await make(join(folder, "handrail.yaml"));
    const ran = await here(["call", "read", '{"path":"README.md"}', "--sandbox", "off"]);
    expect(ran).toMatchObject({ code: 0, stdout: "# Read me\n" });
    expect(ran.stderr).toMatch(warning);
    expect(ran.stderr).toContain("otherwise your own settings apply");
    for (const args of [["undo", "--list"], ["threads"], ["policy", "check", "--command", "ls"]])
      expect((await here(args)).code).toBe(0);
  });

  test.each<[string, string, object]>([
    [
      "a rule in a list",
      "policy: { commands: { deny: [rm, 'Bash()', npm] } }",
      { policy: { commands: { deny: ["rm", "npm"] } } },
    ],
    [
      "a rule that fails its own example",
      "policy: { commands: { ask: [{ rule: rm, match: [ls] }, npm] } }",
      { policy: { commands: { ask: ["npm"] } } },
    ],
    [
      "a rule that should be in a list",
      "policy: { commands: { deny: rm } }",
      { policy: { commands: { deny: ["rm"] } } },
    ],
    ["a rule that is a number", "policy: { commands: { deny: [rm, 7] } }", { policy: { commands: { deny: ["rm"] } } }],
    [
      "all of the only commands",
      "policy: { commands: { only: ['Bash()'] } }",
      { policy: { commands: { only: ["/dev/null"] } } },
    ],
    [
      "a list after valid rules",
      "policy: { commands: { deny: [rm] } }\n y: [",
      { policy: { commands: { deny: ["rm"] } } },
    ],
    ["the autonomy", "policy: { autonomy: read-only }", { policy: { autonomy: "readonly" } }],
    ["the sandbox", "policy: { sandbox: onn }", { policy: { sandbox: "on" } }],
    ["a switch", "policy: { shell_confirm: yes }", { policy: { shellConfirm: true } }],
    ["a number", "policy: { max_actions_per_hour: few }", { policy: { maxActionsPerHour: 0 } }],
    [
      "a host",
      "policy: { network: { deny_hosts: [a.example, 'b c'] } }",
      { policy: { network: { denyHosts: ["a.example"] } } },
    ],
    [
      "a forbidden path",
      "policy: { forbidden_paths: [keys, 'x/*.pem'] }",
      { policy: { forbiddenPaths: expect.arrayContaining([expect.stringMatching(/\/keys$/)]) as unknown } },
    ],
    [
      "a tool of a toolset",
      "tools: { preset: look }\ntoolsets: { look: [read, 'g p'] }",
      { tools: { preset: "look" } },
    ],
    ["the preset", "tools: { preset: redonly }", { tools: { preset: "readonly" } }],
  ])("that was never valid and has a mistake in %s is not looser than what was meant", async (_, text, expected) => {
    const { project, trust } = await place();
    await writeFile(project, `${text}\n`);
    const { settings, warnings } = await readSettings(
      { project },
      { trust, lastValid: lastValidIn(temporaryFolder()) },
    );
    expect(settings).toMatchObject(expected);
    expect(warnings[0]).toMatchObject({ place: { line: expect.any(Number) as number } });
  });

  test("loosens nothing: what is valid in it counts, and so does its last valid content", async () => {
    const { project, trust } = await place();
    const lastValid = lastValidIn(temporaryFolder());
    const read = async (text: string) => {
      await writeFile(project, text);
      const { settings, warnings } = await readSettings({ project }, { trust, lastValid });
      return [settings.policy.autonomy, settings.policy.commands.deny, warnings.length];
    };
    expect(await read("policy: { autonomy: full, commands: { deny: [rm] } }\n")).toEqual(["supervised", ["rm"], 1]);
    expect(await read("policy: { autonomy: readonly, commands: { deny: [npm] } }\n")).toEqual(["readonly", ["npm"], 0]);
    expect(await read("x: [\n")).toEqual(["readonly", ["npm"], 1]);
    expect(await read("policy: { autonomy: supervised, commands: { deny: [rm] } }\n y: 1")).toMatchObject([
      "readonly",
      {},
      1,
    ]);
    expect(await read("policy: { autonomy: supervised }\n")).toEqual(["supervised", [], 0]); // mended, or the person's choice
    expect(await read("x: [\n")).toEqual(["supervised", [], 1]);
  });
});
