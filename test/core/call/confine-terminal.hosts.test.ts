import { afterAll, describe, expect, test } from "vitest";
import type { Backend, Process } from "../../../src/core/contract/backend.ts";
import type { Effect } from "../../../src/core/contract/effect.ts";
import type { ToolContext } from "../../../src/core/contract/tool.ts";
import { asText } from "../../../src/core/call/result.ts";
import { testServer, tmuxProblem } from "../../machine/tmux-server.ts";
import { mustBeHere } from "../../support/here.ts";
import { terminalTools } from "../../support/terminal-tools.ts";
import { isAlive } from "../../support/until.ts";
import { type Run, SLEEPS, doingTool, shell } from "./doing.ts";

const problem = tmuxProblem();
mustBeHere("tmux", problem);

describe.skipIf(problem !== undefined)(
  `a call in a live terminal${problem === undefined ? "" : ` (${problem})`}`,
  () => {
    const server = testServer();
    let backend: Backend;
    const closing: (() => Promise<void>)[] = [];
    afterAll(async () => {
      for (const close of closing) await close();
    });

    async function world() {
      backend ??= await server.open({ session: "confined", shell: "sh" });
      const { tool, set } = doingTool();
      const tools = terminalTools(backend, { tools: [tool] });
      closing.push(tools.close);
      const calling = async (effects: readonly Effect[], run: Run) => {
        set(effects, run);
        return asText(await tools.call("doing", {})).split("\n[Job ")[0];
      };
      return { calling, jobs: tools.host.jobs };
    }

    const typing =
      (keys: Parameters<NonNullable<Backend["terminal"]>["sendKeys"]>[0]): Run =>
      async (context) => {
        await context.backend.terminal?.sendKeys(keys);
      };

    test("types what it declared, into the pane it declared, and nothing else", async () => {
      const { calling } = await world();
      const declared: Effect = { kind: "terminal", types: "true", keys: ["Enter"] };
      expect(await calling([declared], typing({ text: "true", enter: true }))).toBe("null");
      expect(await calling([declared], typing({ text: "true", keys: ["Enter"] }))).toBe("null");
      for (const keys of [
        { text: "false", enter: true },
        { text: "true" },
        { enter: true },
        { text: "true", keys: ["Enter"], enter: true },
        { text: "true", enter: true, target: "%0" },
      ]) {
        expect(await calling([declared], typing(keys))).toMatch(
          /^Tool error: tool "doing" tried to type into .*, which this call did not declare$/,
        );
      }
      for (const effect of [{ kind: "terminal" }, { ...declared, job: "1" }, { ...declared, pane: "%0" }] as const) {
        expect(await calling([effect], typing({ text: "true", enter: true }))).toMatch(
          /tried to type into the terminal/,
        );
      }
    });

    test("looks at the pane it declared, and at those of its own commands", async () => {
      const { calling } = await world();
      const looking =
        (target?: string): Run =>
        async (context) =>
          (await context.backend.terminal?.capture(target === undefined ? {} : { target }))?.pane;
      expect(await calling([{ kind: "terminal" }], looking())).toMatch(/^%\d+$/);
      expect(await calling([], looking())).toMatch(/tried to look at the terminal, which this call did not declare/);
      expect(await calling([{ kind: "terminal" }], looking("%0"))).toMatch(/tried to look at pane %0/);
      expect(await calling([{ kind: "terminal", pane: "%0" }], looking("%0"))).toBe("%0");
      const seen = await calling([{ kind: "exec", command: SLEEPS }], async (context) => {
        const { place = "" } = await context.backend.spawn({ argv: shell(SLEEPS) });
        return looking(place.replace("pane ", ""))(context);
      });
      expect(seen).toMatch(/^%\d+$/);
    });

    test("when a name means another pane by then, it uses the one that was judged", async () => {
      const { calling } = await world();
      await server.run("new-session", "-d", "-s", "named", "sleep 3600");
      const first = await server.run("display-message", "-p", "-t", "=named:", "#{pane_id}");
      const done = await calling([{ kind: "terminal", pane: "named", types: "typed" }], async ({ backend: own }) => {
        await server.run("split-window", "-t", "=named:", "sleep 3600"); // a person uses that one now
        const looked = await own.terminal?.capture({ target: "named" });
        const typed = await own.terminal?.sendKeys({ target: "named", text: "typed" });
        return `${looked?.pane} ${typed?.pane}`;
      });
      expect(done).toBe(`${first} ${first}`);
      expect(await server.run("display-message", "-p", "-t", "named", "#{pane_id}")).not.toBe(first);
      await server.run("kill-session", "-t", "=named");
      expect(
        await calling([{ kind: "terminal", pane: "named" }], async ({ backend: own }) =>
          own.terminal?.capture({ target: "named" }),
        ),
      ).toMatch(/^Tool error: there is no tmux pane "named"/);
    });

    test("dispatches the command that it declared as detached", async () => {
      const { calling } = await world();
      const dispatching: Run = async ({ backend: own }) =>
        (await own.terminal?.dispatch({ argv: shell("true") }))?.pane;
      expect(await calling([{ kind: "exec", command: "true", lifetime: "detached" }], dispatching)).toMatch(/^%\d+$/);
      for (const effect of [
        { kind: "exec", command: "true" },
        { kind: "exec", command: "true", lifetime: "toolkit" },
        { kind: "exec", command: "false", lifetime: "detached" },
        { kind: "terminal", types: "true\n" },
      ] as const) {
        expect(await calling([effect], dispatching)).toMatch(
          /tried to run a command that this call did not declare: true$/,
        );
      }
    });

    test("has no access after its end", async () => {
      const { calling } = await world();
      let kept: ToolContext["backend"]["terminal"];
      let jobs: ToolContext["jobs"] | undefined;
      let process: Process | undefined;
      await calling([{ kind: "terminal" }, { kind: "exec", command: SLEEPS }], async (context) => {
        kept = context.backend.terminal;
        ({ jobs } = context);
        process = await context.backend.spawn({ argv: shell(SLEEPS) });
      });
      await expect(kept?.capture()).rejects.toThrow('the call of "doing" has ended');
      await expect(kept?.sendKeys({ enter: true })).rejects.toThrow('the call of "doing" has ended');
      if (process === undefined) throw new Error("it was not started");
      await expect(jobs?.adopt(process, SLEEPS)).rejects.toThrow('the call of "doing" has ended');
      expect(await isAlive(Number(process.id))).toBe(false);
    });

    test("turns a process that it started into a job, and no other", async () => {
      const { calling, jobs } = await world();
      const exec: Effect = { kind: "exec", command: SLEEPS };
      const id = await calling([exec], async (context) => {
        const process = await context.backend.spawn({ argv: shell(SLEEPS) });
        return (await context.jobs.adopt(process, SLEEPS)).id;
      });
      expect(id).toBe("1");
      const job = await jobs.get("1");
      expect(job).toMatchObject({
        command: SLEEPS,
        ended: undefined,
        process: { place: expect.stringMatching(/^pane %/) },
      });
      expect(await isAlive(Number(job?.process.id))).toBe(true);
      const again = await calling([exec], async (context) => {
        if (job === undefined) throw new Error("there is no job");
        return context.jobs.adopt(job.process, SLEEPS);
      });
      expect(again).toMatch(/tried to make a job of a process that this call did not start in a live terminal$/);
      await job?.process.kill();
    });
  },
);
