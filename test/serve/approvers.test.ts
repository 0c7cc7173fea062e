import { describe, expect, test } from "vitest";
import { type Approvers, type Channel, whyNotFrom } from "../../src/core/contract/approvers.ts";
import type { Risk } from "../../src/core/contract/decision.ts";
import { asText } from "../../src/core/call/result.ts";
import { until } from "../support/until.ts";
import { toolkitWith } from "../support/workspace.ts";
import { type Served, TOKEN, eventsOf, served } from "./served.ts";

describe("approvers", () => {
  const limits: Approvers = { phone: "medium", browser: "high", api: "none" };
  test.for<[Channel, Risk, RegExp | undefined]>([
    ["phone", "low", undefined],
    ["phone", "medium", undefined],
    [
      "phone",
      "high",
      /high risk .* on a phone \(approvers\.phone is medium\)\. Answer it in a terminal or in a browser/,
    ],
    ["browser", "high", undefined],
    ["terminal", "high", undefined],
    ["api", "low", /over the API with the token \(approvers\.api is none\)/],
  ])("%s, risk %s", ([channel, risk, why]) => {
    const problem = whyNotFrom(channel, { risk, approvers: limits });
    if (why === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(why);
    expect(whyNotFrom(channel, { risk })).toBeUndefined();
  });

  test("an answer that is not allowed is refused with where it can be given; each is recorded with its channel", async () => {
    const approvers = { phone: "none", api: "none" } as const;
    const api = await served({ preset: "coding", policy: { autonomy: "supervised" }, approvers });
    const sent = async (kind: "phone" | "browser", name: string) => {
      const { secret } = await api.browsers.create({ kind, name, address: "127.0.0.1" });
      return { headers: { authorization: `Bearer ${secret}` } };
    };
    const [phone, browser] = [await sent("phone", "Pixel 8"), await sent("browser", "Firefox on Linux")];
    const program = { headers: { authorization: `Bearer ${TOKEN}` } };
    const { call, question } = await asked(api, "touch one");
    const answer = (given: object, by: RequestInit) => api.ask("POST", `/api/approvals/${question}`, given, by);
    for (const by of [phone, program]) {
      const refused = await answer({ answer: "once" }, by);
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({ detail: expect.stringContaining("in a browser") as string });
    }
    const listed = await api.ask("GET", "/api/approvals", undefined, phone);
    expect(await listed.json()).toMatchObject({ approvals: [{ whyNot: expect.stringContaining("phone") as string }] });
    expect((await answer({ answer: "once" }, browser)).status).toBe(200);
    const decided = (await eventsOf(api, call)).find(({ type }) => type === "approval.decided");
    expect(decided).toMatchObject({ approval: { answer: "once" }, by: "browser session Firefox on Linux" });

    const other = await asked(api, "touch two");
    const refusal = await api.ask("POST", `/api/approvals/${other.question}`, { answer: "refuse" }, phone);
    expect(refusal.status).toBe(200); // it lets nothing happen
    expect((await eventsOf(api, other.call)).find(({ type }) => type === "approval.decided")).toMatchObject({
      by: "phone session Pixel 8",
    });
  });

  test("an answer can change the arguments, which are recorded; those with a secret are refused", async () => {
    const api = await served({
      preset: "coding",
      policy: { autonomy: "supervised" },
      mask: { values: ["s3cret-value"] },
    });
    const { call, question } = await asked(api, "touch one");
    const answer = (command: string) =>
      api.ask("POST", `/api/approvals/${question}`, { answer: "once", edited: { command } });
    const refused = await answer("touch s3cret-value");
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ detail: expect.stringContaining("contain a secret") as string });
    expect((await answer("echo changed")).status).toBe(200);
    await until("the changed call has ended", async () =>
      (await eventsOf(api, call)).some(({ type }) => type === "call.finished"),
    );
    const events = await eventsOf(api, call);
    expect(events.find(({ type }) => type === "approval.decided")).toMatchObject({
      approval: { answer: "once", edited: { command: "echo changed" } },
    });
    expect(JSON.stringify(events.at(-1))).toContain("changed\\n");
  });

  test("a terminal that may not approve is not asked", async () => {
    const toolkit = await toolkitWith({
      policy: { shellConfirm: true },
      approvers: { terminal: "none" },
      approver: async () => ({ answer: "once" }),
    });
    const result = await toolkit.call({ name: "bash", input: { command: "echo one" } });
    expect(asText(result)).toContain("there is nobody to ask");
  });
});

/** Makes a call over the API, and waits for its question. */
async function asked({ json, store }: Served, command: string) {
  const { call } = await json<{ call: string }>("POST", "/api/threads/main/calls", {
    name: "bash",
    input: { command },
  });
  const open = async () => (await store.questions()).find((each) => each.call === call)?.question;
  await until("it asks", async () => (await open()) !== undefined);
  return { call, question: (await open()) ?? "" };
}
