import { afterAll, describe, expect, test } from "vitest";
import { besidePane } from "../../src/machine/tmux/beside-pane.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import type { Autonomy } from "../../src/core/contract/policy.ts";
import { until } from "../support/until.ts";
import { testServer, tmuxProblem } from "../machine/tmux-server.ts";
import { mustBeHere } from "../support/here.ts";
import { type Typing, judged, plain } from "./typing.ts";

const problem = tmuxProblem();
mustBeHere("tmux", problem);

describe.skipIf(problem !== undefined)("in a real pane", () => {
  const server = testServer();
  let backend: Backend;
  const at = async () => (backend ??= await server.open({ session: "judged", shell: "sh" }));
  const screen = async () => (await (await at()).terminal?.capture())?.text.trimEnd() ?? "";
  const type = async (text: string, keys: readonly string[] = []) => {
    await (await at()).terminal?.sendKeys({ text, keys });
    if (text !== "") await until(`${text} is seen`, async () => (await screen()).endsWith(text.trimEnd()));
  };
  const clear = async () => {
    await (await at()).terminal?.sendKeys({ keys: ["C-c"] });
    await until("there is a new prompt", async () => /[$#]$/.test(await screen()));
  };
  const verdict = async (effect: Typing, autonomy: Autonomy = "full") =>
    (await judged(await at(), effect, { autonomy })).verdict;
  afterAll(async () => backend?.close());

  test("text typed in pieces is judged as the whole line, whoever typed the first piece", async () => {
    await until("there is a prompt", async () => /[$#]$/.test(await screen()));
    expect(await verdict({ types: "now\n" })).toBe("allow");
    expect(await verdict({ keys: ["Enter"] })).toBe("allow");
    await type("shut");
    for (const autonomy of ["full", "supervised"] as const) {
      expect(await verdict({ types: "down\n" }, autonomy)).toBe("deny");
      expect(await verdict({ keys: [...Array.from("down"), "Enter"] }, autonomy)).toBe("deny");
    }
    expect(await verdict({ types: "ter\n" })).toBe("allow");
    await clear();
    expect(await verdict({ types: "down\n" })).toBe("allow");
    await type("rm -rf ..");
    expect(await verdict({ types: "/..\n" })).toBe("deny");
    await clear();
    await type("reboot");
    expect((await judged(await at(), { keys: ["Enter"] }, { autonomy: "full" })).reason).toContain(
      "judged like a command together with the text already on the line",
    );
    await clear();
  });

  test("a password prompt is asked about in full autonomy too, each time", async () => {
    const process = await (
      await at()
    ).spawn({
      argv: ["sh", "-c", "printf 'Password: ' >/dev/tty; read -r secret"],
      stdin: "terminal",
    });
    await until("it asks", async () => (await screen()).endsWith("Password:"));
    for (const autonomy of ["full", "supervised"] as const) {
      expect(await judged(await at(), { types: "hunter2\n" }, { autonomy })).toMatchObject({
        verdict: "ask",
        risk: "high",
        rule: "password_prompt",
        scopes: [],
      });
    }
    expect(await verdict({ keys: ["C-c"] }, "supervised")).toBe("allow");
    await process.kill();
  });

  test("a question shows what is in the pane, but not in a person's pane", async () => {
    await until("there is a prompt", async () => /[$#]$/.test(await screen()));
    await type("echo seen");
    const asked = await judged(await at(), { keys: ["Enter"] });
    expect(asked.reason).toMatch(/^Typing into a terminal requires approval\. The last line there is ".*echo seen"$/);
    await server.run("send-keys", "-t", "=keep:", "-l", "of-a-person");
    await until("it is seen", async () =>
      (await server.run("capture-pane", "-p", "-t", "=keep:")).includes("of-a-person"),
    );
    const other = await judged(await at(), { keys: ["Enter"], pane: "keep" });
    expect(other.reason).toBe("Typing into a terminal requires approval; pane keep: it was not opened for commands");
    await clear();
  });

  test("one of our questions is not answered, in any autonomy", async () => {
    const process = await (
      await at()
    ).spawn({
      argv: ["sh", "-c", "printf 'Run: npm test [y/N/s/a] ' >/dev/tty; read -r answer"],
      stdin: "terminal",
    });
    await until("it asks", async () => (await screen()).endsWith("[y/N/s/a]"));
    for (const effect of [{ types: "y\n" }, { keys: ["y"] }, { keys: ["Enter"] }]) {
      expect(await judged(await at(), effect, { autonomy: "full" })).toMatchObject({
        verdict: "deny",
        rule: "approval_question",
      });
    }
    expect(await verdict({ keys: ["C-c"] })).toBe("allow");
    await process.kill();
  });

  test("a person's own pane may be viewed and navigated; stopping something in it needs approval", async () => {
    const id = await server.run("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=keep:", "sh");
    const socketPath = await server.run("display-message", "-p", "#{socket_path}");
    const beside = besidePane(plain, { id, socketPath });
    for (const autonomy of ["supervised", "full"] as const) {
      const asked = autonomy === "full" ? "allow" : "ask";
      const verdictOf = async (effect: Typing) => (await judged(beside, effect, { autonomy })).verdict;
      expect(await verdictOf({})).toBe("allow");
      expect(await verdictOf({ keys: ["PageUp", "Up", "Left"] })).toBe("allow");
      for (const key of ["C-c", "C-z", "Escape", "q", "C-u", "C-l", "BSpace"]) {
        expect([key, await verdictOf({ keys: [key] })]).toEqual([key, asked]);
        expect([key, await verdictOf({ keys: [key], pane: id })]).toEqual([key, asked]);
      }
    }
    expect((await judged(beside, { keys: ["C-c"] })).reason).toContain("even this agent");
  });

  test("another pane of a person is viewed and typed into only with approval", async () => {
    const other = await server.run("list-panes", "-t", "keep", "-F", "#{pane_id}");
    const [own = ""] = (await server.run("list-panes", "-s", "-t", "judged", "-F", "#{pane_id}")).split("\n");
    for (const effect of [{}, { keys: ["C-c"] }] as const) {
      expect(await verdict({ ...effect, pane: other }, "supervised")).toBe("ask");
      expect(await verdict({ ...effect, pane: other }, "full")).toBe("allow");
      expect(await verdict({ ...effect, pane: own }, "supervised")).toBe("allow");
      expect(await verdict(effect, "supervised")).toBe("allow");
    }
    expect(await verdict({ pane: other }, "readonly")).toBe("ask");
    expect(await verdict({ pane: "%999" }, "supervised")).toBe("ask");
  });
});
