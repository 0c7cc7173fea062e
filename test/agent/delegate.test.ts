import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type AgentEvent, type Limits, type SubAgents, createAgent } from "../../src/agent/agent.ts";
import type { StoredEvent } from "../../src/core/contract/activity.ts";
import type { Tool } from "../../src/core/contract/tool.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { readonly } from "../../src/tools/presets/readonly.ts";
import { type ScriptedModel, type ScriptedReply, scriptedModel } from "../suites/scripted-model.ts";
import { until } from "../support/until.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";
import { acting, calls, looking, ofType, resultsIn, scripted } from "./support.ts";

const put = acting("put", async () => "put");
const look = looking("look", async () => "seen");

const task = (agent: string, prompt = `work of ${agent}`, context?: string) => ({
  name: "delegate",
  input: { agent, prompt, ...(context !== undefined && { context }) },
});
const loops = (reply: ScriptedReply) => Array.from({ length: 200 }, () => reply);
const offered = ({ requests }: ScriptedModel) =>
  (requests[0]?.tools ?? []).map((tool) => {
    const agents = tool.type === "function" && tool.inputSchema["properties"];
    return tool.name === "delegate" ? `delegate: ${JSON.stringify(agents).match(/"enum":\[.*?\]/)?.[0]}` : tool.name;
  });

/** Opens an agent with a scripted model and these sub-agents. Nothing is asked, unless the options require it. */
async function open(
  script: readonly ScriptedReply[],
  agents: SubAgents,
  { limits = {}, ...options }: ToolkitOptions & { readonly limits?: Limits } = {},
) {
  const toolkit = await toolkitWith({ preset: "none", tools: [put, look], policy: { autonomy: "full" }, ...options });
  const model = scriptedModel(script);
  const agent = await createAgent({ model, toolkit, agents, limits: { retryMs: 1, ...limits } });
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of agent.events()) events.push(event);
  })();
  const turn = async () => {
    const end = await agent.send("Go");
    await agent.close();
    await reading;
    return end;
  };
  return { agent, model, toolkit, events, turn };
}

const eventsOf = async ({ store }: Toolkit, thread: string): Promise<readonly StoredEvent[]> => {
  const events: StoredEvent[] = [];
  for await (const event of store.events({ thread })) events.push(event);
  return events;
};

describe("the tool delegate", () => {
  test("gives a sub-agent the task in its own thread, and the caller the answer, three levels deep", async () => {
    const models = {
      planner: scriptedModel([calls(task("coder", "code it")), { text: "planned", input: 10, output: 1 }]),
      coder: scriptedModel([calls(task("tester", "test it")), { text: "coded", input: 10, output: 1 }]),
      tester: scriptedModel([calls({ name: "put", input: { path: "a" } }), { text: "tested", input: 10, output: 1 }]),
    };
    const agents: SubAgents = {
      planner: { model: models.planner, instructions: "Plans work.\nThinks." },
      coder: { model: models.coder },
      tester: { model: models.tester, tools: [put] },
      fourth: { tools: [look] },
    };
    const script = [calls(task("planner", "plan it", "the facts")), { text: "All done.", input: 10, output: 1 }];
    const { model, events, turn } = await open(script, agents);
    const end = await turn();
    expect(end).toMatchObject({ reason: "done", rounds: 8, usage: { input: 40, output: 4 } });
    expect(resultsIn(model.requests[1]!)).toEqual({ "call-1": "planned" });

    const names = (...all: readonly string[]) => `delegate: "enum":${JSON.stringify(all)}`;
    expect(offered(model)).toEqual(["put", "look", names("planner", "coder", "tester", "fourth")]);
    expect(offered(models.planner)).toEqual(["put", "look", names("coder", "tester", "fourth")]);
    expect(offered(models.coder)).toEqual(["put", "look", names("tester", "fourth")]);
    expect(offered(models.tester)).toEqual(["put"]); // three levels are the maximum

    const cells = ofType(events, "tool_update").map(({ update }) => update);
    expect(cells).toContainEqual({ data: { agent: "planner", thread: expect.any(String) } });
    expect(cells).toContainEqual({ displayMessage: expect.stringMatching(/^planner: delegate .*coder/) });
    expect(cells).toContainEqual({ displayMessage: expect.stringMatching(/^planner: coder: tester: put /) });
    const system = models.planner.requests[0]?.prompt[0];
    expect(system).toMatchObject({
      content: expect.stringMatching(/Tools: put, look[^]*Plans work[^]*a task from another agent/),
    });
    const said = models.planner.requests[0]?.prompt[1]?.content;
    expect(said).toMatchObject([{ text: "[Context]\nthe facts\n\n[Task]\nplan it" }]);
  });

  test("links the thread to the caller's cell; text of a model in it does not count as a person's", async () => {
    const coder = scriptedModel([calls({ name: "look" }), { text: "coded" }]);
    const { agent, toolkit, turn } = await open([calls(task("coder", "see https://example.org"))], {
      coder: { model: coder, tools: [look] },
    });
    expect((await turn()).reason).toBe("done");
    const threads = await toolkit.store.threads();
    const [call] = (await eventsOf(toolkit, agent.thread)).filter(({ type }) => type === "call.started");
    const child = threads.find(({ parent }) => parent !== undefined);
    expect(child?.parent).toBe(call?.call);
    const events = await eventsOf(toolkit, child!.thread);
    expect(events.find(({ type }) => type === "message.added")).toMatchObject({ message: { from: "handrail" } });
    expect(events.find(({ type }) => type === "call.started")).toMatchObject({
      name: "look",
      agent: "coder",
      parent: call?.call,
    });
  });

  test.each<[string, SubAgents, readonly Tool[], string | undefined, readonly string[]]>([
    ["nobody to itself", { me: {}, other: {} }, [put], "me", ["other"]],
    ["nobody where it is the only one", { me: {} }, [put], "me", []],
    [
      "one that only looks to one that acts",
      { coder: { tools: [put] }, seer: { tools: [look] } },
      [look],
      undefined,
      ["seer"],
    ],
    [
      "one without tools to any",
      { coder: { tools: [put] }, seer: { tools: [look] } },
      [],
      undefined,
      ["coder", "seer"],
    ],
    ["one of the preset readonly to one that acts", { coder: { tools: [put] } }, readonly(), undefined, []],
  ])("is not offered by %s", async (_, agents, tools, name, expected) => {
    const { agent, model } = await scripted([], { agents, ...(name && { name }), toolkit: { tools: [...tools] } });
    await agent.send("Go");
    const [delegate] = offered(model).filter((each) => each.startsWith("delegate"));
    expect(delegate).toBe(expected.length === 0 ? undefined : `delegate: "enum":${JSON.stringify(expected)}`);
  });

  test("jobs that a sub-agent leaves running are named, and their ends are reported to its caller", async () => {
    const coder = scriptedModel([
      calls({ name: "bash", input: { command: "until [ -e go ]; do sleep 0.02; done; echo built", background: true } }),
      { text: "It builds." },
    ]);
    const again = calls({ name: "bash", input: { command: "touch go; until [ -e done ]; do sleep 0.02; done" } });
    const script = [calls(task("coder")), again, calls({ name: "look", input: {} }), { text: "Done." }];
    const { agent, toolkit, model } = await open(
      script,
      { coder: { model: coder } },
      { preset: "coding", workDir: await workspace() },
    );
    const turn = agent.send("Go");
    await until("the job has ended", async () => (await toolkit.jobs.list())[0]?.ended !== undefined);
    await writeFile(join(toolkit.backend.workDir, "done"), "");
    await turn;
    const results = Object.values(resultsIn(model.requests.at(-1)!));
    expect(results[0]).toBe("It builds.\n[Jobs of agent coder still running: 1]");
    expect(results.slice(1).join("\n")).toContain("[Job 1 has ended: until [ -e go ]");
  });

  test("an agent that fails or does not exist is a failed call, and the turn continues", async () => {
    const broken = scriptedModel(loops({ fails: new Error("the model is gone") }));
    const { model, turn } = await open([calls(task("coder"), task("nobody"))], { coder: { model: broken } });
    expect((await turn()).reason).toBe("done");
    const [failed, unknown] = Object.values(resultsIn(model.requests[1]!));
    expect(failed).toMatch(/agent coder failed: .*the model is gone/);
    expect(unknown).toMatch(/agent.*coder/s);
  });

  test("an agent that loops ends at its limit with a last message, marked as unfinished for its caller", async () => {
    const coder = scriptedModel([...loops(calls({ name: "look" })).slice(0, 3), { text: "Half of it." }]);
    const { model, turn } = await open([calls(task("coder"))], { coder: { model: coder, limits: { rounds: 3 } } });
    const end = await turn();
    expect(coder.requests).toHaveLength(4);
    expect(resultsIn(model.requests[1]!)["call-1"]).toMatch(
      /^Half of it\.\n\[Agent coder did not finish: The limit of 3 replies/,
    );
    expect(end).toMatchObject({ reason: "done", rounds: 6 });
  });

  test.each([
    { what: "replies", limits: { rounds: 20 }, most: 21, reason: "max_rounds" },
    { what: "tokens", limits: { tokens: 200 }, most: 20 + 8 + 1, reason: "max_tokens" },
  ])("$what are bounded for the whole tree, also for many agents side by side", async ({ limits, most, reason }) => {
    const spends = { input: 9, output: 1 };
    const deep = () => scriptedModel(loops({ ...calls({ name: "look" }), ...spends }));
    const wide = () => scriptedModel(loops({ ...calls(...Array.from({ length: 8 }, () => task("leaf"))), ...spends }));
    const models = { leaf: deep(), mid: wide() };
    const agents = { leaf: { model: models.leaf, limits: { rounds: 90 } }, mid: { model: models.mid } };
    const script = loops({ ...calls(task("mid"), task("leaf")), ...spends });
    const { model, turn } = await open(script, agents, { limits });
    const end = await turn();
    const asked = [model, models.leaf, models.mid].reduce((sum, { requests }) => sum + requests.length, 0);
    expect(end.reason).toBe(reason);
    expect(end.rounds).toBe(asked);
    expect(asked).toBeLessThanOrEqual(most);
    expect(end.usage.input + end.usage.output).toBe(asked * 10);
  });

  test("stops with its caller: all calls have ended, and both threads can be continued", async () => {
    let begun = 0;
    let stopped = 0;
    const slow = looking("slow", async (_, { signal }) => {
      begun++;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      stopped++;
      throw signal.reason;
    });
    const inner = scriptedModel(loops(calls({ name: "slow" }, { name: "slow" })));
    const outer = scriptedModel([calls(task("inner"))]);
    const agents = { outer: { model: outer }, inner: { model: inner } };
    const { agent, toolkit, turn } = await open([calls(task("outer"), task("inner"))], agents, { tools: [slow] });
    const ending = turn();
    await until("all calls run", () => begun === 4);
    await agent.stop();
    expect((await ending).reason).toBe("stopped");
    expect(stopped).toBe(begun);
    for (const { thread } of await toolkit.store.threads()) {
      const events = await eventsOf(toolkit, thread);
      const started = events.filter(({ type }) => type === "call.started").map(({ call }) => call);
      const finished = events.filter(({ type }) => type === "call.finished").map(({ call }) => call);
      expect(new Set(finished)).toEqual(new Set(started));
      const again = await createAgent({ model: scriptedModel([{ text: "Back." }]), toolkit, thread });
      expect((await again.send("Go on")).reason).toBe("done");
      await again.close();
    }
  });

  test("a stop of its thread alone fails the call; the caller continues", async () => {
    const wait = looking(
      "wait",
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    );
    const coder = scriptedModel([calls({ name: "wait" })]);
    const { model, toolkit, turn } = await open([calls(task("coder"))], { coder: { model: coder } }, { tools: [wait] });
    const ending = turn();
    let child: string | undefined;
    await until("its call runs", async () => {
      child = (await toolkit.store.threads()).find(({ parent }) => parent !== undefined)?.thread;
      return child !== undefined && (await eventsOf(toolkit, child)).some(({ type }) => type === "call.started");
    });
    toolkit.store.append({ type: "stop.requested", thread: child!, at: Date.now(), by: "test" });
    expect((await ending).reason).toBe("done");
    expect(resultsIn(model.requests[1]!)["call-1"]).toContain("agent coder was stopped");
  });

  test("asks the same approver, names the agent, and grants apply to all", async () => {
    const asked: string[] = [];
    const coder = scriptedModel([calls({ name: "put", input: { path: "/etc/x" } }), { text: "coded" }]);
    const { events, turn } = await open(
      [calls(task("coder")), calls(task("coder")), calls({ name: "put", input: { path: "/etc/x" } })],
      { coder: { model: coder } },
      {
        policy: { workspaceOnly: false, forbiddenPaths: [] },
        approver: async ({ request, tool }, { scopes = [] }) => {
          asked.push(`${request.agent ?? "-"}: ${tool.name} ${scopes.map(({ label }) => label).join()}`);
          return { answer: "session" };
        },
      },
    );
    expect((await turn()).reason).toBe("done");
    expect(asked).toEqual(["-: delegate Delegate to: coder", "coder: put Write: /etc/x"]);
    expect(ofType(events, "tool_update").map(({ update }) => update.displayMessage)).toContain(
      "coder: waits for approval of put",
    );
  });

  test("a question in the store names the agent; when nobody answers, the agent gets a denial", async () => {
    const coder = scriptedModel([calls({ name: "put", input: { path: "/etc/x" } }), { text: "could not" }]);
    const policy = { workspaceOnly: false, forbiddenPaths: [] };
    const { toolkit, turn } = await open([calls(task("coder"))], { coder: { model: coder } }, { policy });
    const leave = await toolkit.store.attend();
    const ending = turn();
    const next = async () => {
      await until("a question", async () => (await toolkit.store.questions()).length === 1);
      return (await toolkit.store.questions())[0]!;
    };
    const first = await next();
    expect(first).not.toHaveProperty("agent");
    await toolkit.store.answer(first.question, { answer: "once" }, "test");
    await until("the next one", async () => (await toolkit.store.questions())[0]?.question !== first.question);
    const second = await next();
    expect(second).toMatchObject({ agent: "coder", name: "put" });
    await toolkit.store.answer(second.question, { answer: "refuse", reason: "Not there." }, "test");
    expect((await ending).reason).toBe("done");
    expect(resultsIn(coder.requests[1]!)["call-1"]).toContain("denied by user. Not there.");
    await leave();
  });
});
