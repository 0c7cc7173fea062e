import { Validator } from "@seriousme/openapi-schema-validator";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sqliteStore } from "../../src/activity/sqlite-store.ts";
import { cases } from "../support/cases.ts";
import { until } from "../support/until.ts";
import { type Served, TOKEN, receive, served } from "./served.ts";

type Message = { readonly role: string; readonly metadata?: { readonly tool_activity: { readonly status: string } } };

const messagesOf = async ({ json }: Served, thread: string) =>
  (await json<{ messages: readonly Message[] }>("GET", `/api/threads/${thread}/messages`)).messages;
const jobsOf = async ({ json }: Served) =>
  (await json<{ jobs: readonly { id: number; here: boolean; ended?: object }[] }>("GET", "/api/jobs")).jobs;

describe("the description", () => {
  test("is a valid OpenAPI 3.1 document", async () => {
    const { json } = await plain;
    const validator = new Validator();
    expect(await validator.validate(await json<{ [name: string]: unknown }>("GET", "/api/openapi.json"))).toEqual({
      valid: true,
    });
    expect(validator.version).toBe("3.1");
  });

  test("lists every answer that random requests get, and none is a failure of the server", async () => {
    const { ask, json, errors } = await plain;
    const { paths } = await json<OpenApi>("GET", "/api/openapi.json");
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    const word = fc.oneof(
      fc.constantFrom("main", "none", "1", "%00", "..%2f", "é", "read"),
      fc.string({ minLength: 1, maxLength: 12 }),
    );
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), word, fc.constantFrom("once", "now", 0, -1, 1e21));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...operations),
        fc.array(word, { maxLength: 3 }),
        fc.array(value, { maxLength: 6 }),
        async (chosen, words, values) => {
          const { path, method, operation } = chosen;
          const [in_path = "main", ...more] = words;
          const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent(in_path));
          const parameters = (operation.parameters ?? []).filter((each) => each.in === "query");
          const query = parameters
            .slice(0, more.length)
            .map(({ name }, index) => `${name}=${encodeURIComponent(more[index] ?? "")}`);
          const fields = Object.keys(operation.requestBody?.content["application/json"].schema.properties ?? {});
          const body =
            method === "post" ? Object.fromEntries(fields.map((field, index) => [field, values[index]])) : undefined;
          const answer = await ask(method.toUpperCase(), `${filled}?${query.join("&")}`, body);
          await answer.body?.cancel();
          // A path that is only dots is another path by the time it is sent.
          const listed = /\/\.{1,2}(?:\/|$)/.test(filled)
            ? [404, 405, 200]
            : Object.keys(operation.responses).map(Number);
          expect([...listed, 206], `${method} ${filled}?${query.join("&")} ${JSON.stringify(body)}`).toContain(
            answer.status,
          );
          expect(answer.status).not.toBe(500);
        },
      ),
      { numRuns: cases(150) },
    );
    expect(errors).toEqual([]);
  });
});

interface OpenApi {
  readonly paths: {
    readonly [path: string]: {
      readonly [method: string]: {
        readonly parameters?: readonly { readonly name: string; readonly in: string }[];
        readonly requestBody?: {
          readonly content: { readonly "application/json": { readonly schema: { readonly properties?: object } } };
        };
        readonly responses: object;
      };
    };
  };
}

describe("threads", () => {
  test("a call is made, waited for and read as a message with its cell", async () => {
    const api = await plain;
    const { thread } = await api.json<{ thread: string }>("POST", "/api/threads", {});
    const made = await api.json("POST", `/api/threads/${thread}/calls`, {
      name: "bash",
      input: '{"command":"echo hi"}',
      wait: true,
    });
    expect(made).toMatchObject({ status: "ok", isError: false, content: [{ type: "text", text: "hi\n" }] });
    const { threads } = await api.json<{ threads: readonly { thread: string }[] }>("GET", "/api/threads");
    expect(threads.at(-1)?.thread).toBe(thread);
    expect(await messagesOf(api, thread)).toMatchObject([
      { role: "tool", result: "ok", metadata: { tool_activity: { name: "bash", status: "success" } } },
    ]);
  });

  test("a running call is stopped", async () => {
    const api = await plain;
    const { call } = await api.json<{ call: string }>("POST", "/api/threads/stopping/calls", {
      name: "bash",
      input: { command: "sleep 1000" },
    });
    await until("it has started", async () => (await api.ask("POST", `/api/calls/${call}/stop`, {})).status === 202);
    await until(
      "it has ended",
      async () => (await messagesOf(api, "stopping"))[0]?.metadata?.tool_activity.status === "failure",
    );
    expect((await api.ask("POST", `/api/calls/${call}/stop`, {})).status).toBe(409);
  });

  test("a prompt starts the agent, and its turn is in the thread", async () => {
    const api = await served(
      { preset: "coding" },
      { script: [{ calls: [{ name: "bash", input: { command: "echo 42" } }] }, { text: "It is 42." }] },
    );
    await api.json("POST", "/api/threads/asked/prompts", { text: "What is it?" });
    await until("the agent has answered", async () => (await messagesOf(api, "asked")).length === 4);
    expect((await messagesOf(api, "asked")).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
    const { hits } = await api.json<{ hits: readonly { excerpt: string }[] }>("GET", "/api/search?text=It+is+42");
    expect(hits).toHaveLength(1);
  });
});

describe("questions", () => {
  test("of ten answers at once one counts, and the others get 409 with the one that does", async () => {
    const api = await served({ preset: "coding", policy: { autonomy: "supervised" } });
    void api.json("POST", "/api/threads/main/calls", { name: "bash", input: { command: "touch made" } });
    type Approvals = { readonly approvals: readonly { readonly question: string; readonly ask: string }[] };
    const open = async () => (await api.json<Approvals>("GET", "/api/approvals")).approvals;
    await until("it asks", async () => (await open()).length === 1);
    const [{ question, ask } = { question: "", ask: "" }] = await open();
    expect(ask).toContain("touch made");
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.ask("POST", `/api/approvals/${question}`, { answer: "once" })),
    );
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200,
      ...Array.from({ length: 9 }, () => 409),
    ]);
    const late = answers.find(({ status }) => status === 409);
    expect(await late?.json()).toMatchObject({ first: { approval: { answer: "once" }, by: "API" } });
    expect(await open()).toEqual([]);
    await until(
      "it has run",
      async () => (await messagesOf(api, "main"))[0]?.metadata?.tool_activity.status === "success",
    );
    expect((await api.ask("POST", "/api/approvals/none", { answer: "once" })).status).toBe(404);
  });
});

describe("a command", () => {
  test("cannot answer a question, even with the token and without a sandbox", async () => {
    const api = await plain;
    const script = `fetch(process.argv[1], { method: "POST", body: '{"answer":"once"}', headers: { authorization: "Bearer " + process.argv[2],
      "content-type": "application/json" } }).then(async (answer) => console.log(answer.status, await answer.text()))`;
    const command = `node -e '${script.replaceAll("'", `'\\''`)}' ${api.url}/api/approvals/any ${TOKEN}`;
    const made = await api.json<{ content: readonly { text: string }[] }>("POST", "/api/threads/main/calls", {
      ...{ name: "bash", input: { command }, wait: true },
    });
    expect(made.content[0]?.text).toMatch(/^403 .*Only people answer/);
  });
});

describe("jobs and outputs", () => {
  test("a job is listed, its output followed, and it is stopped", async () => {
    const api = await plain;
    const command = "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; sleep 1000";
    await api.json("POST", "/api/threads/jobs/calls", {
      name: "bash",
      input: { command, background: true },
      wait: true,
    });
    const job = (await jobsOf(api)).at(-1);
    expect(job).toMatchObject({ here: true });
    const path = `/api/jobs/${job?.id}/output`;
    const [first] = await receive(await api.ask("GET", path), () => true);
    expect(first).toMatchObject({ id: "4", data: { text: "one\n" } });
    await api.json("POST", "/api/threads/jobs/calls", { name: "bash", input: { command: "touch go" } });
    const resumed = await api.ask("GET", path, undefined, { headers: { "last-event-id": "4" } });
    expect(await receive(resumed, () => true)).toMatchObject([{ id: "8", data: { text: "two\n" } }]);
    await api.json("POST", `/api/jobs/${job?.id}/stop`, {});
    await until("it has ended", async () => (await jobsOf(api)).at(-1)?.ended !== undefined);
  });

  test("another process's job is listed, and its output is refused with the reason", async () => {
    const api = await plain;
    const other = sqliteStore({ file: api.file });
    const by = { call: "elsewhere", thread: "main", at: Date.now() };
    await other.commit({ ...by, type: "call.started", name: "bash", input: {} });
    await other.commit({ ...by, type: "job.started", job: "1", command: "sleep 1", lifetime: "toolkit" });
    const job = (await jobsOf(api)).at(-1);
    expect(job).toMatchObject({ here: false, call: "elsewhere" });
    const answer = await api.ask("GET", `/api/jobs/${job?.id}/output`);
    expect([answer.status, await answer.json()]).toMatchObject([
      409,
      { detail: "Another process has the job: read its output there." },
    ]);
    await other.close();
  });

  test("a saved output is read by ranges of bytes", async () => {
    const api = await plain;
    const result = await api.toolkit.call({ name: "bash", input: { command: "seq 100000" } });
    const [, id] = /output:\/\/([\w-]+)/.exec(JSON.stringify(result)) ?? [];
    const range = (value: string) => api.ask("GET", `/api/outputs/${id}`, undefined, { headers: { range: value } });
    expect(await (await api.ask("GET", `/api/outputs/${id}`)).text()).toHaveLength(588_895);
    const part = await range("bytes=2-5");
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([
      206,
      "bytes 2-5/588895",
      "2\n3\n",
    ]);
    expect(await (await range("bytes=-7")).text()).toBe("100000\n");
    expect((await range("bytes=588895-")).status).toBe(416);
    expect((await api.ask("GET", "/api/outputs/none")).status).toBe(404);
  });
});

describe("events", () => {
  test("a client that is cut off at any place resumes without gap or repetition, while others write", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 }), async (cuts) => {
        const api = await plain;
        const writer = sqliteStore({ file: api.file });
        const thread = `t${Math.random()}`;
        const written = (async () => {
          for (let count = 0; count < 200; count++) {
            const event = {
              call: `${thread}-${count}`,
              thread,
              at: count,
              type: "call.started",
              name: "x",
              input: count,
            } as const;
            await (count % 50 === 0 ? writer.commit(event) : writer.append(event));
          }
        })();
        await written.catch(() => undefined);
        const seen: string[] = [];
        let last = "0";
        for (const cut of [...cuts, 200]) {
          const headers = { "last-event-id": last };
          const response = await api.ask("GET", `/api/threads/${encodeURIComponent(thread)}/events`, undefined, {
            headers,
          });
          let left = Math.min(cut, 200 - seen.length);
          if (left === 0) break;
          const events = await receive(response, () => --left === 0);
          seen.push(...events.map(({ data }) => String(data["input"])));
          last = events.at(-1)?.id ?? last;
        }
        expect(seen).toEqual(Array.from({ length: 200 }, (_, count) => String(count)));
        await writer.close();
      }),
      { numRuns: cases(4) },
    );
  });

  test("of another process are received within moments", async () => {
    const api = await plain;
    const response = await api.ask("GET", "/api/events?after=now");
    const writer = sqliteStore({ file: api.file });
    const received = receive(response, ({ data }) => data["call"] === "late");
    await writer.commit({ call: "late", thread: "main", at: 0, type: "call.started", name: "x", input: {} });
    expect((await received).at(-1)?.data).toMatchObject({ call: "late", type: "call.started" });
    await writer.close();
  });
});

const plain = served({ preset: "coding" });
