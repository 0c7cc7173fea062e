import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Effect } from "../../../src/core/contract/effect.ts";
import type { ActivityEvent, Store } from "../../../src/core/contract/activity.ts";
import { type Json, standardSchema } from "../../../src/core/contract/schema.ts";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import type { Approver, Policy } from "../../../src/core/contract/policy.ts";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import { asContent, asOutcome, asText } from "../../../src/core/call/result.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

/** What a tool needs that touches nothing. */
const pure = { description: "For a test.", touches: [], effects: () => [] } as const;

const add = defineTool({
  ...pure,
  name: "add",
  aliases: ["sum"],
  input: Type.Object({ a: Type.Number(), b: Type.Number() }, { additionalProperties: false }),
  run: async ({ a, b }) => a + b,
});

/** A tool that touches nothing and runs the given function. */
function doing(run: Tool["run"]): Tool {
  return defineTool({ name: "doing", description: "Does it.", touches: [], input: {}, effects: () => [], run });
}

/** A tool that acts, so that its call must be recorded before it runs. */
function acting(run: Tool["run"]): Tool {
  return defineTool({
    name: "acting",
    description: "Acts.",
    touches: ["state"],
    input: {},
    effects: () => [{ kind: "state", store: "memory", change: true }],
    run,
  });
}

const approveOnce: Approver = async () => ({ answer: "once" });

describe("the arguments", () => {
  test("arguments are an object, a JSON string, or a JSON string in a JSON string", async () => {
    const toolkit = await toolkitWith({ tools: [add] });
    for (const input of [{ a: 1, b: 2 }, '{"a":1,"b":2}', JSON.stringify('{"a":1,"b":2}')]) {
      expect(await toolkit.call({ name: "add", input })).toMatchObject({
        status: "ok",
        content: [{ type: "text", text: "3" }],
        data: 3,
      });
    }
  });

  test("no arguments at all are an empty object", async () => {
    const toolkit = await toolkitWith({ tools: [doing(async (input) => input as {})] });
    for (const input of [undefined, null, "", "{}", {}, "null"]) {
      expect(await toolkit.call({ name: "doing", input })).toMatchObject({ status: "ok", data: {} });
    }
  });

  test("broken JSON is reported with its position, and the next call works", async () => {
    const toolkit = await toolkitWith({ tools: [add] });
    const broken = await toolkit.call({ name: "add", input: '{"a": 1, "b": }' });
    expect(asText(broken)).toBe(
      `validation error: the arguments are not valid JSON: Unexpected token '}' at line 1 column 15, at "}". Send one JSON object.`,
    );
    expect(await toolkit.call({ name: "add", input: { a: 1, b: 2 } })).toMatchObject({ status: "ok", data: 3 });
  });

  test("arguments of more than 16 MiB are not read", async () => {
    const toolkit = await toolkitWith({ tools: [add] });
    const long = await toolkit.call({ name: "add", input: `{"a":"${"a".repeat(2 ** 24)}"}` });
    expect(asText(long)).toBe(
      "validation error: the arguments are too long: 16777224 characters, and at most 16777216 are read. Send one JSON object.",
    );
  });

  test("every issue is reported on a line: where, what was expected and what came", async () => {
    const toolkit = await toolkitWith({ tools: [add] });
    expect(asText(await toolkit.call({ name: "add", input: { a: "x", c: 1 } }))).toBe(
      [
        'validation error: missing required parameter "b"',
        'validation error: unknown parameter "c"; did you mean "a"?',
        'validation error: parameter "a": expected number, got string "x"',
      ].join("\n"),
    );
  });

  test("a tool does not run with arguments that do not fit, and nobody is asked about them", async () => {
    let reached = 0;
    const counting = defineTool({
      name: "counting",
      description: "Counts its calls.",
      touches: ["write"],
      input: Type.Object({ city: Type.String() }, { additionalProperties: false }),
      effects: () => [{ kind: "write", path: `${++reached}` }],
      run: async () => ++reached,
    });
    const approver: Approver = async () => {
      reached++;
      return { answer: "once" };
    };
    const toolkit = await toolkitWith({ tools: [counting], approver });
    for (const input of [{}, { city: {} }, { city: "Rome", days: 3 }, "Rome", '{"city": "Ro', [], 7]) {
      expect(await toolkit.call({ name: "counting", input })).toMatchObject({ status: "invalid-input" });
    }
    expect(reached).toBe(0);
  });

  test("a missing parameter is named", async () => {
    const weather = defineTool({
      ...pure,
      name: "weather",
      input: Type.Object({ city: Type.String() }),
      run: async () => null,
    });
    const toolkit = await toolkitWith({ tools: [weather] });
    expect(asText(await toolkit.call({ name: "weather", input: {} }))).toBe(
      'validation error: missing required parameter "city"',
    );
  });

  test("a parameter that the schema cannot require is named like one that it requires, and nobody is asked", async () => {
    const one = defineTool({
      name: "one",
      description: "",
      touches: ["write"],
      input: Type.Object({ a: Type.Optional(Type.String()), b: Type.Optional(Type.String()) }),
      missing: ({ a, b }) => (a === undefined && b === undefined ? ["a"] : []),
      effects: () => [{ kind: "write", path: "a.txt" }],
      run: async () => "ran",
    });
    const toolkit = await toolkitWith({
      tools: [one],
      policy: { autonomy: "supervised" },
      approver: async () => expect.unreachable(),
    });
    const lacking = await toolkit.call({ name: "one", input: {} });
    expect(lacking).toMatchObject({ status: "invalid-input", issues: [{ path: "a" }] });
    expect(asText(lacking)).toBe('validation error: missing required parameter "a"');
    expect(await toolkit.call({ name: "one", input: { b: "" } })).toMatchObject({ data: "ran" });
  });

  test("a value of the wrong type is converted only when it does not fit as it is", async () => {
    const either = defineTool({
      ...pure,
      name: "either",
      input: Type.Object({ value: Type.Union([Type.String(), Type.Number()]), count: Type.Optional(Type.Integer()) }),
      run: async ({ value, count }) => ({ value, count: count ?? null }),
    });
    const toolkit = await toolkitWith({ tools: [either] });
    expect(await toolkit.call({ name: "either", input: { value: "5", count: "7" } })).toMatchObject({
      data: { value: "5", count: 7 },
    });
    expect(await toolkit.call({ name: "either", input: { value: 5, count: null } })).toMatchObject({
      data: { value: 5, count: null },
    });
  });

  test("the caller's own arguments are never changed by coercion", async () => {
    const toolkit = await toolkitWith({ tools: [add] });
    const input = { a: "1", b: "2" };
    expect(await toolkit.call({ name: "add", input })).toMatchObject({ data: 3 });
    expect(input).toEqual({ a: "1", b: "2" });
  });

  test("mend sees the raw arguments before they are validated, a bare string too", async () => {
    const shout = defineTool({
      ...pure,
      name: "shout",
      input: Type.Object({ words: Type.String() }),
      mend: (raw) => (typeof raw === "string" ? { words: raw } : raw),
      run: async ({ words }) => words.toUpperCase(),
    });
    const toolkit = await toolkitWith({ tools: [shout] });
    expect(asText(await toolkit.call({ name: "shout", input: "hello there" }))).toBe("HELLO THERE");
    expect(asText(await toolkit.call({ name: "shout", input: '"hello"' }))).toBe("HELLO");
    expect(await toolkit.call({ name: "shout", input: '{"words": "hel' })).toMatchObject({ status: "invalid-input" });
  });

  test("a mend that throws leaves the arguments to validation", async () => {
    const picky = defineTool({
      ...pure,
      name: "picky",
      input: Type.Object({ a: Type.Number(), b: Type.Number() }),
      run: async () => 1,
      mend: () => {
        throw new Error("no");
      },
    });
    const toolkit = await toolkitWith({ tools: [picky] });
    expect(await toolkit.call({ name: "picky", input: { a: 1, b: 1 } })).toMatchObject({ status: "ok" });
    expect(await toolkit.call({ name: "picky", input: {} })).toMatchObject({ status: "invalid-input" });
  });

  test("a tool is found by name, by alias and in other capitals; a name wins over an alias", async () => {
    const sum: Tool = { ...add, name: "sum", aliases: [], run: async () => -1 };
    const one = await toolkitWith({ tools: [add] });
    for (const name of ["add", "sum", "ADD", "Sum"]) {
      expect(await one.call({ name, input: { a: 1, b: 2 } })).toMatchObject({ data: 3 });
    }
    const both = await toolkitWith({ tools: [add, sum] });
    expect(await both.call({ name: "sum", input: { a: 1, b: 2 } })).toMatchObject({ data: -1 });
  });

  test("an unknown tool is reported with the closest names", async () => {
    const toolkit = await toolkitWith({ preset: "coding" });
    expect(asText(await toolkit.call({ name: "raed", input: {} }))).toBe('unknown tool "raed". Closest: "read"');
    expect(asText(await toolkit.call({ name: "xyzzy", input: {} }))).toMatch(
      /^unknown tool "xyzzy"\. Closest: ".+", ".+", ".+"$/,
    );
    const empty = await toolkitWith({ preset: "none" });
    expect(asText(await empty.call({ name: "xyzzy", input: {} }))).toBe('unknown tool "xyzzy". There are no tools.');
  });

  test("a JSON Schema literal and a Standard Schema are taken like a TypeBox type", async () => {
    const plain = defineTool({
      ...pure,
      name: "plain",
      input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      run: async ({ city }) => city.length,
    });
    const zod = defineTool({
      ...pure,
      name: "zod",
      input: z.object({ city: z.string().trim().min(2), days: z.number().default(3) }),
      run: async ({ city, days }) => `${city} ${days}`,
    });
    const toolkit = await toolkitWith({ tools: [plain, zod] });
    expect(await toolkit.call({ name: "plain", input: { city: "Rome" } })).toMatchObject({ data: 4 });
    expect(await toolkit.call({ name: "zod", input: { city: " Rome " } })).toMatchObject({ data: "Rome 3" });
    expect(asText(await toolkit.call({ name: "zod", input: { city: "  x  " } }))).toMatch(
      /^validation error: parameter "city": /,
    );
  });

  test("a Standard Schema that validates asynchronously is waited for; one that throws is the tool's failure", async () => {
    const slow = defineTool({
      ...pure,
      name: "slow",
      input: z.object({ n: z.number() }).refine(async ({ n }) => Promise.resolve(n > 1), "too small"),
      run: async ({ n }) => n,
    });
    const throwing = defineTool({
      ...pure,
      name: "throwing",
      input: standardSchema(
        {
          "~standard": {
            version: 1,
            vendor: "test",
            validate: async () => Promise.reject(new Error("validator broke")),
          },
        },
        {},
      ),
      run: async () => 1,
    });
    const toolkit = await toolkitWith({ tools: [slow, throwing] });
    expect(await toolkit.call({ name: "slow", input: { n: 2 } })).toMatchObject({ status: "ok", data: 2 });
    expect(asText(await toolkit.call({ name: "slow", input: { n: 1 } }))).toBe("validation error: too small");
    expect(await toolkit.call({ name: "throwing", input: { n: 1 } })).toMatchObject({
      status: "failed",
      message: "validator broke",
    });
  });
});

describe("what a tool does", () => {
  test("ToolFailure is a failure with its hint and partial output; any other error only with its message", async () => {
    const failing = doing(async () => {
      throw new ToolFailure("no such city", {
        hint: "Give a capital.",
        content: [{ type: "text", text: "looked in 3 lists" }],
        data: { lists: 3 },
      });
    });
    const toolkit = await toolkitWith({ tools: [failing] });
    const result = await toolkit.call({ name: "doing", input: {} });
    expect(result).toMatchObject({
      status: "failed",
      message: "no such city",
      hint: "Give a capital.",
      data: { lists: 3 },
    });
    expect(asText(result)).toBe("Tool error: no such city\nGive a capital.\nlooked in 3 lists");
    expect(asOutcome(result)).toEqual({
      success: false,
      output: "looked in 3 lists",
      error: "no such city\nGive a capital.",
    });
    const throwing = await toolkitWith({
      tools: [
        doing(() => {
          throw new RangeError("boom");
        }),
      ],
    });
    expect(await throwing.call({ name: "doing", input: {} })).toMatchObject({ status: "failed", message: "boom" });
  });

  test("whatever is thrown becomes a failure", async () => {
    for (const thrown of ["text", undefined, null, 7, {}]) {
      const toolkit = await toolkitWith({ tools: [doing(() => Promise.reject(thrown))] });
      expect(await toolkit.call({ name: "doing", input: {} })).toMatchObject({ status: "failed" });
    }
  });

  test("a tool that ignores its signal is abandoned after a grace period, and can access nothing more", async () => {
    const folder = await workspace({ "a.txt": "a" });
    let late: unknown;
    let release = () => {};
    let started = () => {};
    const running = new Promise<void>((resolve) => (started = resolve));
    const deaf = defineTool({
      name: "deaf",
      description: "Ignores its signal.",
      touches: ["read"],
      input: {},
      effects: () => [{ kind: "read", path: "a.txt" }],
      async run(_, { backend }) {
        started();
        await new Promise<void>((resolve) => (release = resolve));
        late = await backend.files.open("a.txt").catch((error: unknown) => error);
        return 1;
      },
    });
    const toolkit = await toolkitWith({ tools: [deaf], workDir: folder });
    const controller = new AbortController();
    const call = toolkit.call({ name: "deaf", input: {} }, { signal: controller.signal });
    await running;
    controller.abort();
    expect(await call).toMatchObject({ status: "aborted" });
    release();
    await expect.poll(() => String(late)).toContain("has ended; it can no longer use files or commands");
  });

  test("a call that is aborted before it starts does not run", async () => {
    let ran = false;
    const toolkit = await toolkitWith({ tools: [acting(async () => (ran = true))] });
    expect(await toolkit.call({ name: "acting", input: {} }, { signal: AbortSignal.abort() })).toMatchObject({
      status: "aborted",
    });
    expect(ran).toBe(false);
  });

  test("partial output of an aborted call survives", async () => {
    const partial = doing(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () =>
            reject(new ToolFailure("stopped", { content: [{ type: "text", text: "half" }] })),
          );
        }),
    );
    const toolkit = await toolkitWith({ tools: [partial] });
    const controller = new AbortController();
    const call = toolkit.call({ name: "doing", input: {} }, { signal: controller.signal });
    setImmediate(() => controller.abort());
    const result = await call;
    expect(result).toMatchObject({ status: "aborted", content: [{ type: "text", text: "half" }] });
    expect(asText(result)).toBe("The call was stopped before it finished.\nhalf");
  });

  test("a tool calls another through the same policy, with itself as the parent", async () => {
    const store = memoryStore();
    const outer = doing(async (_, { call }) => asText(await call("add", { a: 2, b: 2 })));
    const toolkit = await toolkitWith({ tools: [outer, add], store });
    expect(await toolkit.call({ name: "doing", input: {}, id: "outer" })).toMatchObject({ data: "4" });
    const started = (await eventsOf(store)).filter((event) => event.type === "call.started");
    expect(started).toMatchObject([{ name: "doing" }, { name: "add", parent: "outer" }]);
  });

  test("an effect of a kind that the tool does not name fails the call", async () => {
    const lying = defineTool({
      name: "lying",
      description: "Says less than it does.",
      touches: ["read"],
      input: {},
      effects: () => [{ kind: "write", path: "a" }],
      run: async () => 1,
    });
    const toolkit = await toolkitWith({ tools: [lying] });
    expect(asText(await toolkit.call({ name: "lying", input: {} }))).toContain(
      'kind "write" that its `touches` does not name',
    );
  });
});

describe("what comes out", () => {
  test("data that is not JSON is converted, or fails the call", async () => {
    const date = await toolkitWith({ tools: [doing(async () => ({ when: new Date(0), left: undefined }) as never)] });
    expect(await date.call({ name: "doing", input: {} })).toMatchObject({ data: { when: "1970-01-01T00:00:00.000Z" } });
    const nothing = await toolkitWith({ tools: [doing(async () => undefined as never)] });
    expect(await nothing.call({ name: "doing", input: {} })).toMatchObject({ status: "ok", data: null });
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const bad of [circle, { n: 1n }]) {
      const toolkit = await toolkitWith({ tools: [doing(async () => bad as never)] });
      expect(await toolkit.call({ name: "doing", input: {} })).toMatchObject({
        status: "failed",
        message: expect.stringContaining("not JSON"),
      });
    }
  });

  test("data that does not fit the output schema fails the call, with what was returned", async () => {
    const output = Type.Object({ days: Type.Array(Type.Object({ rain: Type.Number() })) });
    const forecast = (data: Json) =>
      defineTool({ ...pure, name: "forecast", input: {}, output, run: async () => data, render: () => "rain" });
    const called = async (data: Json) =>
      (await toolkitWith({ tools: [forecast(data)] })).call({ name: "forecast", input: {} });
    expect(await called({ days: [{ rain: 3 }] })).toMatchObject({ status: "ok", data: { days: [{ rain: 3 }] } });
    expect(asText(await called({ days: [{ rain: "3" }] }))).toBe(
      'Tool error: tool "forecast" returned data that does not fit its output schema: days[0].rain must be number\n' +
        "The tool has run; its result is below.\nrain",
    );
    const cut = await called({ days: Array.from({ length: 30_000 }, () => ({ rain: 1 })) });
    expect(asText(cut)).toBe("rain"); // it fitted before it was truncated
    await expect(toolkitWith({ tools: [{ ...forecast(null), output: { type: "objekt" } }] })).rejects.toThrow(
      'the output schema of tool "forecast" is invalid at #/type',
    );
  });

  test("a long text is truncated and saved as output://ID; long texts inside the data are truncated too", async () => {
    const long = Array.from({ length: 5_000 }, (_, index) => `line ${index + 1}`).join("\n");
    const toolkit = await toolkitWith({
      preset: "coding",
      tools: [{ ...doing(async () => ({ deep: [long.repeat(3)] })), render: () => long }],
    });
    const result = await toolkit.call({ name: "doing", input: {} });
    const shown = asText(result);
    expect(shown.split("\n")).toHaveLength(2_002);
    const id = /\[Output truncated at 2000 lines\. Full output saved to: (output:\/\/\w+)\]$/.exec(shown)?.[1];
    const rest = await toolkit.call({ name: "read", input: { path: id, offset: 4_999 } });
    expect(asText(rest)).toContain("line 4999\nline 5000");
    expect(JSON.stringify(result.status === "ok" && result.data).length).toBeLessThan(60_000);
    expect(JSON.stringify(result.status === "ok" && result.data)).toContain("[truncated]");
  });

  test("an image stays an image, and one that no model takes is named instead", async () => {
    const image = (data: string): Tool => ({
      ...doing(async () => null),
      render: () => [
        { type: "text", text: "a picture" },
        { type: "image", data, mimeType: "image/png" },
      ],
    });
    const small = await toolkitWith({ tools: [image("iVBORw0KGgo=")] });
    expect(asContent(await small.call({ name: "doing", input: {} }))).toEqual({
      content: [
        { type: "text", text: "a picture" },
        { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
      ],
      isError: false,
    });
    const huge = await toolkitWith({ tools: [image("A".repeat(7_000_000))] });
    expect(asText(await huge.call({ name: "doing", input: {} }))).toMatch(/\[Image left out: image\/png, 6\.7MB/);
  });
});

test("a result has the id of its call, however it ended; an invented kind of effect is named", async () => {
  const invented = defineTool({
    ...{ name: "invented", description: "-", input: {}, touches: ["write"], run: async () => null },
    effects: () => [{ kind: "frobnicate" } as unknown as Effect],
  });
  const toolkit = await toolkitWith({ tools: [invented] });
  const result = await toolkit.call({ name: "invented", input: {}, id: "c1" });
  expect(result).toMatchObject({ status: "failed", id: "c1" });
  expect(asText(result)).toMatch(/no effect of the kind "frobnicate": expected read, write, exec, .*foreign$/);
  expect((await toolkit.call({ name: "nothing", input: {} })).id).toMatch(/\w/);
  expect(() => defineTool({ ...invented, touches: ["frobnicate" as "write"] })).toThrow('kind "frobnicate"');
});

describe("the record", () => {
  test("every call has its events, in order", async () => {
    const store = memoryStore();
    const toolkit = await toolkitWith({
      store,
      tools: [
        acting(async (_, { report }) => {
          report({ displayMessage: "Working …", data: { done: 1 } });
          return { result: 42 };
        }),
      ],
    });
    await toolkit.call({ name: "acting", input: '{"x":1}', id: "c1", thread: "t1" });
    expect((await eventsOf(store)).map(({ at: _, ...event }) => event)).toEqual([
      { id: 1, call: "c1", thread: "t1", type: "call.started", name: "acting", input: { x: 1 } },
      expect.objectContaining({
        id: 2,
        type: "call.approved",
        decision: { verdict: "allow", risk: "low", rule: "state" },
      }),
      {
        id: 3,
        call: "c1",
        thread: "t1",
        type: "call.updated",
        update: { displayMessage: "Working …", data: { done: 1 } },
      },
      {
        ...{ id: 4, call: "c1", thread: "t1", type: "call.finished", status: "ok", data: { result: 42 } },
        content: [{ type: "text", text: '{"result":42}' }],
      },
    ]);
  });

  test("an act is durable before it runs", async () => {
    const order: string[] = [];
    const store: Store = {
      ...memoryStore(),
      commit: async (event) => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`durable ${event.type}`);
      },
    };
    const toolkit = await toolkitWith({ store, tools: [acting(async () => order.push("ran"))] });
    await toolkit.call({ name: "acting", input: {} });
    expect(order).toEqual(["durable call.approved", "ran"]);
  });

  test("a store that cannot write refuses acts; other calls run with a notice", async () => {
    const broken: Store = {
      ...memoryStore(),
      append: () => {
        throw new Error("disk full");
      },
      commit: () => Promise.reject(new Error("disk full")),
    };
    let ran = false;
    const toolkit = await toolkitWith({ store: broken, tools: [add, acting(async () => (ran = true))] });
    expect(asText(await toolkit.call({ name: "add", input: { a: 1, b: 1 } }))).toBe(
      "2\n[This call was not recorded: disk full]",
    );
    const act = await toolkit.call({ name: "acting", input: {} });
    expect(asText(act)).toBe(
      "Tool error: the call could not be recorded, so it was not run: disk full\nCalls that only read still work.",
    );
    expect(ran).toBe(false);
  });

  test("a listener that throws does not affect the call", async () => {
    const toolkit = await toolkitWith({ tools: [add] });
    const onEvent = () => {
      throw new Error("listener");
    };
    expect(await toolkit.call({ name: "add", input: { a: 1, b: 1 } }, { onEvent })).toMatchObject({ status: "ok" });
  });

  test("questions and answers are recorded; nothing that the model writes is an answer", async () => {
    const store = memoryStore();
    const toolkit = await toolkitWith({
      preset: "coding",
      workDir: await workspace(),
      store,
      approver: approveOnce,
      policy: { shellConfirm: true },
    });
    await toolkit.call({ name: "bash", input: { command: "true" }, id: "asked" });
    const types = (await eventsOf(store)).map(({ type }) => type);
    expect(types).toEqual(["call.started", "approval.requested", "approval.decided", "call.approved", "call.finished"]);
  });
});

test("a closed toolkit answers calls with a failure, and stops what still runs", async () => {
  const toolkit = await toolkitWith({
    tools: [
      doing(
        (_, { signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("x")))),
      ),
    ],
  });
  const running = toolkit.call({ name: "doing", input: {} });
  await toolkit.close();
  expect(await running).toMatchObject({ status: "aborted" });
  expect(await toolkit.call({ name: "doing", input: {} })).toEqual({
    status: "failed",
    message: "the toolkit is closed",
  });
});

describe("a toolkit made with `with`", () => {
  test("has its own tools, thread, parent and approver, and shares the rest", async () => {
    const store = memoryStore();
    const folder = await workspace();
    const asksAboutActs: Policy = async ({ tool }) =>
      tool.name === "acting" ? { verdict: "ask", risk: "low" } : undefined;
    const parent = await toolkitWith({ preset: "readonly", workDir: folder, store, policies: [asksAboutActs] });
    const asked: string[] = [];
    const child = parent.with({
      tools: [...parent.tools.values(), add, acting(async () => "done")],
      thread: "child",
      parent: "delegate-1",
      approver: async (call) => {
        asked.push(call.request.name);
        return { answer: "once" };
      },
    });
    expect([...child.tools.keys()]).toEqual([...parent.tools.keys(), "add", "acting"]);
    expect(child.definitions("json")?.map(({ name }) => name)).toContain("add");
    expect(await parent.call({ name: "add", input: {} })).toMatchObject({ status: "unknown-tool" });
    expect(await child.call({ name: "acting", input: {} })).toMatchObject({ status: "ok", data: "done" });
    expect(asked).toEqual(["acting"]);
    const long = defineTool({ ...pure, name: "long", input: {}, run: async () => "line\n".repeat(3_000) });
    const saved = /output:\/\/\w+/.exec(asText(await parent.with({ tools: [long] }).call({ name: "long", input: {} })));
    expect(await child.call({ name: "read", input: { path: saved?.[0] } })).toMatchObject({ status: "ok" });
    const started = (await eventsOf(store)).filter((event) => event.type === "call.started");
    expect(started.map((event) => [event.name, event.thread, event.parent])).toEqual([
      ["add", "main", undefined],
      ["acting", "child", "delegate-1"],
      ["long", "main", undefined],
      ["read", "child", "delegate-1"],
    ]);
  });

  test("a call's thread and parent win over the toolkit's; a derived toolkit keeps what it does not replace", async () => {
    const store = memoryStore();
    const parent = await toolkitWith({ tools: [add], store });
    const child = parent.with({ thread: "child", parent: "p" });
    await child.call({ name: "add", input: { a: 1, b: 1 }, thread: "other", parent: "q" });
    await child.with({ parent: "r" }).call({ name: "add", input: { a: 1, b: 1 } });
    expect((await eventsOf(store)).filter((event) => event.type === "call.started")).toMatchObject([
      { thread: "other", parent: "q" },
      { thread: "child", parent: "r" },
    ]);
  });

  test("closing it stops only its calls; closing the original stops both", async () => {
    const waits = doing(
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("x")))),
    );
    const parent = await toolkitWith({ tools: [waits, add] });
    const [one, other] = [parent.with({}), parent.with({})];
    const stopped = one.call({ name: "doing", input: {} });
    const goesOn = other.call({ name: "doing", input: {} });
    await one.close();
    expect(await stopped).toMatchObject({ status: "aborted" });
    expect(await one.call({ name: "add", input: { a: 1, b: 1 } })).toMatchObject({ status: "failed" });
    expect(await parent.call({ name: "add", input: { a: 1, b: 1 } })).toMatchObject({ data: 2 });
    await parent.close();
    expect(await goesOn).toMatchObject({ status: "aborted" });
    expect(await other.call({ name: "add", input: { a: 1, b: 1 } })).toMatchObject({
      status: "failed",
      message: "the toolkit is closed",
    });
  });

  test("tools of one name, and schemas that are not valid, are refused", async () => {
    const toolkit = await toolkitWith({ tools: [add] });
    expect(() => toolkit.with({ tools: [add, add] })).toThrow('two tools are named "add"');
    const broken = defineTool({ ...pure, name: "broken", input: { type: "objekt" }, run: async () => null });
    const failed = await toolkit.with({ tools: [broken] }).call({ name: "broken", input: {} });
    expect(asText(failed)).toContain('the input schema of tool "broken" is invalid');
  });
});

async function eventsOf(store: Store): Promise<readonly (ActivityEvent & { id: number })[]> {
  const events = [];
  for await (const event of store.events()) events.push(event);
  return events;
}
