import { describe, expect, test } from "vitest";
import type { CallEvent } from "../../../src/core/contract/activity.ts";
import type { Approval, FormInput } from "../../../src/core/contract/decision.ts";
import type { CallOptions } from "../../../src/core/contract/toolkit.ts";
import type { Approver } from "../../../src/core/contract/policy.ts";
import type { Tool } from "../../../src/core/contract/tool.ts";
import { describeCall } from "../../../src/policy/describe.ts";
import { until } from "../../support/until.ts";
import { ERAS } from "../../connect/mcp/connection.ts";
import { foreign, withServers } from "./servers.ts";
import { plainText } from "../../support/plain-text.ts";

const approved: { answer: Approval["answer"]; input?: FormInput; readonly asked: string[] } = {
  answer: "once",
  asked: [],
};
const approver: Approver = async (call, { risk, reason, scopes = [] }) => {
  const lengths = scopes.map(({ label, upTo }) => `${label} (${upTo})`);
  approved.asked.push([risk, reason, describeCall(call), ...lengths].join("\n"));
  const { answer, input } = approved;
  return answer === "once" && input !== undefined ? { answer, input } : { answer };
};

describe.each(ERAS)("a server of revision %s", (era) => {
  const other = foreign(era, { env: { FOREIGN_KEY: "a key" } });
  process.env["FOREIGN_SECRET"] = "not for servers";
  const started = withServers(
    { other, hasty: foreign(era, { timeoutMs: 300 }) },
    { approver, passEnv: ["FOREIGN_SECRET"] },
  );
  const call = async (tool: string, input: object = {}, options: CallOptions = {}) =>
    (await started).toolkit.call({ name: `mcp__${tool}`, input }, options);

  test("has tools whose texts, data, images and failures are passed on in their order", async () => {
    expect(await call("other__echo", { words: "hello" })).toMatchObject({ status: "ok", data: "hello" });
    expect(plainText(await call("other__fail"))).toBe("Tool error: the disk is full");
    expect(await call("other__structure")).toMatchObject({
      status: "ok",
      data: { days: [1, 2] },
      content: [
        {
          type: "text",
          text: expect.stringMatching(
            /^<<foreign text .*>>\n\{"days":\[1,2\]\}\n<<end of foreign text \w+>>$/,
          ) as string,
        },
      ],
    });
    expect(await call("other__media")).toMatchObject({
      status: "ok",
      content: [
        { type: "text", text: expect.stringMatching(/^<<foreign text .*>>\na picture$/) as string },
        { type: "image", mimeType: "image/png" },
        { type: "text", text: "[Left out: image, image/svg+xml, 8 characters of base64]" },
        { type: "audio", mimeType: "audio/wav" },
        { type: "text", text: "[Resource one: note://one]" },
        {
          ...{ type: "resource", uri: "note://one" },
          text: expect.stringMatching(/^the note\n<<end of foreign text \w+>>$/) as string,
        },
      ],
    });
    expect(plainText(await call("other__read_resource"))).toBe("note://one (one): A note");
    expect(plainText(await call("other__read_resource", { uri: "note://one" }))).toBe("the note");
    expect(plainText(await call("other__echo"))).toMatch(/missing required parameter "words"/);
  });

  test("has the digits of a long integer in its data, and its pictures by their bytes", async () => {
    expect(await call("other__long")).toMatchObject({
      data: { id: "1917043659912705297" },
      content: [{ text: expect.stringContaining("1917043659912705297") as string }],
    });
    const { content = [] } = (await call("other__pictures")) as {
      readonly content?: readonly { readonly type: string; readonly mimeType?: string }[];
    };
    const types = content.map(({ type, mimeType }) => mimeType ?? type);
    expect(types).toEqual(["image/png", "image/png", "image/png", "text"]);
  });

  test("has prompts, and gets only the configured environment", async () => {
    expect(await call("other__who")).toMatchObject({ data: { variables: ["FOREIGN_KEY"] } });
    const [prompt] = (await started).sources[0]?.prompts() ?? [];
    expect(prompt).toMatchObject({ server: "other", name: "review", arguments: [{ name: "file", required: true }] });
    expect(await prompt?.text({ file: "a.ts" }, new AbortController().signal)).toBe("Review a.ts.");
  });

  test("shows its progress, and a call of it can be stopped, or times out", async () => {
    const stopping = new AbortController();
    const onEvent = (event: CallEvent) => {
      if (event.type === "call.updated" && event.update.displayMessage === "half way") stopping.abort();
    };
    expect(await call("other__slow", {}, { signal: stopping.signal, onEvent })).toMatchObject({ status: "aborted" });
    expect(plainText(await call("hasty__slow"))).toBe("Tool error: mcp:hasty has not answered within 0.3 s");
    expect(await call("other__echo", { words: "on" })).toMatchObject({ status: "ok" });
  });

  test("whose tools change is listed again", async () => {
    const { toolkit } = await started;
    let changes = 0;
    toolkit.onToolsChanged(() => changes++);
    await call("other__grow");
    await until("the tool is there", () => toolkit.tools.has("mcp__other__grown"));
    expect(changes).toBeGreaterThan(0);
    expect(await call("other__grown")).toMatchObject({ data: "grown" });
  });

  test("asks a person in its own words, in every autonomy", async () => {
    approved.asked.length = 0;
    const ask = async (tool: string) => JSON.parse(plainText(await call(`other__${tool}`))) as object;
    const accepted = { action: "accept", content: { sure: true, why: "no reason" } };
    approved.answer = "session"; // which was not offered
    expect(await ask("ask")).toMatchObject(accepted);
    expect(approved.asked).toEqual([
      "medium\nmcp:other asks a person a question\n" +
        'mcp:other asks in its own words: "Delete\\u001b[2J everything?"\n' +
        'Yes sends the answer: {"sure":true,"why":"no reason"}\nTo fill in: sure (required), why',
    ]);
    expect(await ask("ask")).toMatchObject(accepted);
    approved.answer = "refuse";
    expect(await ask("ask")).toMatchObject({ action: "decline" });
    expect(approved.asked).toHaveLength(3);
  });

  test("gets what a person enters into its form; invalid input is declined, and the model gets the reason", async () => {
    approved.asked.length = 0;
    const filledIn = async (input?: FormInput) => {
      Object.assign(approved, { answer: "once", input });
      return plainText(await call("other__ask_order"));
    };
    const sent = { name: "Ann", count: 2, size: "large", extras: ["milk"] };
    expect(JSON.parse(await filledIn({ ...sent, count: "2" }))).toMatchObject({ action: "accept", content: sent });
    expect(approved.asked[0]).toMatch(
      /To fill in: name \(required\), count, size \(one of small, large\), extras \(some of milk, sugar\)$/,
    );
    const declined = async (input: FormInput | undefined, why: string) => {
      const answer = await filledIn(input);
      expect(answer).toMatch(/"action":"decline"/);
      expect(answer).toContain(`[mcp:other asked a person to fill in a form, and was declined: ${why}`);
    };
    await declined(undefined, 'missing required parameter "name". A person fills it in');
    await declined({ name: "Ann", size: "huge" }, 'parameter "size"');
    delete approved.input;
  });

  test("that floods people with questions is heard ten times in a call, and the model is told", async () => {
    approved.asked.length = 0;
    approved.answer = "once";
    const answer = plainText(await call("other__flood"));
    expect(approved.asked).toHaveLength(10);
    expect([answer.match(/"accept"/g)?.length, answer.match(/"decline"/g)?.length]).toEqual([10, 30]);
    expect(answer).toContain(
      "[mcp:other asked more than 10 questions in one call. The later ones were declined unseen",
    );
  });

  test("that ends is reported and restarted; other servers are not affected", async () => {
    const { notices } = await started;
    expect(plainText(await call("other__die"))).toMatch(
      /mcp:other ended during the call\nWhether the call took effect is unknown/,
    );
    expect(await call("hasty__echo", { words: "still" })).toMatchObject({ data: "still" });
    expect(await call("other__echo", { words: "again" })).toMatchObject({ data: "again" });
    expect(notices).toEqual(['mcp:other has ended: Exit code 3, after "out of luck". It is being restarted.']);
  });
});

test("has only allowed tools; a tool that declares itself destructive is a high risk", async () => {
  approved.asked.length = 0;
  approved.answer = "once";
  const settings = foreign("2026-07-28", { tools: ["e*o", "wipe"] });
  const { toolkit } = await withServers({ other: settings }, { approver, policy: {} });
  expect([...toolkit.tools.keys()]).toEqual(["mcp__other__echo", "mcp__other__wipe", "mcp__other__read_resource"]);
  await toolkit.call({ name: "mcp__other__wipe", input: {} });
  expect(approved.asked).toEqual([
    "high\nA tool of mcp:other requires approval: it does not declare what it touches\n" +
      "Call: wipe of mcp:other\nwipe of mcp:other, with any arguments (session)",
  ]);
});

test("is not started, or its tools are not used, if that is forbidden; also after they change", async () => {
  const refused = await withServers({ other: foreign("2025-11-25") }, {}, { mayStart: async () => "is not trusted." });
  expect([refused.toolkit.tools.size, refused.notices]).toEqual([0, ["mcp:other is not trusted."]]);
  const mayUse = async (tools: readonly Tool[]) =>
    tools.some(({ name }) => name.endsWith("grown")) ? "has other tools than those that you trusted." : undefined;
  const { toolkit, notices } = await withServers({ other: foreign("2025-11-25") }, {}, { mayUse });
  await toolkit.call({ name: "mcp__other__grow", input: {} });
  await until("its tools are gone", () => toolkit.tools.size === 0);
  expect(notices).toEqual(["mcp:other has other tools than those that you trusted."]);
});
