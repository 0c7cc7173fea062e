import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import type { Store } from "../../src/core/contract/activity.ts";
import type { OpenQuestion } from "../../src/core/contract/question.ts";
import { asText } from "../../src/core/call/result.ts";
import { quoteWords } from "../../src/core/util/quote.ts";
import { until } from "../support/until.ts";
import { toolkitWith } from "../support/workspace.ts";
import { type CommandLine, PROGRAM, commandLine as newCommandLine } from "./program.ts";

/** A command line that asks about every command, and the store that its processes share. */
async function commandLine(): Promise<CommandLine & { readonly store: Store }> {
  const line = await newCommandLine();
  await mkdir(join(line.configHome, "handrail"), { recursive: true });
  await writeFile(
    join(line.configHome, "handrail", "config.yaml"),
    "policy: { shell_confirm: true, block_high_risk_commands: false, sandbox: off }\n",
  );
  const store = sqliteStore({ file: join(line.stateHome, "handrail", "handrail.db") });
  onTestFinished(() => store.close());
  return { ...line, store };
}

/** Returns the question about this command, once it is asked. */
async function questionAbout(store: Store, command: string): Promise<OpenQuestion> {
  let found: OpenQuestion | undefined;
  await until(`there is a question about ${command}`, async () => {
    const isMeant = ({ effects }: OpenQuestion) =>
      effects.some((each) => each.kind === "exec" && each.command === command);
    found = (await store.questions()).find(isMeant);
    return found !== undefined;
  });
  return found!;
}

const bash = (command: string) => ["call", "bash", JSON.stringify({ command })];

describe("questions of other processes", () => {
  test("calls wait while somebody can answer: approved, refused or stopped; then they are denied again", async () => {
    const line = await commandLine();
    const waiting = line.startHere(["approvals", "wait", "--json"]);
    await until("it waits", () => line.store.isAttended());
    const [approved, refused, stopped] = ["echo one", "echo two", "echo three"].map((command) =>
      line.startHere(bash(command)),
    );
    /** Returns the question about a command, once it is shown to the waiting person. */
    const shown = async (command: string) => {
      const question = await questionAbout(line.store, command);
      await until("it is shown", () => waiting.stdout().includes(question.question));
      return question;
    };
    const one = await shown("echo one");
    const listed = await line.here(["approvals"]);
    expect(listed.stdout).toMatch(
      new RegExp(`${one.question}  bash in thread main, risk low, asked \\d+ s ago\n  Run: echo one\n`),
    );
    const answers = ["once", "refuse"].map((given) => {
      return line.terminal(`handrail approvals answer ${one.question} ${given}`);
    });
    const codes = await Promise.all(answers.map(({ ended }) => ended));
    expect(new Set(codes)).toEqual(new Set([0, 1]));
    expect(answers[codes.indexOf(1)]?.screen()).toMatch(/it was answered before \((once|refuse), handrail approvals\)/);
    const isApproved = codes[0] === 0;
    expect(await approved!.ended).toMatchObject({
      stdout: isApproved ? "one\n" : "Command execution denied by user.\n",
    });
    const two = await shown("echo two");
    expect((await line.here(["approvals", "answer", two.question, "refuse"])).stderr).toContain(
      "a question is answered at a terminal",
    );
    await line.terminal(`handrail approvals answer ${two.question} refuse --reason "Not now."`).ended;
    expect(await refused!.ended).toMatchObject({ code: 1, stdout: "Command execution denied by user. Not now.\n" });
    const { call, thread } = await shown("echo three");
    await line.store.commit({ type: "stop.requested", call, thread, at: Date.now(), by: "test" });
    expect(await stopped!.ended).toMatchObject({ code: 1, stdout: "The call was stopped before it finished.\n" });
    expect(
      waiting
        .stdout()
        .split("\n")
        .slice(0, -1)
        .map((text) => (JSON.parse(text) as OpenQuestion).name),
    ).toEqual(["bash", "bash", "bash"]);
    waiting.kill("SIGINT");
    await waiting.ended;
    expect((await line.here(bash("echo four"))).stdout).toContain("keep `handrail approvals wait` open in a terminal");
    expect((await line.here(["approvals"])).stdout).toBe("(no open questions)\n");
    const threads = await line.here(["threads"]);
    expect(threads.stdout).toMatch(/^main {2}\d{4}-\d\d-\d\d \d\d:\d\d$/m);
    const inTokyo = await line.shell("TZ=Asia/Tokyo handrail threads");
    expect(inTokyo.stdout).not.toBe((await line.shell("TZ=America/Lima handrail threads")).stdout);
    expect((await line.here(["threads", "show", "main"])).stdout).toMatch(/bash \{"command":"echo three"\}: aborted/);
    expect((await line.here(["threads", "show", "none"])).stderr).toContain("there is no thread none");
  });

  test("the question on a terminal disappears when it is answered by another process", async () => {
    const line = await commandLine();
    const terminal = line.terminal(`handrail call bash '{"command":"echo ran"}' > result.txt; cat result.txt`);
    await terminal.shows("Run: echo ran [y/N/s/a] ");
    const { question } = await questionAbout(line.store, "echo ran");
    expect(await line.store.answer(question, { answer: "once" }, "test")).toEqual({ status: "answered" });
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain("ran\n");
    const decided = [];
    for await (const event of line.store.events({ types: ["approval.decided"] })) decided.push(event);
    expect(decided).toMatchObject([{ question, by: "test" }]);
  });

  test("are asked on the terminal of a person who waits for them", async () => {
    const line = await commandLine();
    const person = line.terminal("handrail approvals wait");
    await until("it waits", () => line.store.isAttended());
    const call = line.startHere(bash("echo asked"));
    await person.shows("bash in thread main, risk low:");
    await person.shows("Run: echo asked [y/N/s/a] ");
    person.type("y\r");
    expect(await call.ended).toMatchObject({ code: 0, stdout: "asked\n" });
    const other = line.start(bash("echo other"));
    await person.shows("Run: echo other [y/N/s/a] ");
    const { question } = await questionAbout(line.store, "echo other");
    await line.terminal(`handrail approvals answer ${question} once`).ended;
    await person.shows("(answered elsewhere, or its call has ended)");
    expect((await other.ended).stdout).toBe("other\n");
    person.type("\x03");
    await person.ended;
    expect(await line.store.isAttended()).toBe(false);
  });

  test("show all that is approved: long ones folded, and whole on demand; arguments of an own tool too", async () => {
    const line = await commandLine();
    const long = Array.from({ length: 600 }, (_, at) => `item ${at}`).join("\n");
    const input = { order: "A-1", note: long };
    line.store.append({ call: "a", thread: "main", at: 1, type: "call.started", name: "refund_order", input });
    const decision = { verdict: "ask", risk: "low" } as const;
    const asked = { call: "a", thread: "main", at: 1, question: "q", effects: [], decision } as const;
    line.store.append({ ...asked, type: "approval.requested" });
    const { stdout } = await line.here(["approvals"]);
    expect(stdout).toContain('Call: refund_order with {"order":"A-1"');
    expect(stdout).toContain("All of it: handrail approvals show q");
    expect(stdout).not.toContain("item 300");
    expect((await line.here(["approvals", "show", "q"])).stdout).toContain("item 300");
    expect((await line.here(["approvals", "show", "none"])).stderr).toContain("there is no question none");
    const person = line.terminal("handrail approvals wait");
    await person.shows('Call: refund_order with {"order":"A-1"');
    person.type("\x03");
    await person.ended;
  });

  test("cannot be answered for longer than they allow, nor when nobody asked", async () => {
    const line = await commandLine();
    const effects = [{ kind: "exec", command: "x" }] as const;
    const decision = { verdict: "ask", risk: "low" } as const;
    line.store.append({ call: "a", thread: "main", at: 1, type: "call.started", name: "bash", input: {} });
    line.store.append({
      call: "a",
      thread: "main",
      at: 1,
      type: "approval.requested",
      question: "q",
      effects,
      decision,
    });
    await line.store.questions();
    const answer = async (...args: readonly string[]) => {
      const terminal = line.terminal(`handrail approvals answer ${args.join(" ")}`);
      await terminal.ended;
      return terminal.screen().replaceAll(/\s+/g, " ");
    };
    expect(await answer("q", "always")).toContain("cannot be allowed for longer than one call. Answer once.");
    expect(await answer("none", "once")).toContain("there is no question none");
    expect(await answer("q", "once", "--reason", "x")).toContain("--reason goes with refuse");
    expect(await answer("q", "perhaps")).toContain("Allowed choices are once, session, always, refuse");
  });
});

describe("a model gives no answers", () => {
  const command = `handrail approvals answer q once`;

  test.each([command, `sh -c '${command}'`, `node ./node_modules/.bin/${command}`, "a=approvals; handrail $a list"])(
    "bash is refused %s, also with full autonomy",
    async (script) => {
      const toolkit = await toolkitWith({ preset: "coding", sandbox: "off", policy: { autonomy: "full" } });
      const result = await toolkit.call({ name: "bash", input: { command: script } });
      expect(result).toMatchObject({ status: "denied", by: "policy" });
    },
  );

  test("what is typed into a terminal is refused too", async () => {
    const toolkit = await toolkitWith({ preset: "coding", policy: { autonomy: "full" } });
    const decision = await toolkit.judge([{ kind: "terminal", types: command, keys: ["Enter"] }]);
    expect(decision).toMatchObject({ verdict: "deny", rule: "answers_for_person" });
  });

  test("a script that hides the command runs, and the program refuses to answer", async () => {
    const workDir = (
      await newCommandLine({ "x.sh": `exec ${quoteWords([process.execPath, PROGRAM])} approvals list\n` })
    ).folder;
    const toolkit = await toolkitWith({ preset: "coding", workDir, sandbox: "off", policy: { autonomy: "full" } });
    const result = asText(await toolkit.call({ name: "bash", input: { command: "sh x.sh" } }));
    expect(result).toContain("`handrail approvals list` is for people");
  });
});

test("a job of another process is listed, its last lines are shown, and it is stopped", async () => {
  const line = await commandLine();
  const file = join(line.stateHome, "handrail", "handrail.db");
  const policy = { autonomy: "full" } as const;
  const toolkit = await toolkitWith({ preset: "coding", sandbox: "off", policy, store: sqliteStore({ file }) });
  await toolkit.call({ name: "bash", input: { command: "echo one; sleep 600", background: true } });
  await until("the job is recorded", async () => (await line.store.jobs()).length === 1);
  const id = String((await line.store.jobs())[0]?.id);
  expect((await line.here(["jobs"])).stdout).toMatch(
    new RegExp(`^${id}  running for \\d+ s, in another process  echo one; sleep 600`),
  );
  for (const times of [1, 2]) {
    expect(await line.here(["jobs", "output", id]), `${times}`).toMatchObject({ code: 0, stdout: "one\n" });
  }
  const following = await line.here(["jobs", "output", id, "--follow"]);
  expect(following.stderr).toContain(`\`handrail jobs output ${id}\` prints its last lines`);
  expect(await line.here(["jobs", "kill", id])).toMatchObject({ code: 0, stdout: `${id} has ended\n` });
  expect((await line.here(["jobs"])).stdout).toContain(`${id}  Killed by SIGTERM, in another process`);
  expect((await line.here(["jobs", "kill", id])).stderr).toContain(`job ${id} has ended: Killed by SIGTERM`);
});
