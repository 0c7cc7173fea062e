import { Validator } from "@seriousme/openapi-schema-validator";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { keptGrants } from "../../src/policy/kept-grants.ts";
import { cases } from "../support/cases.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Served, TOKEN, eventsOf, receive, saveOutput, served } from "./served.ts";

type Message = { readonly role: string; readonly metadata?: { readonly tool_activity: { readonly status: string } } };

const messagesOf = async ({ json }: Served, thread: string) =>
  (await json<{ messages: readonly Message[] }>("GET", `/api/threads/${thread}/messages`)).messages;
const jobsOf = async ({ json }: Served) =>
  (await json<{ jobs: readonly { id: number; job: string; here: boolean; ended?: object }[] }>("GET", "/api/jobs"))
    .jobs;

/** Runs a command whose output is saved. Returns its id. */
async function saved({ toolkit }: Served, command: string): Promise<string> {
  const result = await toolkit.call({ name: "bash", input: { command } });
  const [, id = "none"] = /output:\/\/([\w-]+)/.exec(JSON.stringify(result)) ?? [];
  return id;
}

describe("the description", () => {
  test("is a valid OpenAPI 3.1 document", async () => {
    const { json } = await plain;
    const validator = new Validator();
    expect(await validator.validate(await json<{ [name: string]: unknown }>("GET", "/api/openapi.json"))).toEqual({
      valid: true,
    });
    expect(validator.version).toBe("3.1");
  });

  test("lists every response to random requests, and none is a failure of the server", async () => {
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
          // A path of only dots is normalized before it is sent.
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
    const unknown = await api.ask("POST", "/api/threads/asked/prompts", { text: "What is it?" });
    expect([unknown.status, (await api.json<{ threads: object[] }>("GET", "/api/threads")).threads]).toEqual([404, []]);
    const { thread } = await api.json<{ thread: string }>("POST", "/api/threads", {});
    await api.json("POST", `/api/threads/${thread}/prompts`, { text: "What is it?" });
    await until("the agent has answered", async () => (await messagesOf(api, thread)).length === 4);
    expect((await messagesOf(api, thread)).map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    const { hits } = await api.json<{ hits: readonly { excerpt: string }[] }>("GET", "/api/search?text=It+is+42");
    expect(hits).toHaveLength(1);
  });
});

describe("questions", () => {
  test("of ten simultaneous answers one counts, and the others get 409 with the answer that counts", async () => {
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
    expect(made.content[0]?.text).toMatch(/^403 .*Only people may do this/);
  });
});

describe("jobs and outputs", () => {
  test("a job is listed, its output followed, and it can be stopped", async () => {
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

  test("another process's job is listed; its whole output and a secret as input are refused", async () => {
    const api = await served({ preset: "none", mask: { values: ["correct-horse-9"] } });
    const other = sqliteStore({ file: api.file });
    const by = { call: "elsewhere", thread: "main", at: Date.now() };
    await other.commit({ ...by, type: "call.started", name: "bash", input: {} });
    await other.commit({ ...by, type: "job.started", job: "1", command: "sleep 1", lifetime: "toolkit" });
    const job = (await jobsOf(api)).at(-1);
    expect(job).toMatchObject({ here: false, call: "elsewhere" });
    const answer = await api.ask("GET", `/api/jobs/${job?.id}/output`);
    expect([answer.status, await answer.json()]).toMatchObject([
      409,
      { detail: expect.stringMatching(/^Another process has the job\. POST .*\/watch requests/) },
    ]);
    const typed = await api.ask("POST", `/api/jobs/${job?.id}/input`, { text: "correct-horse-9\n" });
    expect([typed.status, await typed.json()]).toMatchObject([
      409,
      { detail: expect.stringMatching(/^The text contains a secret/) },
    ]);
    await other.close();
  });

  test("a person's input to a job is a call that is judged and recorded", async () => {
    const api = await plain;
    await api.json("POST", "/api/threads/typed/calls", {
      ...{ name: "bash", wait: true },
      input: { command: "read -r line; echo got $line", background: true },
    });
    const job = (await jobsOf(api)).at(-1);
    const { call } = await api.json<{ call: string }>("POST", `/api/jobs/${job?.id}/input`, { text: "words\n" });
    const pieces = await receive(await api.ask("GET", `/api/jobs/${job?.id}/output`), () => true);
    expect(pieces).toMatchObject([{ data: { text: "got words\n" } }]);
    expect(await eventsOf(api, call)).toContainEqual(expect.objectContaining({ type: "call.started", name: "jobs" }));
    expect((await api.ask("POST", "/api/jobs/999999/input", { text: "" })).status).toBe(404);
  });

  test("a saved output is searched page by page, and a secret in it is not found", async () => {
    const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    const api = await plain;
    const id = await saved(api, `seq 100000; echo "key ${key} Ende"`);
    const search = (text: string, from = 0) =>
      api.json<{ hits: readonly { offset: number; text: string }[]; next?: number }>(
        ...(["GET", `/api/outputs/${id}/search?text=${encodeURIComponent(text)}&from=${from}`] as const),
      );
    const first = await search("99");
    expect(first.hits).toHaveLength(100);
    expect(first.hits[1]).toEqual({ offset: 684, text: "199" });
    const second = await search("99", first.next);
    expect(Number(second.hits[0]?.text)).toBeGreaterThan(Number(first.hits.at(-1)?.text));
    expect((await search("ende")).hits).toMatchObject([{ text: expect.not.stringContaining(key) }]);
    expect(await search("abcdefghijklmnop")).toEqual({ hits: [] });
  });

  test("a saved output is read by byte ranges", async () => {
    const api = await plain;
    const id = await saved(api, "seq 100000");
    const range = (value: string) => api.ask("GET", `/api/outputs/${id}`, undefined, { headers: { range: value } });
    for (const path of ["", "/download"]) {
      const whole = await api.ask("GET", `/api/outputs/${id}${path}`);
      expect([whole.status, (await whole.text()).length]).toEqual([200, 588_895]);
    }
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

  test("a secret that two byte ranges of an output cut is in neither, nor found, and keeps its size", async () => {
    const secret = "käse-und-brot-1907";
    const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    const api = await served({ preset: "coding", mask: { values: [secret] } });
    const input = { command: `printf '%s' 'a ${secret} b ${key} c'; sleep 600`, background: true };
    await api.json("POST", "/api/threads/cut/calls", { name: "bash", input, wait: true });
    const text = `a ${secret} b ${key} c`;
    const [job] = await jobsOf(api);
    const log = (await api.toolkit.jobs.get(job?.job ?? ""))?.process.output;
    await log?.grown(Buffer.byteLength(text) - 1);
    const bytes = await saveOutput(api, Buffer.from(text)); // bytes are not masked when they are saved
    for (const id of [`job-${job?.job}`, bytes]) {
      const read = async (range: string) =>
        (await api.ask("GET", `/api/outputs/${id}`, undefined, { headers: { range: `bytes=${range}` } })).text();
      const shown = `a [masked]${"*".repeat(11)} b [masked]${"*".repeat(41)} c`;
      for (let cut = 1; cut < shown.length; cut++)
        expect([await read(`0-${cut - 1}`), await read(`${cut}-`)]).toEqual([shown.slice(0, cut), shown.slice(cut)]);
      for (const part of ["brot", "opqrst"])
        expect(await api.json("GET", `/api/outputs/${id}/search?text=${part}`)).toEqual({ hits: [] });
    }
    await api.json("POST", `/api/jobs/${job?.id}/stop`, {});
  });
});

describe("data that outlives sessions", () => {
  test("grants are listed and revoked", async () => {
    const grants = keptGrants(temporaryFolder());
    const api = await served({}, { grants });
    const workspace = { backend: "local", folder: "/project" };
    await grants.keep({ workspace, key: "exec:make", label: "make, in /project", since: 1 });
    const listed = await api.json<{ grants: readonly { id: string }[] }>("GET", "/api/grants");
    expect(listed).toEqual({ grants: [{ id: expect.any(String), workspace, label: "make, in /project", since: 1 }] });
    const path = `/api/grants/${listed.grants[0]?.id}/revoke`;
    await api.json("POST", path, {});
    expect(await api.json("GET", "/api/grants")).toEqual({ grants: [] });
    expect((await api.ask("POST", path, {})).status).toBe(404);
  });

  test("memories are listed, searched and forgotten", async () => {
    const api = await plain;
    const memory = { content: "Deploys run on Tuesdays", category: "core" } as const;
    await api.toolkit.memories.store([
      { key: "deploys", ...memory },
      { ...memory, key: "other", content: "Nothing" },
    ]);
    const found = async (query: string) =>
      (await api.json<{ memories: readonly { key: string }[] }>("GET", `/api/memories${query}`)).memories;
    expect((await found("")).map(({ key }) => key)).toEqual(["other", "deploys"]);
    expect(await found("?text=tuesdays")).toMatchObject([{ key: "deploys", ...memory }]);
    await api.json("POST", "/api/memories/forget", { key: "deploys" });
    expect((await api.ask("POST", "/api/memories/forget", { key: "deploys" })).status).toBe(404);
    expect(await found("?category=core")).toMatchObject([{ key: "other" }]);
  });
});

describe("events", () => {
  test("a client that is disconnected anywhere resumes without gap or repetition, while others write", async () => {
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

  test("of another process arrive within moments", async () => {
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
