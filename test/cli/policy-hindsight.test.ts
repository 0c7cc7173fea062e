import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import { commandLine } from "./program.ts";

/** The program in a folder where an agent has made these calls, each of which a person answered. */
async function answered(calls: readonly (readonly [script: string, "once" | "refuse"])[]) {
  const line = await commandLine();
  await mkdir(join(line.stateHome, "handrail"), { recursive: true, mode: 0o700 });
  const toolkit = await createToolkit({
    store: sqliteStore({ file: join(line.stateHome, "handrail/handrail.db") }),
    workDir: line.folder,
    stateDir: join(line.stateHome, "handrail"),
    sandbox: "off",
    approver: async ({ input }) => ({
      answer: answers.get((input as { readonly command: string }).command) ?? "refuse",
    }),
  });
  const answers = new Map(calls);
  const { name: target, workDir } = toolkit.backend;
  toolkit.store.append({ type: "thread.created", thread: "t", at: Date.now(), target, workDir });
  for (const [command] of calls) await toolkit.call({ name: "bash", input: { command }, thread: "t" });
  await toolkit.close();
  return line;
}

const CALLS = [
  ["git fetch ./gone a", "once"],
  ["git fetch ./gone b", "once"],
  ["git fetch ./gone c", "once"],
  ["git push ./gone main", "once"],
  ["git push ./gone --force", "refuse"],
] as const;

test("policy check --against shows which recorded calls would end otherwise", async () => {
  const line = await answered(CALLS);
  const same = await line.here(["policy", "check", "--against", "30d", "--sandbox", "off"]);
  expect(same.stdout).toBe("5 calls of this folder judged again: 0 would end otherwise.\n");
  const config = join(line.folder, "new.yaml");
  await writeFile(config, "policy: { commands: { allow: ['git fetch *'], deny: ['git push *'] } }\n");
  const other = await line.here(["policy", "check", "--against", "30d", "--sandbox", "off", "--config", config]);
  expect(other.stdout.replaceAll(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/gm, "TIME"))
    .toBe(`TIME  asked -> allowed  Run: git fetch ./gone a
TIME  asked -> allowed  Run: git fetch ./gone b
TIME  asked -> allowed  Run: git fetch ./gone c
TIME  asked -> denied  Run: git push ./gone main
    git push ./gone main: denied by the rule git push *
TIME  asked -> denied  Run: git push ./gone --force
    git push ./gone --force: denied by the rule git push *
5 calls of this folder judged again: 5 would end otherwise.
`);
});
