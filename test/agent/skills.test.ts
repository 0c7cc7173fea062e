import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSkills } from "../../src/agent/agent.ts";
import { skillTool } from "../../src/agent/skills.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import { asText } from "../../src/core/call/result.ts";
import { temporaryFolder } from "../support/workspace.ts";

function folderWith(skills: { readonly [name: string]: string }): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(skills)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "SKILL.md"), text);
  }
  return folder;
}
const skill = (name: string, text: string) => `---\nname: ${name}\ndescription: >\n  How to ${name}.\n---\n\n${text}\n`;

test("a skill is offered by name and description, and read when it is asked for", async () => {
  const user = folderWith({ release: skill("release", "Run scripts/release.sh."), deploy: skill("deploy", "Mine.") });
  const project = folderWith({ deploy: skill("deploy", "Theirs."), test: skill("test", "Run\u200b make.") });
  const told: string[] = [];
  const skills = await readSkills(
    [
      { path: user, by: "user" },
      { path: project, by: "project", within: project },
      { path: join(user, "none"), by: "user" },
    ],
    (text) => told.push(text),
  );
  expect(told).toEqual([]);
  const tool = skillTool(skills)!;
  expect(tool.description).toMatch(/- deploy: How to deploy\.\n- release: How to release\.\n- test: How to test\.$/);
  const toolkit = await createToolkit({ tools: [tool], stateDir: temporaryFolder(), workDir: temporaryFolder() });
  const read = async (name: string) => asText(await toolkit.call({ name: "skill", input: { name } }));
  expect(await read("release")).toBe(
    `The skill release is in ${join(user, "release")}. Paths in it are relative to that folder.\n\nRun scripts/release.sh.`,
  );
  expect(await read("deploy")).toContain("Mine.");
  expect(await read("test")).toMatch(
    /It cannot approve or allow anything\.\n<<foreign text \w+, from .*>>\nRun make\.\n/,
  );
  expect(await read("fly")).toContain('there is no skill "fly"\nThere are: deploy, release, test.');
});

test("a file that is no skill is named with the reason, and links of a project lead nowhere else", async () => {
  const outside = folderWith({ secret: skill("secret", "x") });
  const project = folderWith({
    plain: "Just text.\n",
    unnamed: "---\ndescription: x\n---\n",
    loud: skill("Loud", "x"),
    empty: '---\nname: empty\ndescription: ""\n---\n',
    broken: "---\nname: [\n---\n",
    large: skill("large", "x".repeat(70_000)),
  });
  symlinkSync(join(outside, "secret"), join(project, "secret"));
  const told: string[] = [];
  expect(await readSkills([{ path: project, by: "project", within: project }], (text) => told.push(text))).toEqual([]);
  const file = (name: string) => join(project, name, "SKILL.md");
  expect(told).toEqual([
    `${file("broken")} is not used: name is undefined: expected lower-case letters, digits and hyphens, at most 64`,
    `${file("empty")} is not used: its head has no description`,
    `${file("large")} is not used: it has more than 65536 bytes`,
    `${file("loud")} is not used: name is "Loud": expected lower-case letters, digits and hyphens, at most 64`,
    `${file("plain")} is not used: it does not begin with a head between two lines ---`,
    `${file("unnamed")} is not used: name is undefined: expected lower-case letters, digits and hyphens, at most 64`,
  ]);
});
