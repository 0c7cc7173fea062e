import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { describe, expect, test } from "vitest";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { commandLine } from "./program.ts";
import { SUM, repairingModel } from "./repairing.ts";

const MODEL = await repairingModel();
const REPAIRS = ["run", "Repair the failing test", ...MODEL, "--yes"] as const;

describe("handrail run", () => {
  test("prints documented events with --json, which jq reads", async () => {
    const { shell } = await commandLine(SUM);
    const script = `handrail run "Repair it" ${MODEL.join(" ")} --yes --json | tee all | jq -r 'select(.type == "tool_result") | "\\(.name) \\(.status)"'`;
    const { code, stdout } = await shell(`command -v jq >/dev/null || exit 77; ${script}; cat all`);
    if (code === 77) return void process.stderr.write("skipped: jq is not installed\n");
    expect(stdout).toMatch(/^bash ok\nread ok\nedit ok\nbash ok\n/);
    const events = stdout
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as { type: string });
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set(
        ["thread", "message", "text", "usage", "tool_call", "tool_started", "tool_result", "end"].concat(
          events.some(({ type }) => type === "tool_update") ? ["tool_update"] : [],
        ),
      ),
    );
    expect(events.at(-1)).toMatchObject({ type: "end", reason: "done" });
  });

  test("denies what needs approval when nobody can be asked and --yes is not given", async () => {
    const { folder, here } = await commandLine(SUM);
    const { code, stderr } = await here(["run", "Repair it", ...MODEL, "--sandbox", "off"]);
    expect(code).toBe(1); // although the model got the denial, and has answered
    expect(stderr).toMatch(/^handrail: \d calls? needs? approval and .* denied, because there was nobody to ask\. /m);
    expect(stderr).toContain("denied: Medium-risk command requires approval");
    expect(stderr).toContain("approve in advance with --yes");
    expect(await readFile(join(folder, "sum.mjs"), "utf8")).toBe(SUM["sum.mjs"]);
  });
});

test("handrail run --json has the question to a person at the terminal, and both answers", async () => {
  const { folder, terminal } = await commandLine(SUM);
  const person = terminal(`handrail run 'Repair it' ${MODEL.join(" ")} --sandbox off --json >events`);
  for (const [index, answer] of ["y\n", "n\n"].entries()) {
    await expect.poll(() => person.screen().split("[y/N/s] ").length - 2, { timeout: 20_000 }).toBe(index);
    person.type(answer);
  }
  await person.ended;
  const lines = (await readFile(join(folder, "events"), "utf8")).trimEnd().split("\n");
  const events = lines.map((line) => JSON.parse(line) as { type: string; id: string });
  const asked = { type: "approval", name: "bash", status: "asked", reason: expect.stringContaining("node --test") };
  expect(events.filter(({ type }) => type === "approval")).toMatchObject([
    asked,
    { type: "approval", status: "approved", answer: "once" },
    asked,
    { type: "approval", status: "refused", answer: "refuse" },
  ]);
  const { id } = events.findLast(({ type }) => type === "approval")!;
  expect(events.find((event) => event.type === "tool_result" && event.id === id)).toMatchObject({ status: "denied" });
});

test("a long call shows for how long it runs and its last line, on a terminal only", async () => {
  const mock = new LLMock({ port: 0 });
  await mock.start();
  try {
    const { folder, terminal, here } = await commandLine();
    const command = "echo half way; until [ -e go ]; do sleep 0.02; done";
    const isFirst = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
      !messages.some(({ role }) => role === "tool");
    const toolCalls = [{ name: "bash", arguments: JSON.stringify({ command }) }];
    mock.addFixture({ match: { predicate: isFirst }, response: { toolCalls } });
    mock.addFixture({ match: {}, response: { content: "Done." } });
    const args = ["run", "Do it", "--yes", "--model", "openai-compatible:mock", "--base-url", `${mock.url}/v1`];
    const person = terminal(`handrail ${args.map((word) => `'${word}'`).join(" ")}`);
    await expect.poll(() => person.screen(), { timeout: 20_000 }).toMatch(/bash {2}[1-9]\.\d s {2}half way/);
    await writeFile(join(folder, "go"), "");
    expect(await person.ended).toBe(0);
    expect((await here(args)).stderr).not.toMatch(/half way\s*$|\x1b/m);
  } finally {
    await mock.stop();
  }
});

test("an agent stops at a limit", async () => {
  const { here } = await commandLine(SUM);
  const { code, stdout } = await here([...REPAIRS, "--max-rounds", "2"]);
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringMatching(/I stop here[^]*not done\.\n$/) });
});

describe("a thread", () => {
  test("is continued with --continue and --resume ID, and listed with --resume", async () => {
    const { here } = await commandLine();
    expect(await here(["run", "Go on", "--continue", "--model", "demo"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("there is no thread to continue"),
    });
    const first = await here(["run", "Look around", "--model", "demo", "--yes"]);
    const [, id = ""] = /to continue: handrail chat --resume (\w+) --model demo\n/.exec(first.stderr) ?? [];
    const outside = ["--sandbox", "off"]; // the same thread, contained or not
    for (const more of [[], outside]) {
      const again = await here(["run", "Again", "--continue", "--model", "demo", "--yes", ...more]);
      expect(again.stderr).toContain(`--resume ${id}`);
    }
    expect((await here(["run", "Again", "--resume", id, "--model", "demo", "--yes"])).stdout).toContain(
      "README.md begins",
    );
    expect((await here(["run", "--resume"])).stdout).toMatch(new RegExp(`^${id}  .*Look around\\n$`));
    expect(await here(["run", "x", "--resume", "nothere", "--model", "demo"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("there is no thread nothere"),
    });
  });

  test("is continued where and with what it was started, from any folder; options that are given win", async () => {
    const { here, folder, configHome } = await commandLine({ "inner/here.txt": "", "other/there.txt": "" });
    await mkdir(join(configHome, "handrail"), { recursive: true });
    const config = join(configHome, "handrail", "config.yaml");
    await writeFile(config, "toolsets: { mine: [bash, read] }\n");
    const first = await here(["run", "Look around", "--work-dir", "inner", "--preset", "mine", "--model", "demo"]);
    const [, command = "", id = ""] = /to continue: (handrail chat --resume (\w+).*)\n/.exec(first.stderr) ?? [];
    expect(command).toBe(`handrail chat --resume ${id} --work-dir ${folder}/inner --preset mine --model demo`);
    for (const line of [command, `handrail chat --resume ${id}`]) {
      const again = await here(line.split(" ").slice(1), {}, { input: "/tools\n", cwd: "other" });
      expect(again.stdout).toMatch(/^handrail · inner on this machine · demo\nbash .*\nread .*\n(?!edit)/m);
      expect(again.stderr).toBe(`handrail: continues thread ${id}: Look around\n`);
    }
    const last = await here(["run", "Again", "--continue"], {}, { cwd: "inner" });
    expect(last.stderr).toContain(`--resume ${id} `);
    const elsewhere = await here(["run", "Again", "--resume", id, "--work-dir", "other"]);
    expect(elsewhere.stderr).toContain(
      `This thread worked on local:${folder}/inner. It continues on local:${folder}/other.`,
    );
    await writeFile(config, "{}\n");
    expect(await here(["run", "Again", "--resume", id])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(
        /^handrail: thread \w+ cannot be continued .*'mine' is invalid.*An option that you/,
      ),
    });
    expect(await here(["run", "Again", "--resume", id, "--preset", "coding"])).toMatchObject({ code: 0 });
  });

  test("of a host is not continued on this machine when the host cannot be reached", async () => {
    const { here, stateHome, folder } = await commandLine();
    const store = sqliteStore({ file: join(stateHome, "handrail", "handrail.db") });
    const created = { type: "thread.created", thread: "far", at: Date.now(), target: "ssh:nobody@127.0.0.1" } as const;
    await store.commit({ ...created, workDir: "/", startedWith: { from: folder, target: "ssh://nobody@127.0.0.1:1" } });
    await store.close();
    for (const which of [["--continue"], ["--resume", "far"]]) {
      const { code, stdout, stderr } = await here(["run", "Look around", ...which, "--model", "demo"]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/thread far cannot be continued as it was started \(--ssh .*\): .*type \/resume far/);
    }
  });

  const KILLS = Number(process.env["HANDRAIL_KILLS"] ?? 2);
  test(`is complete after kill -9 at ${KILLS} random moments: every call has one result, the next turn works`, async () => {
    const { here, start, stateHome } = await commandLine(SUM);
    for (let kill = 0; kill < KILLS; kill++) {
      const args = kill === 0 ? REPAIRS : [...REPAIRS, "--continue"];
      const running = start(args);
      await new Promise((resolve) => setTimeout(resolve, 150 + Math.random() * 1_500));
      running.kill("SIGKILL");
      await running.ended;
    }
    // if all kills came before the first message
    const begun = await here(["run", "Go on", ...MODEL, "--yes"]);
    const next = await here(["run", "Go on", "--continue", ...MODEL, "--yes"]);
    expect(begun.code).toBe(0);
    expect(next).toMatchObject({ code: 0, stdout: expect.stringContaining("All tests pass") });
    const store = sqliteStore({ file: join(stateHome, "handrail", "handrail.db") });
    for (const { thread } of await store.threads()) {
      await here(["run", "Go on", "--resume", thread, ...MODEL, "--yes"]);
      const called: string[] = [];
      const answered: string[] = [];
      for await (const event of store.events({ thread, messages: true })) {
        if (event.type !== "message.added") continue;
        if (event.message.role === "tool") answered.push(event.message.call);
        if (event.message.role === "assistant")
          for (const part of event.message.content) if (part.type === "call") called.push(part.id);
      }
      expect(answered.toSorted()).toEqual(called.toSorted());
    }
    await store.close();
  }, 600_000);

  test("saved outputs can still be read after a resume", async () => {
    const { here } = await commandLine();
    const saved = await here(["call", "bash", '{"command":"seq 1 30000"}', "--yes"]);
    const [id = ""] = /output:\/\/\w+/.exec(saved.stdout) ?? [];
    expect((await here(["call", "read", JSON.stringify({ path: id, limit: 1 })])).stdout).toMatch(/^1\n/);
  });
});

describe("handrail run reports what is missing", () => {
  test.each([
    { args: ["run", "x"], message: "No model is chosen, and there is no key: none in OPENAI_API_KEY" },
    { args: ["run", "x", "--model", "opnai:gpt-5"], message: 'unknown provider "opnai". Providers: openai, anthropic' },
    { args: ["run", "x", "--model", "openai"], message: "expected PROVIDER:NAME, as openai:gpt-5" },
    {
      args: ["run", "x", "--model", "openai:gpt-5"],
      message: "Set OPENAI_API_KEY in the environment, or run `handrail login openai`",
    },
    { args: ["run", "x", "--agent", "reviewer", "--model", "demo"], message: 'there is no agent "reviewer"' },
    { args: ["run", "--model", "demo"], message: "there is no prompt" },
    { args: ["run", "x", "--max-rounds", "0", "--model", "demo"], message: "Expected a whole number above 0" },
  ])("$args", async ({ args, message }) => {
    const env = { OPENAI_API_KEY: undefined, OLLAMA_HOST: "127.0.0.1:9" };
    const { code, stderr } = await (await commandLine()).here(args, env);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });

  test("a key file that others can read is rejected with the command that fixes it", async () => {
    const { configHome, here } = await commandLine();
    const file = join(configHome, "handrail", "keys");
    await mkdir(join(configHome, "handrail"), { recursive: true });
    await writeFile(file, "OPENAI_API_KEY=sk-test\n");
    await chmod(file, 0o644);
    const { stderr } = await here(["run", "x", "--model", "openai:gpt-5"]);
    expect(stderr).toContain(`Run: chmod 600 ${file}`);
  });
});

describe("--show-prompt", () => {
  test("prints the facts, the user's instructions for an agent, and AGENTS.md and CLAUDE.md as the project's", async () => {
    const { folder, configHome, here } = await commandLine({
      "AGENTS.md": "Use tabs.",
      "deep/AGENTS.md": "Use spaces here.",
      "deep/CLAUDE.md": "Run make.",
      "CLAUDE.md": "Use tabs.",
    });
    await mkdir(join(configHome, "handrail"), { recursive: true });
    const config = "agents:\n  reviewer: { toolset: readonly, instructions: Be strict. }\n";
    await writeFile(join(configHome, "handrail", "config.yaml"), config);
    const { stdout } = await here(["run", "--show-prompt", "--agent", "reviewer", "--work-dir", join(folder, "deep")]);
    expect(stdout).toContain(`- Working directory: ${folder}/deep`);
    expect(stdout).toContain("- Tools: read, grep, find, ls");
    expect(stdout).toContain("The user's instructions for this agent:\nBe strict.");
    expect(stdout).toMatch(/not by the user[^]*Use tabs\.[^]*not by the user[^]*Use spaces here\.[^]*Run make\./);
    expect(stdout.split("Use tabs.")).toHaveLength(2);
    expect(stdout.length).toBeLessThan(4_000);
  });

  test("follows no AGENTS.md to a file that the policy closes", async () => {
    const { folder, here } = await commandLine({ ".env": "TOKEN=abcdefgh12345678\n" });
    execFileSync("ln", ["-s", ".env", join(folder, "AGENTS.md")]);
    expect((await here(["run", "--show-prompt"])).stdout).not.toContain("TOKEN");
  });
});

test("configured agents delegate tasks, three levels deep, down to the demo model", async () => {
  const mock = new LLMock({ port: 0 });
  await mock.start();
  try {
    const { configHome, here } = await commandLine();
    const model = (name: string) => `{ provider: openai-compatible, name: ${name}, base_url: "${mock.url}/v1" }`;
    await mkdir(join(configHome, "handrail"), { recursive: true });
    await writeFile(
      join(configHome, "handrail", "config.yaml"),
      `model: ${model("lead")}
agents:
  planner: { model: ${model("planner")}, toolset: none, instructions: Plans work. }
  coder: { model: ${model("coder")}, limits: { rounds: 30, time: 60 } }
  fixer: { model: demo, toolset: coding }
  absent: { model: "anthropic:claude-x" }
`,
    );
    for (const [name, next] of [
      ["lead", "planner"],
      ["planner", "coder"],
      ["coder", "fixer"],
    ] as const) {
      const input = JSON.stringify({ agent: next, prompt: "Look around" });
      const isFirst = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
        !messages.some(({ role }) => role === "tool");
      mock.addFixture({
        match: { model: name, predicate: isFirst },
        response: { toolCalls: [{ name: "delegate", arguments: input }] },
      });
      mock.addFixture({ match: { model: name }, response: { content: `${name} is done.` } });
    }
    const { code, stdout, stderr } = await here(["run", "Have them look", "--yes"]);
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining("lead is done.") });
    expect(stderr).toMatch(/^handrail: agent absent is not available: .*ANTHROPIC_API_KEY/m);
    expect(stderr).toMatch(/^> delegate \{.*planner/m);
    expect(stderr).toMatch(/handrail: 9 rounds/); // 2 of each, and 3 of the demo
    const requests = mock.getRequests().map(({ body }) => JSON.stringify(body));
    expect(requests[0]).toContain("Plans work. (no tools)");
    expect(requests.at(-3)).toContain("README.md begins: # Read me"); // what the demo has seen
    const listed = await here(["run", "--resume"]);
    expect(listed.stdout.trim().split("\n")).toHaveLength(1); // threads of sub-agents belong to their calls
  } finally {
    await mock.stop();
  }
});

test("configured agents are there at a shell, for an MCP client, in a toolset and in the prompt", async () => {
  const { configHome, here } = await commandLine();
  await mkdir(join(configHome, "handrail"), { recursive: true });
  const toolsets = "toolsets: { mine: [read, delegate], looks: [read, grep] }\n";
  const agents =
    "agents: { fixer: { model: demo, toolset: coding, instructions: Repairs tests. }, bare: { toolset: none } }\n";
  await writeFile(join(configHome, "handrail", "config.yaml"), toolsets + agents);
  const names = async (preset: string) =>
    (await here(["tools", "--preset", preset])).stdout.split("\n").map((line) => line.split(" ")[0]);
  expect(await names("coding")).toContain("delegate");
  expect(await names("mine")).toEqual(["read", "delegate", ""]);
  const { stdout: looks } = await here(["tools", "--preset", "looks", "--format", "json"]);
  expect(JSON.parse(looks)).toMatchObject([{ name: "read" }, { name: "grep" }, { name: "delegate" }]);
  expect(looks).not.toContain("fixer"); // its tools act
  expect((await here(["run", "--show-prompt"])).stdout).toContain("- Tools: read, bash, edit, write, jobs, delegate");

  const task = { agent: "fixer", prompt: "Look around" };
  const called = await here(["call", "delegate", JSON.stringify(task), "--yes"]);
  expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining("README.md begins: # Read me") });
  const denied = await here(["call", "delegate", JSON.stringify(task)]);
  expect(denied).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("Delegating to agent fixer requires approval"),
  });
  const bare = await here(["call", "delegate", JSON.stringify({ ...task, agent: "bare" }), "--yes"]);
  expect(bare).toMatchObject({ code: 1, stdout: expect.stringContaining("agent bare has no model") });

  const messages = [
    {
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } },
    },
    { id: 2, method: "tools/list" },
    { id: 3, method: "tools/call", params: { name: "delegate", arguments: task } },
  ];
  const input = messages.map((each) => `${JSON.stringify({ jsonrpc: "2.0", ...each })}\n`).join("");
  const { stdout } = await here(["mcp", "--yes"], {}, { input });
  expect(stdout).toContain('"name":"delegate"');
  expect(stdout).toContain("README.md begins");

  await writeFile(join(configHome, "handrail", "config.yaml"), toolsets);
  const { stderr } = await here(["call", "read", '{"path":"README.md"}', "--preset", "mine"]);
  expect(stderr).toContain('got "delegate". It is there with agents, and the configuration has none.');
});
