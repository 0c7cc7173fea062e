import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "./program.ts";

test("handrail policy import prints the rules of another agent, and adds them to the user's own file", async () => {
  const permissions = { allow: ["Bash(npm test)"], deny: ["Bash(git * main)", "Read(./keys/**)"] };
  const line = await commandLine({
    ".claude/settings.json": JSON.stringify({ permissions }),
    "own.json": JSON.stringify({ permissions: { allow: ["Bash(make:*)"] } }),
  });
  const { stdout } = await line.here(["policy", "import", "claude-code"]);
  expect(stdout).toContain('    deny:\n      - rule: "Read(./keys/**)"\n');
  expect(stdout).toContain("# not imported, allow: Bash(npm test): ");

  const file = join(line.configHome, "handrail/config.yaml");
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, "# mine\npolicy:\n  commands:\n    allow: [npm run lint] # fast\n");
  const write = () => line.here(["policy", "import", "claude-code", "own.json", "--write", "--yes"]);
  expect((await write()).code).toBe(0);
  const text = await readFile(file, "utf8");
  for (const words of ["# mine", "# fast", "npm run lint", "Bash(make:*)"]) expect(text).toContain(words);
  expect((await write()).stdout).toContain("has these rules already");
  expect((await line.here(["policy", "check", "--command", "make all"])).stdout).toContain('"verdict":"allow"');
  expect((await line.here(["policy", "import", "codex"])).stderr).toContain("there is no file with rules of codex");
});
