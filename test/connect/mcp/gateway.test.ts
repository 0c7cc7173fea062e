// A client of ours reaches another server through us: its forms, content, prompts and long outputs.
import { describe, expect, test } from "vitest";
import { gatewayPrompts } from "../../../src/tools/mcp/prompts.ts";
import { mcpServer } from "../../../src/tools/mcp/source.ts";
import { workspace } from "../../support/workspace.ts";
import { until } from "../../support/until.ts";
import { foreign } from "../../tools/mcp/servers.ts";
import { ERAS, type Person, connect } from "./connection.ts";

const OUTPUT = /output:\/\/\w+/;

describe.each(ERAS)("a client of revision %s", (era) => {
  test("gets a downstream server's form with its own fields, and its parts and prompts as they are", async () => {
    const sources = [mcpServer("other", foreign("legacy"))];
    const answer: Person = async () => ({ action: "accept", content: { name: "Ann", count: 2 } });
    const toolkit = { workDir: await workspace(), policy: { autonomy: "full" as const }, sources };
    const { client, asked } = await connect(era, { toolkit, service: gatewayPrompts(sources) }, answer);
    await until("its tools are there", async () =>
      (await client.listTools()).tools.some(({ name }) => /__/.test(name)),
    );
    const ordered = await client.callTool({ name: "mcp__other__ask_order" });
    expect(ordered.content[0]).toMatchObject({
      text: expect.stringContaining('"content":{"count":2,"size":"small","name":"Ann"}') as string,
    });
    expect(asked[0]).toMatchObject({
      message: "mcp:other asks: What shall it be?",
      requestedSchema: { properties: { name: { description: "On the label" }, count: { default: 1 } } },
    });
    const { content } = await client.callTool({ name: "mcp__other__media" });
    expect(content.map(({ type }) => type)).toEqual(["text", "image", "text", "audio", "text", "resource"]);
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: "other:review" }]);
    const { messages } = await client.getPrompt({ name: "other:review", arguments: { file: "a.ts" } });
    expect(messages).toMatchObject([{ role: "user", content: { type: "text", text: "Review a.ts." } }]);
    await expect(client.getPrompt({ name: "other:review" })).rejects.toMatchObject({ code: -32_602 });
  });

  test("reads a saved output as a resource; one that does not exist is an error", async () => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace(), policy: { autonomy: "full" } } });
    const { content } = await client.callTool({ name: "bash", arguments: { command: "seq 5000" } });
    const [uri = ""] = OUTPUT.exec(JSON.stringify(content)) ?? [];
    const { contents } = await client.readResource({ uri });
    expect(contents).toMatchObject([{ uri, text: expect.stringMatching(/^1\n2\n[^]*\n5000\n$/) as string }]);
    await expect(client.readResource({ uri: "output://0000000000000000" })).rejects.toThrow(/not found/i);
  });
});
