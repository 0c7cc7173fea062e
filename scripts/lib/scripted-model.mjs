import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

/**
 * @typedef {{ readonly text: string } | { readonly call: string, readonly input: object }} Part
 */

/**
 * Serves the chat completions of a model that plays a script: the turn of a message is the list under its text, one
 * reply for each list of parts. Text arrives a few characters at a time.
 *
 * @param {{ readonly [message: string]: readonly (readonly Part[])[] }} script
 * @returns {Promise<{ readonly url: string, close(): void }>}
 */
export async function serveScript(script) {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece) => (body += piece));
    request.on("end", () => void reply(JSON.parse(body), response));
  });
  /** @param {{ messages: { role: string, content: unknown }[] }} asked @param {import("node:http").ServerResponse} response */
  const reply = async ({ messages }, response) => {
    const last = messages.findLastIndex(({ role }) => role === "user");
    const message = JSON.stringify(messages[last]?.content ?? "");
    const turn = Object.entries(script).find(([text]) => message.includes(text))?.[1] ?? [];
    const parts = turn[messages.slice(last).filter(({ role }) => role === "assistant").length] ?? [];
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (/** @type {object} */ delta, /** @type {string | null} */ finish = null) =>
      response.write(
        `data: ${JSON.stringify({ ...CHUNK, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
      );
    let index = 0;
    for (const part of parts) {
      if ("text" in part) {
        for (const piece of part.text.match(/[^]{1,6}/gu) ?? []) {
          send({ role: "assistant", content: piece });
          await pause(5);
        }
      } else {
        const made = { name: part.call, arguments: JSON.stringify(part.input) };
        send({ tool_calls: [{ index, id: `call_${messages.length}_${index}`, type: "function", function: made }] });
        index += 1;
      }
    }
    send({}, index > 0 ? "tool_calls" : "stop");
    const usage = { prompt_tokens: 62_000, completion_tokens: 340, total_tokens: 62_340 };
    response.end(`data: ${JSON.stringify({ ...CHUNK, choices: [], usage })}\n\ndata: [DONE]\n\n`);
  };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/v1`, close: () => void server.close() };
}

const CHUNK = { id: "reply", object: "chat.completion.chunk", created: 0, model: "scripted" };
