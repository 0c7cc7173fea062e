import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { markByGroup } from "../../src/machine/spawner/command-group.ts";
import { afterFile } from "../support/after-file.ts";
import { TOKEN, served } from "./served.ts";

/** Answers a question over HTTP, notes the status in "done", and with "close" exits as soon as the request is sent. */
const ANSWERING = `
  import { renameSync, writeFileSync } from "node:fs";
  import { connect } from "node:net";
  const [url, token, how] = process.argv.slice(2);
  const { hostname, port, host, pathname } = new URL(url);
  const note = (text) => (writeFileSync("note", text), renameSync("note", "done"));
  const body = '{"answer":"once"}';
  const head = ["POST " + pathname + " HTTP/1.1", "Host: " + host, "Authorization: Bearer " + token,
    "Content-Type: application/json", "Content-Length: " + body.length, "Connection: close", "", body];
  const socket = connect(Number(port), hostname, () => {
    socket.write(head.join("\\r\\n"), () => {
      if (how === "close") process.exit(note("sent"));
    });
  });
  socket.once("data", (data) => note(String(data).split(" ")[1]));
`;

const child = spawn("sleep", ["1000"], { stdio: "ignore" });
afterFile(() => void child.kill("SIGKILL"));
const canMark = child.pid !== undefined && markByGroup(child.pid) !== undefined;

/** A server, a question, and the status of the answer that a command gives in this way. */
async function answered(start: string, how: "stay" | "close") {
  const api = await served({ preset: "coding", sandbox: "off" });
  const event = { call: "a", thread: "main", at: Date.now() };
  await api.store.commit({ ...event, type: "call.started", name: "bash", input: {} });
  const effects = [{ kind: "exec", command: "x" }] as const;
  await api.store.commit({
    ...{ ...event, type: "approval.requested", question: "q", effects, decision: { verdict: "ask", risk: "low" } },
  });
  await writeFile(join(api.toolkit.backend.workDir, "answer.mjs"), ANSWERING);
  const words = `${process.execPath} answer.mjs ${api.url}/api/approvals/q ${TOKEN} ${how}`;
  const command = `(${start} ${words} >out 2>&1 &); until [ -e done ]; do sleep 0.05; done; cat done`;
  const { content } = await api.json<{ content: readonly { text: string }[] }>("POST", "/api/threads/main/calls", {
    ...{ name: "bash", input: { command }, wait: true },
  });
  const ofPerson = await api.ask("POST", "/api/approvals/q", { answer: "refuse" });
  return { ofCommand: content[0]?.text.trim(), ofPerson: ofPerson.status };
}

test("an answer does not count whose sender has exited, since nobody knows who that was", async () => {
  expect(await answered("", "close")).toEqual({ ofCommand: "sent", ofPerson: 200 });
});

test.skipIf(!canMark)("a command is recognized after a double fork without its environment", async () => {
  expect(await answered("env -i setsid", "stay")).toEqual({ ofCommand: "403", ofPerson: 200 });
});
