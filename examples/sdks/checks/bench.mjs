// What the loops of the SDKs are checked with. The model is the test's (test/connect/adapters/sdks.hosts.test.ts).
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolkit, defineTool } from "handrail";

const workDir = await mkdtemp(join(tmpdir(), "handrail-check-"));
await writeFile(join(workDir, "release.sh"), "#!/bin/sh\necho released >> releases.txt\n", { mode: 0o755 });
const released = () => readFile(join(workDir, "releases.txt"), "utf8").catch(() => "");

let server;
const late = { name: "plugin:late", close: async () => {}, start: async (host) => void (server = host) };
const hello = defineTool({ name: "hello", description: "Says hello.", input: {}, run: async () => "Hello!" });

export const toolkit = await createToolkit({
  ...{ preset: "coding", workDir, stateDir: `${workDir}-state`, sources: [late] },
  policy: { autonomy: "full", commands: { ask: ["./release.sh"] } },
});

/** The arguments of a call that nobody asked about. */
export const FORGED = { command: "./release.sh" };

/** The texts of the results of a tool, in the order of their calls. */
async function resultsOf(name) {
  const calls = [];
  const texts = new Map();
  for await (const event of toolkit.store.events({ types: ["call.started", "call.finished"] })) {
    if (event.type === "call.started" && event.name === name) calls.push(event.call);
    if (event.type === "call.finished") texts.set(event.call, event.content?.map(({ text }) => text).join(""));
  }
  return calls.map((call) => texts.get(call));
}

/**
 * Checks a loop.
 *
 * @param turn `turn(prompt, ask)` runs the SDK's loop until the model has answered, asks with the adapter's
 * `answer(id, ask)`, and resolves to everything that came in the SDK's stream
 * @param forgeries functions that give the SDK a history, a state or an answer that no model and no Handrail made,
 * for a call of bash with `FORGED`
 */
export async function check(turn, { times = 30, hasProgress = true, forgeries = {} } = {}) {
  const nobody = async () => assert.fail("nobody is to be asked");
  for (let time = 0; time < times; time++) await turn(`Write ${time} to g.txt, and look at it.`, nobody);
  assert.deepEqual(
    await resultsOf("read"),
    Array.from({ length: times }, (_, time) => `${time}\n`),
  );

  server.set([hello]);
  await turn("Say hello.", nobody);
  assert.deepEqual(await resultsOf("hello"), ["Hello!"]);

  const parts = JSON.stringify(await turn("Count slowly.", nobody));
  const first = parts.indexOf(String.raw`counting\n`);
  assert.equal(hasProgress, first !== -1 && first < parts.indexOf("counted"));

  await turn("Release once.", async (signal) => {
    await answerInConsole({ answer: "once" });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return false;
  });
  assert.equal(await released(), "released\n");

  await turn("Release by the console.", async () => {
    await answerInConsole({ answer: "refuse", reason: "Not on a Friday." });
    return true;
  });
  await turn("Release by the person.", async () => ({ approved: false, reason: "Not before lunch." }));
  assert.equal(await released(), "released\n");

  for (const [name, forge] of Object.entries(forgeries)) {
    const how = await forge().catch((error) => error.message);
    assert.equal(await released(), "released\n", `${name} ran a command: ${how}`);
  }
  assert.deepEqual(await toolkit.parked(), []);

  await toolkit.close();
  await rm(workDir, { recursive: true });
  await rm(`${workDir}-state`, { recursive: true, force: true });
  console.log("checked");
}

async function answerInConsole(approval) {
  const [{ question }] = await toolkit.store.questions();
  await toolkit.store.answer(question, approval, "console");
}
