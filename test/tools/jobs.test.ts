import { existsSync, readdirSync, renameSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { ActivityEvent } from "../../src/core/contract/activity.ts";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import { defineTool } from "../../src/core/contract/tool.ts";
import { asText } from "../../src/core/call/result.ts";
import { createOutputLog } from "../../src/core/output/log.ts";
import { DEFAULT_LIMIT } from "../../src/core/output/truncate.ts";
import { describeCall } from "../../src/policy/describe.ts";
import { bash } from "../../src/tools/bash.ts";
import { jobs } from "../../src/tools/jobs.ts";
import { shownTail } from "../../src/tools/shared/command-output.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";
import { type Tools, toolsOn } from "./tools.ts";

/** Starts a job; resolves to its id. */
async function start(
  { call }: Pick<Tools, "call">,
  command: string,
  more: object = { background: true },
): Promise<string> {
  const result = await call("bash", { command, ...more });
  if (result.status !== "ok") throw new Error(asText(result));
  return (result.data as { job: string }).job;
}

const pidIn = async (folder: string, name: string) => {
  await until(
    `${name} is there`,
    async () => existsSync(join(folder, name)) && (await readFile(join(folder, name), "utf8")).endsWith("\n"),
  );
  return Number(await readFile(join(folder, name), "utf8"));
};

describe.concurrent("a command in the background", () => {
  test("is started, and the call ends", async () => {
    const tools = await toolsOn();
    const result = await tools.call("bash", { command: "echo $$ >shell.pid; exec sleep 1000", background: true });
    const pid = await pidIn(tools.folder, "shell.pid");
    expect(result).toMatchObject({
      status: "ok",
      data: { job: "1", process: String(pid), lifetime: "toolkit", output: "output://job-1" },
    });
    expect(asText(result)).toBe(
      `Job 1 was started (process ${pid}). A later result reports its end. Its output so far is always in output://job-1. ` +
        "Use jobs to wait for it, write to it or stop it.",
    );
    expect(await isAlive(pid)).toBe(true);
    await tools.toolkit.close();
    expect(await isAlive(pid)).toBe(false);
  });

  test("has a timeout only if one is given", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "sleep 1000", { background: true, timeout: 0.3 });
    expect(await tools.text("jobs", { action: "wait", id, timeout: 20 })).toMatch(
      /^\(no new output\)\n\[Job 1: Stopped at its timeout after \d+\.\d s\.\]$/,
    );
  });

  test("is read and searched like a file, while it runs and after", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "seq 5; while [ ! -e go ]; do sleep 0.01; done; echo needle");
    await tools.text("jobs", { action: "output", id, follow: true });
    expect(await tools.text("read", { path: `output://job-${id}`, offset: 4 })).toMatch(
      /^4\n5\n\n?\[Showing lines 4-5 of 5\.\]$/,
    );
    await writeFile(join(tools.folder, "go"), "");
    await tools.text("jobs", { action: "wait", id });
    expect(await tools.text("grep", { pattern: "need", path: `output://job-${id}` })).toContain("needle");
    expect(await tools.text("read", { path: "output://job-77" })).toMatch(/^Tool error: /);
  });

  test("above the limit is refused, with the jobs to stop", async () => {
    const tools = await toolsOn();
    const results = await Promise.all(
      Array.from({ length: 40 }, () => tools.call("bash", { command: "exec sleep 1000", background: true })),
    );
    expect(results.filter(({ status }) => status === "ok")).toHaveLength(32);
    expect(await tools.text("bash", { command: "exec sleep 1000", background: true })).toMatch(
      /^Tool error: 32 jobs are running, which is the limit\nStop one first: 1, 2, .*, 32\.$/,
    );
    await tools.text("jobs", { action: "kill", id: "7" });
    expect(await tools.call("bash", { command: "exec sleep 1000", background: true })).toMatchObject({
      data: { job: "33" },
    });
  });

  test("is refused when it would end with its call", async () => {
    const tools = await toolsOn({}, { lifetime: "call" });
    expect(await tools.text("bash", { command: "touch ran", background: true })).toBe(
      "Tool error: a job of this command would end with the one call that it makes\n" +
        'Start it with "detached": true (`handrail jobs` shows and stops it), or use a longer session, such as `handrail mcp`.',
    );
    expect(existsSync(join(tools.folder, "ran"))).toBe(false);
  });

  test("cannot be detached with a timeout", async () => {
    const tools = await toolsOn();
    expect(await tools.text("bash", { command: "true", detached: true, timeout: 5 })).toMatch(
      /^Tool error: a detached command takes no timeout: .*\nOmit timeout, /,
    );
  });
});

describe.concurrent("the jobs tool", () => {
  test("lists running and ended jobs", async () => {
    const tools = await toolsOn();
    expect(await tools.text("jobs", { action: "list" })).toBe("(no jobs)");
    expect(await tools.text("jobs", "list")).toBe("(no jobs)");
    await start(tools, "echo hello\n  sleep 1000");
    const second = await start(tools, "exit 3");
    await tools.text("jobs", { action: "wait", id: second });
    await tools.text("jobs", { action: "output", id: "1", follow: true });
    expect(await tools.text("jobs", { action: "list" })).toMatch(
      /^1 {2}running for \d+\.\d s, 6B of output {2}echo hello sleep 1000\n2 {2}Exit code 3 after \d+\.\d s, 0B of output {2}exit 3$/,
    );
  });

  test("reports missing and unknown arguments, and lists the jobs", async () => {
    const tools = await toolsOn();
    expect(await tools.text("jobs", { action: "output" })).toBe(
      'Tool error: action "output" needs the id of a job\nThere are no jobs: bash with background: true starts one.',
    );
    await start(tools, "sleep 1000");
    for (const action of ["output", "wait", "write", "kill"]) {
      expect(await tools.text("jobs", { action })).toBe(
        `Tool error: action "${action}" needs the id of a job\nJobs: 1 (sleep 1000).`,
      );
      expect(await tools.text("jobs", { action, id: "9" })).toBe(
        "Tool error: there is no job 9\nJobs: 1 (sleep 1000).",
      );
    }
    expect(await tools.text("jobs", { action: "stop", id: "1" })).toMatch(/^validation error: parameter "action"/);
    expect(await tools.text("jobs", {})).toBe('validation error: missing required parameter "action"');
    for (const wrong of [{ offset: 0 }, { limit: 0 }, { timeout: 0 }, { timeout: 3_601 }, { timeout: "soon" }]) {
      expect(await tools.text("jobs", { action: "output", id: "1", ...wrong })).toMatch(
        /^validation error: parameter "\w+": /,
      );
    }
    expect(await tools.text("jobs", { action: "output", job: 1 })).toMatch(/^\(no new output\)\n\[Job 1: running for/);
  });

  test("shows the output since the last call", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "echo one; while read -r line; do echo $line; done; exit 4");
    const state = /\n\[Job 1: running for \d+\.\d s\.\]$/;
    expect((await tools.text("jobs", { action: "output", id, follow: true })).replace(state, "")).toBe("one");
    expect((await tools.text("jobs", { action: "output", id })).replace(state, "")).toBe("(no new output)");
    await tools.text("jobs", { action: "write", id, text: "two\nthree\n" });
    await until("both are there", async () => (await tools.text("read", { path: "output://job-1" })).includes("three"));
    expect((await tools.text("jobs", { action: "output", id })).replace(state, "")).toBe("two\nthree");
    await tools.text("jobs", { action: "write", id, end: true });
    expect(await tools.text("jobs", { action: "wait", id })).toMatch(
      /^\(no new output\)\n\[Job 1: Exit code 4 after \d+\.\d s\.\]$/,
    );
    expect(await tools.call("jobs", { action: "output", id })).toMatchObject({ data: { id: "1", state: "exited" } });
  });

  test("shows a character whole that was written in two parts, wherever it is split", async () => {
    const tools = await toolsOn();
    for (const text of ["é", "文", "😀"]) {
      const bytes = [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16)}`);
      for (let cut = 1; cut < bytes.length; cut++) {
        const [go, first, last] = [`go${text}${cut}`, bytes.slice(0, cut).join(""), bytes.slice(cut).join("")];
        const id = await start(
          tools,
          `printf 'a${first}'; while [ ! -e ${go} ]; do sleep 0.01; done; printf '${last}b'`,
        );
        const log = (await tools.toolkit.jobs.get(id))!.process.output;
        await until("the first part is there", () => log.kept === 1 + cut);
        expect(await tools.text("jobs", { action: "output", id })).toMatch(/^a\n\[Job/);
        await writeFile(join(tools.folder, go), "");
        await until("all is there", () => log.kept === 2 + bytes.length);
        expect((await tools.text("jobs", { action: "output", id })).split("\n")[0]).toBe(`${text}b`);
      }
    }
  });

  test("shows an unfinished character when the output is complete", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "printf 'a\\xe6\\x96'");
    expect(await tools.text("jobs", { action: "wait", id })).toMatch(/^a\ufffd\n\[Job 1: Exit code 0/);
  });

  test("shows lines by number, any number of times", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "seq 100");
    await tools.text("jobs", { action: "wait", id });
    for (let round = 0; round < 2; round++) {
      expect(await tools.text("jobs", { action: "output", id, offset: 99 })).toBe("99\n100\n[Lines 99-100 of 100.]");
      expect(await tools.text("jobs", { action: "output", id, limit: 2 })).toMatch(
        /^1\n2\n\[Lines 1-2( of 100)?\. Use offset=3 to continue\.\]$/,
      );
      expect(await tools.text("jobs", { action: "output", id, offset: 4, limit: 1 })).toMatch(
        /^4\n\[Lines 4-4( of 100)?\. Use offset=5 to continue\.\]$/,
      );
      expect(await tools.text("jobs", { action: "output", id, offset: 101 })).toBe(
        "[Job 1 has written only 100 lines so far.]",
      );
    }
  });

  test("shows the end of a long output, and names the saved output", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "seq 100000");
    const shown = await tools.text("jobs", { action: "wait", id });
    expect(shown).toMatch(
      /\n100000\n\n\[Output truncated at 2000 lines\. Full output saved to: output:\/\/job-1\]\n\[Job 1: Exit code 0/,
    );
    expect(await tools.text("read", { path: "output://job-1", limit: 1 })).toMatch(/^1\n/);
  });

  test("does not report output that grows meanwhile as lost", async () => {
    const log = createOutputLog({ folder: temporaryFolder() });
    log.write(Buffer.from("one\n"));
    const showing = shownTail(log, DEFAULT_LIMIT, {
      outputs: { save: async () => "x", open: () => Promise.reject(new Error("no")) },
      mask: (text) => text,
    });
    log.write(Buffer.from("two\n"));
    expect(await showing).toBe("one\n");
    await log.dispose();
  });

  test("follows: returns with new output, at the end, at the timeout, or when stopped", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "while read -r line; do echo $line; done");
    const follow = (timeout?: number) =>
      tools.text("jobs", { action: "output", id, follow: true, ...(timeout !== undefined && { timeout }) });
    await tools.text("jobs", { action: "write", id, text: "first\n" });
    await until("it is there", async () => (await tools.toolkit.jobs.get(id))!.process.output.kept > 0);
    expect(await follow()).toMatch(/^first\n/);
    for (const timeout of [0.3, 0.0005, 1.001 / 4])
      expect(await follow(timeout)).toMatch(/^\(no new output\)\n\[Job 1: running/);
    const waiting = follow();
    await tools.text("jobs", { action: "write", id, text: "second\n" });
    expect(await waiting).toMatch(/^second\n/);
    const controller = new AbortController();
    const stopped = tools.toolkit.call(
      { name: "jobs", input: { action: "output", id, follow: true } },
      { signal: controller.signal },
    );
    controller.abort();
    expect(await stopped).toMatchObject({ status: "aborted" });
    const atEnd = follow();
    await tools.text("jobs", { action: "write", id, end: true });
    expect(await atEnd).toMatch(/^\(no new output\)\n\[Job 1: /);
  });

  test("stops following at its timeout, also after a garbage collection", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const tools = await toolsOn();
    const id = await start(tools, "exec sleep 1000");
    const cleaning = setInterval(collect, 20);
    expect(await tools.text("jobs", { action: "output", id, follow: true, timeout: 0.5 })).toMatch(
      /^\(no new output\)/,
    );
    clearInterval(cleaning);
  });

  test("waits for the end, the timeout, or a stop", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 5");
    expect(await tools.text("jobs", { action: "wait", id, timeout: 0.3 })).toMatch(
      /\[Job 1: running for \d+\.\d s\.\]$/,
    );
    const controller = new AbortController();
    const stopped = tools.toolkit.call({ name: "jobs", input: { action: "wait", id } }, { signal: controller.signal });
    controller.abort();
    expect(await stopped).toMatchObject({ status: "aborted" });
    const events: ActivityEvent[] = [];
    const waiting = tools.toolkit.call(
      { name: "jobs", input: { action: "wait", id } },
      { onEvent: (event) => events.push(event) },
    );
    await writeFile(join(tools.folder, "go"), "");
    expect(asText(await waiting)).toMatch(/two\n\[Job 1: Exit code 5 after \d+\.\d s\.\]$/);
    const live = events.map((event) => (event.type === "call.updated" ? (event.update.output ?? "") : "")).join("");
    expect(live).toBe("one\ntwo\n");
    expect(await tools.text("jobs", { action: "wait", id })).toMatch(/^\(no new output\)\n\[Job 1: Exit code 5/);
  });

  test("writes to running jobs with stdin, and to no others", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "cat; echo end");
    expect(await tools.text("jobs", { action: "write", id })).toBe(
      'Tool error: action "write" needs "text", or "end": true',
    );
    expect(await tools.text("jobs", { action: "write", id, text: "é\n" })).toBe("Wrote 3B to job 1.");
    expect(await tools.text("jobs", { action: "write", id, input: "more", end: true })).toMatch(
      /^Wrote 4B to job 1 and closed its stdin\.(?:\n\[Job 1 has ended: .*\])?$/, // it may end at once
    );
    expect(await tools.text("jobs", { action: "wait", id })).toMatch(/^é\nmoreend\n/);
    expect(await tools.text("jobs", { action: "write", id, text: "x" })).toBe(
      "Tool error: job 1 has ended: Exit code 0",
    );
    const detached = await start(tools, "cat", { detached: true });
    expect(await tools.text("jobs", { action: "write", id: detached, text: "x", end: true })).toMatch(/^Wrote 1B/);
    expect(await tools.text("jobs", { action: "wait", id: detached })).toMatch(/^x\n\[Job .*: Exit code 0/);
  });

  test("kills a job with all its processes, and then reports how it ended", async () => {
    const tools = await toolsOn();
    const id = await start(
      tools,
      "setsid sh -c 'echo $$ >away.pid; exec sleep 1000' & echo $$ >shell.pid; echo here; wait",
    );
    const pids = [await pidIn(tools.folder, "away.pid"), await pidIn(tools.folder, "shell.pid")];
    const killed = /\[Job 1: Killed by SIGTERM after \d+\.\d s\.\]$/;
    expect(await tools.text("jobs", { action: "kill", id })).toMatch(/^here\n(Terminated\n)?\[/);
    for (const pid of pids) expect(await isAlive(pid)).toBe(false);
    expect(await tools.text("jobs", { action: "kill", id })).toMatch(killed);
  });

  test("kills a detached job and knows at once that it has ended", async () => {
    const tools = await toolsOn();
    const id = await start(tools, "echo $$ >shell.pid; exec sleep 1000", { detached: true });
    const pid = await pidIn(tools.folder, "shell.pid");
    expect(await tools.call("jobs", { action: "kill", id })).toMatchObject({ data: { id, state: "signaled" } });
    expect(await isAlive(pid)).toBe(false);
    expect(await tools.text("time", {})).not.toContain("has ended");
  });
});

describe.concurrent("the end of a job", () => {
  const ended = async ({ toolkit }: Tools, id: string) => {
    await until("it has ended", async () => (await toolkit.jobs.get(id))?.ended !== undefined);
  };
  const NOTICE =
    /\n\[Job 1 has ended: echo hi; exit 3\. Exit code 3 after \d+\.\d s, 3B of output in output:\/\/job-1\]$/;

  test("is reported once, with the next result of its thread", async () => {
    const tools = await toolsOn();
    const other = (name: string, thread: string) => tools.toolkit.call({ name, input: {}, thread });
    await start(tools, "while [ ! -e go ]; do sleep 0.01; done; echo x");
    const id = "1";
    await writeFile(join(tools.folder, "go"), "");
    await ended(tools, id);
    expect(asText(await other("time", "other"))).not.toContain("has ended");
    expect(await tools.text("time", {})).toMatch(
      /\n\[Job 1 has ended: .* Exit code 0 after .*, 2B of output in output:\/\/job-1\]$/,
    );
    expect(await tools.text("time", {})).not.toContain("has ended");
  });

  test("waits for the next result when a call fails", async () => {
    const tools = await toolsOn();
    await start(tools, "until [ -e go ]; do sleep 0.01; done; echo hi; exit 3");
    await writeFile(join(tools.folder, "go"), "");
    await ended(tools, "1");
    expect(await tools.text("read", { path: "none" })).not.toContain("has ended");
    expect(await tools.text("time", {})).toMatch(/\n\[Job 1 has ended: /);
    expect(await tools.text("time", {})).not.toContain("has ended");
  });

  test("is not reported to a nested call, but to the model's", async () => {
    const nesting = defineTool({
      name: "nesting",
      description: "Calls time.",
      input: Type.Object({}),
      touches: [],
      effects: () => [],
      run: async (_, { call }) => asText(await call("time", {})),
    });
    const tools = await toolsOn({}, { tools: [nesting], preset: "all" });
    await start(tools, "until [ -e go ]; do sleep 0.01; done; echo hi; exit 3");
    await writeFile(join(tools.folder, "go"), "");
    await ended(tools, "1");
    const result = await tools.call("nesting", {});
    expect(result.status === "ok" && result.data).not.toContain("has ended");
    expect(asText(result)).toMatch(/Job 1 has ended/);
  });

  test.each(["wait", "output", "kill"])(
    "is not reported again after the jobs tool has shown it with %s",
    async (action) => {
      const tools = await toolsOn();
      await start(tools, "echo hi; sleep 0.05; exit 3");
      await ended(tools, "1");
      const told = await tools.text("jobs", { action, id: "1" });
      expect(told).toMatch(/\[Job 1: Exit code 3/);
      expect(told).not.toMatch(NOTICE);
      expect(await tools.text("time", {})).not.toContain("has ended");
    },
  );

  test("is an event, as its start is", async () => {
    const tools = await toolsOn();
    const result = await tools.toolkit.call({
      name: "bash",
      input: { command: "exit 3", background: true },
      id: "call-1",
      thread: "t",
    });
    expect(result.status).toBe("ok");
    await ended(tools, "1");
    const events: ActivityEvent[] = [];
    for await (const event of tools.toolkit.store.events({ thread: "t" }))
      if (event.type.startsWith("job.")) events.push(event);
    expect(events).toMatchObject([
      { type: "job.started", call: "call-1", thread: "t", job: "1", command: "exit 3", lifetime: "toolkit" },
      { type: "job.ended", call: "call-1", thread: "t", job: "1", exit: { how: "exited", code: 3 } },
    ]);
  });
});

describe.concurrent("what a person approves", () => {
  const asking = async (answers: readonly ("once" | "session" | "refuse")[]) => {
    const asked: string[] = [];
    const folder = await workspace();
    const rest = [...answers];
    const toolkit = await toolkitWith({
      workDir: folder,
      preset: "all",
      policy: { shellConfirm: true },
      approver: async (call: CheckedCall) => {
        asked.push(describeCall(call));
        return { answer: rest.shift() ?? "refuse" };
      },
    });
    return { folder, asked, toolkit, call: (name: string, input: unknown) => toolkit.call({ name, input }) };
  };

  test("starting a job: the question shows its lifetime; an approval for the foreground does not cover it", async () => {
    const { asked, call, folder } = await asking(["session", "refuse", "refuse"]);
    const command = "echo x >>ran";
    expect(await call("bash", { command })).toMatchObject({ status: "ok" });
    expect(await call("bash", { command })).toMatchObject({ status: "ok" });
    expect(await call("bash", { command, background: true })).toMatchObject({ status: "denied", by: "person" });
    expect(await call("bash", { command, detached: true })).toMatchObject({ status: "denied", by: "person" });
    expect(asked).toEqual([
      `Run: ${command}`,
      `Run in the background: ${command}`,
      `Run in the background, also after this session: ${command}`,
    ]);
    expect(await readFile(join(folder, "ran"), "utf8")).toBe("x\nx\n");
  });

  test("writing to a job: each text is asked about; looking and stopping are not", async () => {
    const { asked, call } = await asking(["once", "once", "refuse"]);
    await call("bash", { command: "cat", background: true });
    expect(await call("jobs", { action: "write", id: "1", text: "yes\n" })).toMatchObject({ status: "ok" });
    expect(await call("jobs", { action: "write", id: "1", text: "no\n" })).toMatchObject({
      status: "denied",
      by: "person",
    });
    expect(asText(await call("jobs", { action: "output", id: "1", follow: true }))).toMatch(/^yes\n\[/);
    expect(await call("jobs", { action: "kill", id: "1" })).toMatchObject({ status: "ok" });
    expect(asked).toEqual(["Run in the background: cat", "Type to job 1: yes\n", "Type to job 1: no\n"]);
  });

  test("nothing in read-only autonomy", async () => {
    const state = temporaryFolder();
    const folder = await workspace();
    const owner = await toolkitWith({
      workDir: folder,
      preset: "all",
      stateDir: state,
      outputOwner: "o",
      policy: { autonomy: "full" },
    });
    const started = await owner.call({ name: "bash", input: { command: "exec sleep 1000", detached: true } });
    const { job: id } = (started.status === "ok" ? started.data : {}) as { job: string };
    const reader = await toolkitWith({
      workDir: folder,
      preset: "all",
      stateDir: state,
      outputOwner: "o",
      policy: { autonomy: "readonly" },
    });
    for (const more of [{ background: true }, { detached: true }]) {
      expect(await reader.call({ name: "bash", input: { command: "touch ran", ...more } })).toMatchObject({
        status: "denied",
        by: "policy",
      });
    }
    expect(await reader.call({ name: "jobs", input: { action: "write", id, text: "x" } })).toMatchObject({
      status: "denied",
      by: "policy",
    });
    expect(asText(await reader.call({ name: "jobs", input: { action: "list" } }))).toMatch(
      new RegExp(`^${id} {2}detached, running`),
    );
    expect(existsSync(join(folder, "ran"))).toBe(false);
    expect(await owner.call({ name: "jobs", input: { action: "kill", id } })).toMatchObject({ status: "ok" });
  });
});

describe.concurrent("a detached job", () => {
  const toolkitOf = async (stateDir: string, workDir: string, outputOwner: string) => {
    const toolkit = await toolkitWith({ stateDir, workDir, outputOwner, preset: "all", policy: { autonomy: "full" } });
    const call = (name: string, input: unknown) => toolkit.call({ name, input });
    return { toolkit, call, text: async (name: string, input: unknown) => asText(await call(name, input)) };
  };

  test("outlives its toolkit, and only a later toolkit of its owner finds it", async () => {
    const [state, folder] = [temporaryFolder(), await workspace()];
    const first = await toolkitOf(state, folder, "one");
    const id = await start(first, "echo hello; echo $$ >shell.pid; while [ ! -e go ]; do sleep 0.02; done; exit 6", {
      detached: true,
    });
    const short = await start(first, "exit 2", { detached: true });
    const pid = await pidIn(folder, "shell.pid");
    await first.text("jobs", { action: "wait", id: short });
    await first.toolkit.close();
    expect(await isAlive(pid)).toBe(true);

    const second = await toolkitOf(state, folder, "one");
    const listed = await second.text("jobs", { action: "list" });
    expect(listed).toMatch(new RegExp(`^${id} {2}detached, running for .*, 6B of output {2}echo hello`));
    expect(listed).toMatch(
      new RegExp(`\\n${short} {2}detached, Exit code 2 after \\d\\.\\d s, 0B of output {2}exit 2$`),
    );
    expect(await second.text("read", { path: `output://job-${id}` })).toMatch(/^hello\n/);
    const stranger = await toolkitOf(state, folder, "two");
    expect(await stranger.text("jobs", { action: "list" })).toBe("(no jobs)");
    expect(await stranger.text("jobs", { action: "kill", id })).toMatch(/^Tool error: there is no job/);
    expect(await stranger.text("read", { path: `output://job-${id}` })).toMatch(/^Tool error: /);

    await writeFile(join(folder, "go"), "");
    expect(await second.text("jobs", { action: "wait", id })).toMatch(/^hello\n\[Job \w+: Exit code 6 after /);
    expect(await isAlive(pid)).toBe(false);
    await stranger.toolkit.close();
  });

  test("is removed a week after its end, when any next one starts", async () => {
    const [state, folder] = [temporaryFolder(), await workspace()];
    const first = await toolkitOf(state, folder, "one");
    const [old, young] = [
      await start(first, "exit 2", { detached: true }),
      await start(first, "exit 3", { detached: true }),
    ];
    for (const id of [old, young]) await first.text("jobs", { action: "wait", id });
    await first.toolkit.close();
    const notes = join(state, "jobs/one", old);
    const noted = readdirSync(notes).find((name) => name.startsWith("exited-2-")) ?? "";
    renameSync(join(notes, noted), join(notes, `exited-2-${Number(noted.slice(9)) - 8 * 86_400}`));
    const second = await toolkitOf(state, folder, "two");
    await start(second, "exit 4", { detached: true });
    expect(existsSync(join(state, "jobs/one", old))).toBe(false);
    expect(existsSync(join(state, "jobs/one", young))).toBe(true);
    await second.toolkit.close();
  });

  test("is stopped by a later toolkit of its owner", async () => {
    const [state, folder] = [temporaryFolder(), await workspace()];
    const first = await toolkitOf(state, folder, "one");
    const id = await start(first, "echo $$ >shell.pid; exec sleep 1000", { detached: true });
    const pid = await pidIn(folder, "shell.pid");
    await first.toolkit.close();
    const second = await toolkitOf(state, folder, "one");
    expect(await second.text("jobs", { action: "kill", id })).toMatch(/\[Job \w+: Killed by SIGTERM after/);
    expect(await isAlive(pid)).toBe(false);
  });

  test("can be started by a toolkit for one call", async () => {
    const tools = await toolsOn({}, { lifetime: "call", tools: [bash(), jobs()] });
    const id = await start(tools, "exec sleep 1000", { detached: true });
    expect(await tools.text("jobs", { action: "list" })).toMatch(new RegExp(`^${id} {2}detached, running`));
    expect(await tools.call("jobs", { action: "kill", id })).toMatchObject({ status: "ok" });
  });
});

test.each([1, "1", "job-1", "output://job-1", "Job 1"])(
  "a job is found by its id as results write it: %s",
  async (id) => {
    const { text } = await toolsOn();
    await text("bash", { command: "echo hello", background: true });
    expect(await text("jobs", { action: "wait", id })).toMatch(/^hello\n\[Job 1: exit/i);
  },
);
