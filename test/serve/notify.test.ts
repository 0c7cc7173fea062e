import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sendNotice } from "../../src/serve/notify.ts";
import type { Notice } from "../../src/core/contract/notice.ts";
import { commandLine } from "../cli/program.ts";
import { until } from "../support/until.ts";
import { temporaryFolder, toolkitWith } from "../support/workspace.ts";

const NOTICE: Notice = {
  ...{ about: "question", title: "bash waits for your answer (risk high)", text: "Run: rm -r build" },
  ...{ thread: "main", question: "q1", risk: "high" },
};

/** A program of the user's that writes down how it was run. */
async function recording(then = "") {
  const folder = temporaryFolder();
  const program = join(folder, "tell");
  await writeFile(
    program,
    `#!/bin/sh\n{ pwd; printf '%s\\n' "$@"; cat; } > "${folder}/told.new"\n${then}\nmv "${folder}/told.new" "${folder}/told"\n`,
  );
  await chmod(program, 0o755);
  const told = () => readFile(join(folder, "told"), "utf8").catch(() => "");
  return { program, told };
}

describe("the program of the user", () => {
  test("gets the title as its last argument, the notice on stdin, no shell, and the home folder", async () => {
    const { program, told } = await recording();
    const failures: string[] = [];
    await sendNotice(NOTICE, { program: [program, "$HOME; echo"], onFailure: (text) => failures.push(text) });
    const [folder, ...lines] = (await told()).trimEnd().split("\n");
    expect(folder).toBe(process.env["HOME"]);
    expect(lines.slice(0, 2)).toEqual(["$HOME; echo", NOTICE.title]);
    expect(JSON.parse(lines[2] ?? "")).toEqual(NOTICE);
    expect(failures).toEqual([]);
  });

  test.for([
    ["does not exist", ["/nowhere/tell"], /cannot be run/],
    ["fails", ["false"], /failed \(exit code 1\)/],
  ] as const)("that %s is reported", async ([, program, reason]) => {
    const failures: string[] = [];
    await sendNotice(NOTICE, { program, onFailure: (text) => failures.push(text) });
    expect(failures).toEqual([expect.stringMatching(reason)]);
  });

  test("is run once for a question that nobody here can answer; its text is masked", async () => {
    const notices: Notice[] = [];
    const toolkit = await toolkitWith({
      ...{ policy: { shellConfirm: true }, park: { afterMs: 60_000 }, mask: { values: ["very-secret-value"] } },
      onWaiting: (notice) => notices.push(notice),
    });
    const bash = (command: string, thread: string) => toolkit.call({ name: "bash", input: { command }, thread });
    await bash("echo one", "night"); // parked at once: nobody attends
    const [parked] = await toolkit.store.questions();
    const title = "bash waits for your answer (risk low)";
    const { question } = parked ?? {};
    expect(notices).toEqual([
      { about: "question", title, text: "Run: echo one", thread: "night", question, risk: "low" },
    ]);
    const leave = await toolkit.store.attend();
    const waiting = bash("echo very-secret-value", "main"); // a secret is not parked: it waits
    await until("it is told", () => notices.length === 2);
    expect(notices[1]?.text).toBe("Run: echo [masked: secret]");
    await toolkit.store.answer(notices[1]?.question ?? "", { answer: "refuse" }, "test");
    await waiting;
    await leave();

    const here = await toolkitWith({
      ...{ policy: { shellConfirm: true }, approver: async () => ({ answer: "once" }) },
      onWaiting: (notice) => notices.push(notice),
    });
    await here.call({ name: "bash", input: { command: "echo one" } });
    expect(notices).toHaveLength(2); // it was answered here
  });

  test("of the configuration runs when a call is parked", { timeout: 60_000 }, async () => {
    const line = await commandLine();
    const { program, told } = await recording();
    await mkdir(join(line.configHome, "handrail"), { recursive: true });
    const config = `policy: { shell_confirm: true, sandbox: off }\npark: now\nnotify: [${program}]\n`;
    await writeFile(join(line.configHome, "handrail", "config.yaml"), config);
    await line.run(["call", "bash", '{"command":"echo one"}']);
    await until("it was run", async () => (await told()) !== "");
    expect(await told()).toMatch(/\nbash waits for your answer \(risk low\)\n\{.*"text":"Run: echo one"/);
  });
});
