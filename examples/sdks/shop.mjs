// What the programs of this folder work on: a folder with a picture and a command that a person must approve.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolkit } from "handrail";

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
await writeFile(join(workDir, "release.sh"), "#!/bin/sh\necho released >> releases.txt\n", { mode: 0o755 });
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
await writeFile(join(workDir, "logo.png"), Buffer.from(dot, "base64"));

export const toolkit = await createToolkit({
  ...{ preset: "coding", workDir, stateDir: `${workDir}-state` },
  policy: { commands: { ask: ["./release.sh"] } },
});

export const PROMPT = "Look at logo.png, then make a release with ./release.sh.";

/** What the person was asked. */
const questions = [];

/** Your application asks a person here. This one agrees to what it expects. */
export async function askPerson(tool, input) {
  questions.push(tool);
  return tool.endsWith("bash") && JSON.stringify(input).includes("./release.sh");
}

/** Checks that the person was asked once, and that the approved command ran once. */
export async function close() {
  assert.equal(questions.length, 1);
  assert.equal(await readFile(join(workDir, "releases.txt"), "utf8"), "released\n");
  await toolkit.close();
  await rm(workDir, { recursive: true });
  await rm(`${workDir}-state`, { recursive: true, force: true });
}
