/**
 * Questions are answered on a web page of your own: a program with a toolkit, and a page that shows what would happen,
 * with two buttons. Open the address that it prints; here, the example itself presses a button.
 *
 * Run: node examples/17-approvals-from-a-page.mjs
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { asText, createToolkit, describeCall } from "handrail";

/**
 * The open questions, by an id that cannot be guessed: who knows it may answer. Put a login in front of a real page.
 *
 * @type {Map<string, { what: string, answer: (approval: import("handrail").Approval) => void }>}
 */
const open = new Map();

/**
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 */
async function serve(request, response) {
  if (request.method === "POST") {
    const form = new URLSearchParams(await text(request));
    const question = open.get(form.get("question") ?? "");
    question?.answer(form.get("answer") === "yes" ? { answer: "once" } : { answer: "refuse", reason: "Not today." });
    response.writeHead(303, { location: "/" }).end();
    return;
  }
  const forms = [...open].map(([id, { what }]) => {
    const buttons = `<button name="answer" value="yes">Approve</button> <button name="answer" value="no">Refuse</button>`;
    return `<form method="post"><pre>${escaped(what)}</pre><input type="hidden" name="question" value="${id}">${buttons}</form>`;
  });
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(`<!doctype html><title>Approvals</title>${forms.join("") || "<p>Nothing waits for you."}`);
}
const server = createServer((request, response) => void serve(request, response)).listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
assert.ok(address !== null && typeof address === "object");
const page = `http://127.0.0.1:${address.port}/`;
console.log(page);

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
const toolkit = await createToolkit({
  ...{ preset: "coding", workDir, stateDir: `${workDir}-state`, policy: { commands: { ask: ["touch"] } } },
  approver: (call, decision, signal) =>
    new Promise((resolve) => {
      const id = randomUUID();
      const close = (/** @type {import("handrail").Approval} */ approval) => {
        open.delete(id);
        resolve({ ...approval, by: "page" });
      };
      open.set(id, { what: `${describeCall(call)}\n\n${decision.reason ?? ""}`, answer: close });
      // Answered elsewhere, or stopped: the question goes away.
      signal.addEventListener("abort", () => close({ answer: "refuse" }));
    }),
});

/** What a person does on the page: reads it, and presses a button. */
async function press(/** @type {"yes" | "no"} */ answer) {
  for (;;) {
    const shown = await (await fetch(page)).text();
    const [, question] = /name="question" value="([^"]+)"/.exec(shown) ?? [];
    if (question === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    await fetch(page, { method: "POST", body: new URLSearchParams({ question, answer }) });
    return shown;
  }
}

const bash = (/** @type {string} */ command) => toolkit.call({ name: "bash", input: { command } });
const [made, shown] = await Promise.all([bash("touch released.txt"), press("yes")]);
assert.equal(made.status, "ok");
assert.match(shown, /touch released\.txt/);
assert.equal(await readFile(join(workDir, "released.txt"), "utf8"), "");

const [refused] = await Promise.all([bash("touch again.txt"), press("no")]);
assert.match(asText(refused), /denied by user\. Not today\./);
console.log(asText(refused));

await toolkit.close();
server.close();
await rm(workDir, { recursive: true });
await rm(`${workDir}-state`, { recursive: true, force: true });

/** @param {string} words */
function escaped(words) {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
