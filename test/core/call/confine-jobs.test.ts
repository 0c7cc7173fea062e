import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { Command } from "../../../src/core/contract/backend.ts";
import type { Effect } from "../../../src/core/contract/effect.ts";
import type { Job, JobCommand } from "../../../src/core/contract/job.ts";
import type { Json } from "../../../src/core/contract/schema.ts";
import { type ToolContext, defineTool } from "../../../src/core/contract/tool.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { isAlive, until } from "../../support/until.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

type Run = (context: ToolContext) => Promise<unknown>;

/**
 * A toolkit with one tool, which declares the given effects and then does anything: only the confinement can refuse it.
 */
async function world(options: ToolkitOptions = {}) {
  let now: { readonly effects: readonly Effect[]; readonly run: Run } = { effects: [], run: async () => null };
  const doing = defineTool({
    name: "doing",
    description: "Does it.",
    touches: ["exec", "terminal"],
    input: Type.Object({}),
    effects: () => now.effects,
    run: async (_, context) => ((await now.run(context)) ?? null) as Json,
  });
  const folder = await workspace({ "sub/a.txt": "" });
  const toolkit = await toolkitWith({
    workDir: folder,
    tools: [doing],
    preset: "none",
    policy: { autonomy: "full" },
    ...options,
  });
  /** Returns what a model reads of a call with these effects that runs this. */
  const calling = async (effects: readonly Effect[], run: Run) => {
    now = { effects, run };
    // a notice may be attached to it
    const [said = ""] = asText(await toolkit.call({ name: "doing", input: {} })).split("\n[Job ");
    return said;
  };
  return { folder, toolkit, calling };
}

const shell = (script: string): Command["argv"] => ["bash", "-c", script];
const asJob = (script: string): JobCommand => ({ argv: shell(script), lifetime: "toolkit" });
const inBackground = (command: string): Effect => ({ kind: "exec", command, lifetime: "toolkit" });

/** Opens a world in which `script` runs as job 1. */
async function withJob(script: string) {
  const made = await world();
  await made.calling([inBackground(script)], ({ jobs }) =>
    jobs.start({ ...asJob(script), stdin: "pipe" }, script).then(({ id }) => id),
  );
  const job = await made.toolkit.jobs.get("1");
  if (job === undefined) throw new Error("it was not started");
  return { ...made, job };
}

const UNDECLARED = /^Tool error: tool "doing" tried to run a command that this call did not declare: /;

/** A tool without types may ask for it all the same. */
const OUTLIVING: Partial<Command> = { lifetime: "detached", label: "x" };

describe("a tool starts a job", () => {
  test("that it declared, which outlives the call", async () => {
    const { job } = await withJob("exec sleep 1000");
    expect(job).toMatchObject({ id: "1", command: "exec sleep 1000", lifetime: "toolkit", ended: undefined });
    expect(await isAlive(Number(job.process.id))).toBe(true);
  });

  test.each<[string, Effect, Partial<JobCommand>]>([
    ["another command", inBackground("touch other"), {}],
    ["the same in the foreground", { kind: "exec", command: "touch ran" }, {}],
    ["the same detached", { kind: "exec", command: "touch ran", lifetime: "detached" }, {}],
    ["the same as a job, and starts it detached", inBackground("touch ran"), { lifetime: "detached", label: "x" }],
    ["the same, and starts it in another folder", inBackground("touch ran"), { cwd: "sub" }],
    ["the same in another folder", { kind: "exec", command: "touch ran", cwd: "sub", lifetime: "toolkit" }, {}],
    ["the same, and adds a variable", inBackground("touch ran"), { env: { PATH: "/tmp" } }],
    ["the same, and another program runs it", inBackground("touch ran"), { argv: ["env", "bash", "-c", "touch ran"] }],
  ])("but not when it declared %s", async (_, effect, more) => {
    const { folder, calling, toolkit } = await world();
    expect(await calling([effect], ({ jobs }) => jobs.start({ ...asJob("touch ran"), ...more }, "harmless"))).toMatch(
      UNDECLARED,
    );
    expect(await toolkit.jobs.list()).toEqual([]);
    for (const file of ["ran", "sub/ran"]) expect(existsSync(join(folder, file))).toBe(false);
  });

  test("but cannot run a job in the foreground or start an undeclared detached one on the backend", async () => {
    const { calling } = await world();
    expect(await calling([inBackground("true")], ({ backend }) => backend.spawn({ argv: shell("true") }))).toMatch(
      UNDECLARED,
    );
    expect(
      await calling([{ kind: "exec", command: "true", lifetime: "detached" }], ({ backend }) =>
        backend.spawn({ argv: shell("true"), ...OUTLIVING }),
      ),
    ).toBe("Tool error: a command that outlives its call must be started as a job");
  });

  test("but not when its call is over", async () => {
    const { calling, toolkit, folder } = await world();
    let late: ToolContext["jobs"] | undefined;
    await calling([inBackground("touch ran")], async ({ jobs }) => {
      late = jobs;
    });
    await expect(late?.start(asJob("touch ran"), "touch ran")).rejects.toThrow('the call of "doing" has ended');
    await expect(late?.list()).rejects.toThrow('the call of "doing" has ended');
    await expect(late?.get("1")).rejects.toThrow('the call of "doing" has ended');
    expect(await toolkit.jobs.list()).toEqual([]);
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });
});

describe("a tool touches a job", () => {
  const onJob =
    (run: (job: Job) => Promise<unknown>): Run =>
    async ({ jobs }) => {
      const [job] = await jobs.list();
      if (job === undefined) throw new Error("there is no job");
      return run(job);
    };

  test("and writes what it declared, and nothing else", async () => {
    const { calling, job } = await withJob("cat");
    const writing = (text: string) => onJob(({ process }) => process.write(text));
    const declared: Effect = { kind: "terminal", job: "1", types: "harmless\n" };
    const refusal = 'Tool error: tool "doing" tried to write to job 1, which this call did not declare';
    for (const text of ["rm -rf /\n", "harmless", "harmless\n\n", ""])
      expect(await calling([declared], writing(text))).toBe(refusal);
    for (const effect of [
      { ...declared, job: "2" },
      { kind: "terminal", job: "1" },
      { kind: "terminal", types: "harmless\n" },
    ] as const) {
      expect(await calling([effect], writing("harmless\n"))).toBe(refusal);
    }
    expect(await calling([declared], writing("harmless\n"))).toBe("null");
    await until("it has come back", () => job.process.output.kept > 0);
    expect(Buffer.from(await job.process.output.read(0, 100)).toString()).toBe("harmless\n");
  });

  test("and stops it, or ends its stdin, only when it named it", async () => {
    const { calling, job } = await withJob("cat; exec sleep 1000");
    const pid = Number(job.process.id);
    for (const effects of [[], [{ kind: "terminal", job: "2" }], [{ kind: "terminal" }]] as const) {
      expect(
        await calling(
          effects,
          onJob(({ process }) => process.kill()),
        ),
      ).toMatch(/tried to stop job 1, which this call did not declare$/);
      expect(
        await calling(
          effects,
          onJob(({ process }) => process.endInput()),
        ),
      ).toMatch(/tried to end the input of job 1/);
    }
    expect(await isAlive(pid)).toBe(true);
    expect(
      await calling(
        [{ kind: "terminal", job: "1" }],
        onJob(({ process }) => process.endInput()),
      ),
    ).toBe("null");
    expect(
      await calling(
        [{ kind: "terminal", job: "1" }],
        onJob(({ process }) => process.kill()),
      ),
    ).toBe("null");
    expect(await isAlive(pid)).toBe(false);
  });

  test("not through objects of an earlier call", async () => {
    const { calling, job } = await withJob("cat");
    let kept: Job | undefined;
    await calling(
      [{ kind: "terminal", job: "1", types: "x" }],
      onJob(async (one) => void (kept = one)),
    );
    await expect(kept?.process.write("x")).rejects.toThrow('the call of "doing" has ended');
    await expect(kept?.process.endInput()).rejects.toThrow('the call of "doing" has ended');
    await expect(kept?.process.kill()).rejects.toThrow('the call of "doing" has ended');
    expect(await isAlive(Number(job.process.id))).toBe(true);
  });

  test("and reads its output and exit status without more, but can change nothing", async () => {
    const { calling, folder } = await withJob("echo hello; while [ ! -e go ]; do sleep 0.01; done; exit 3");
    const seen = await calling(
      [],
      onJob(async (job) => {
        await job.process.output.grown(5);
        const before = job.ended ?? "running";
        await writeFile(join(folder, "go"), "");
        const exit = await job.process.exit;
        return {
          before,
          exit,
          ended: job.ended?.exit,
          text: Buffer.from(await job.process.output.read(0, 99)).toString(),
          fields: Object.keys(job),
        };
      }),
    );
    expect(JSON.parse(seen)).toEqual({
      before: "running",
      exit: { how: "exited", code: 3 },
      ended: { how: "exited", code: 3 },
      text: "hello\n",
      fields: ["id", "call", "command", "startedMs", "lifetime", "ended", "process"],
    });
  });
});

test("a stopped call does not stop the job that it started", async () => {
  const controller = new AbortController();
  let started = 0;
  const tool = defineTool({
    name: "starting",
    description: "Starts a job and stays.",
    touches: ["exec"],
    input: Type.Object({}),
    effects: () => [inBackground("exec sleep 1000")],
    async run(_, { jobs, signal }) {
      started = Number((await jobs.start(asJob("exec sleep 1000"), "exec sleep 1000")).process.id);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      throw new Error("stopped");
    },
  });
  const own = await toolkitWith({
    workDir: await workspace(),
    tools: [tool],
    preset: "none",
    policy: { autonomy: "full" },
  });
  const call = own.call({ name: "starting", input: {} }, { signal: controller.signal });
  await until("the job runs", () => started > 0);
  controller.abort();
  expect(await call).toMatchObject({ status: "aborted" });
  expect(await isAlive(started)).toBe(true);
  await own.close();
  expect(await isAlive(started)).toBe(false);
});
