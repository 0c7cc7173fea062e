import { afterAll, describe, expect, test } from "vitest";
import { besidePane } from "../../src/backends/tmux/beside-pane.ts";
import type { Backend } from "../../src/contract/backend.ts";
import type { Decision, Verdict } from "../../src/contract/decision.ts";
import type { Effect } from "../../src/contract/effect.ts";
import type { Autonomy, Policy } from "../../src/contract/policy.ts";
import { defineTool } from "../../src/contract/tool.ts";
import { createPolicy } from "../../src/policy/policy.ts";
import type { PolicySettings } from "../../src/policy/settings.ts";
import { asksForLeave, asksForSecret, halfTyped, isHarmless, scriptTyped } from "../../src/policy/typed.ts";
import { until } from "../support/until.ts";
import { layout } from "../support/layout.ts";
import { testServer, tmuxProblem } from "../backends/tmux-server.ts";

type Typing = Omit<Extract<Effect, { kind: "terminal" }>, "kind">;

const tool = defineTool({
  name: "typing",
  description: "",
  input: {},
  touches: ["terminal"],
  effects: () => [],
  run: async () => null,
});

/** By a policy of its own that knows of nothing before, unless one is given. */
async function judged(backend: Backend, effect: Typing, policy: PolicySettings | Policy = {}): Promise<Decision> {
  const call = {
    request: { id: "1", name: "typing", input: {}, thread: "main" },
    tool,
    input: {},
    effects: [{ kind: "terminal", ...effect } as const],
  };
  const decision = await (typeof policy === "function" ? policy : createPolicy(policy, backend))(call);
  if (decision === undefined) throw new Error("nothing was decided");
  return decision;
}

const plain = (await (await layout()).toolkit()).backend;

describe("what is typed is judged like the command it would be", () => {
  test.each<[Typing, Verdict, Verdict, string]>([
    // what is typed                                    supervised full  rule
    [{ types: "ls\n" }, "ask", "allow", "typing"],
    [{ types: "ls" }, "ask", "allow", "typing"],
    [{ types: "ls", keys: ["Enter"] }, "ask", "allow", "typing"],
    [{ types: "yes", keys: ["Enter"] }, "ask", "allow", "require_approval_for_medium_risk"],
    [{ types: "git push\n" }, "ask", "allow", "require_approval_for_medium_risk"],
    [{ types: "it's fine\n" }, "ask", "allow", "high_risk"],
    [{ types: "shutdown -h now\n" }, "deny", "deny", "block_high_risk_commands"],
    [{ types: "shutdown -h now", keys: ["C-m"] }, "deny", "deny", "block_high_risk_commands"],
    [{ types: "shutdown -h now" }, "deny", "deny", "block_high_risk_commands"],
    [{ types: "ls\rshutdown\r" }, "deny", "deny", "block_high_risk_commands"],
    [{ types: "ls; sudo reboot\n" }, "deny", "deny", "block_high_risk_commands"],
    [{ keys: [...Array.from("shutdown"), "Enter"] }, "deny", "deny", "block_high_risk_commands"],
    [{ keys: [...Array.from("shutdown"), "Space", "n", "o", "w", "C-j"] }, "deny", "deny", "block_high_risk_commands"],
    [{ keys: [...Array.from("shutdown"), "SPACE", "n", "o", "w", "^M"] }, "deny", "deny", "block_high_risk_commands"],
    [{ keys: ["l", "s", "^m", ...Array.from("reboot"), "kpEnter"] }, "deny", "deny", "block_high_risk_commands"],
    [{ keys: ["r", "m", "space", "kp-", "r", "f", "Space", "KP/", "enter"] }, "deny", "deny", "workspace_only"],
    [{ types: ":!reboot\n" }, "deny", "deny", "block_high_risk_commands"], // vim
    [{ types: "\\! reboot\n" }, "deny", "deny", "block_high_risk_commands"], // psql
    [{ types: "!reb\n" }, "ask", "ask", "recalled_line"], // bash, zsh
    [{ types: "ls; !!\n" }, "ask", "ask", "recalled_line"],
    [{ types: "^ls^reboot\n" }, "ask", "ask", "recalled_line"],
    [{ job: "1", types: "!reb\n" }, "ask", "allow", "require_approval_for_medium_risk"],
    [{ types: "rm -rf /\n" }, "deny", "deny", "workspace_only"],
    [{ types: "rm -rf / '\n" }, "deny", "deny", "workspace_only"],
    [{ types: "cat /etc/shadow\n" }, "deny", "deny", "forbidden_paths"],
    [{ job: "1", types: "y\n" }, "ask", "allow", "require_approval_for_medium_risk"],
    [{ job: "1", types: "shutdown\n" }, "deny", "deny", "block_high_risk_commands"],
  ])("%j: %s, in full autonomy %s", async (effect, supervised, full, rule) => {
    expect(await judged(plain, effect)).toMatchObject({ verdict: supervised, rule });
    expect((await judged(plain, effect, { autonomy: "full" })).verdict).toBe(full);
    expect(await judged(plain, effect, { autonomy: "readonly" })).toMatchObject({
      verdict: "deny",
      reason: "Read-only mode: cannot perform 'type into a terminal'",
    });
  });

  test("people's rules hold for it", async () => {
    const commands = { deny: ["git push"], ask: ["ls"] };
    for (const autonomy of ["supervised", "full"] as const) {
      expect((await judged(plain, { types: "git push\n" }, { autonomy, commands })).verdict).toBe("deny");
      expect((await judged(plain, { types: "git push 'x\n" }, { autonomy, commands })).verdict).toBe("deny");
      expect((await judged(plain, { types: "ls\n" }, { autonomy, commands })).verdict).toBe("ask");
    }
    const allow = { commands: { allow: ["ls"] } };
    expect(await judged(plain, { types: "npm ci\n" }, { autonomy: "full", ...allow })).toMatchObject({
      rule: "allowlist",
    });
    expect((await judged(plain, { types: "ls\n" }, allow)).verdict).toBe("ask"); // a program may read it that is no shell
  });

  test("where every command is asked about, what is typed is too", async () => {
    const policy = { autonomy: "full", shellConfirm: true } as const;
    expect(await judged(plain, { types: "ls\n" }, policy)).toMatchObject({ verdict: "ask", rule: "shell_confirm" });
  });

  test("a refusal says that it is one of a command, and a question is about these very keys", async () => {
    expect((await judged(plain, { types: "shutdown\n" })).reason).toMatch(
      /^High-risk commands are blocked: `shutdown` .* \(what is typed is judged like a command\)$/,
    );
  });

  test("a question cannot be answered for longer than once: the same keys say something else at another prompt", async () => {
    for (const effect of [{ types: "ls\n" }, { keys: ["y", "Enter"] }, { job: "1", types: "y\n" }]) {
      expect((await judged(plain, effect)).scopes).toEqual([]);
    }
  });
});

describe("keys alone", () => {
  const harmless = "C-c C-z C-l C-u Escape q Up Down Left Right Home End PageUp PgDn ppage ^C c-h BSpace".split(" ");
  const others = "Enter C-m C-j ^M KPEnter Space y n Y 1 Q C-d C-\\ F10 M-x DC C-r Tab BTab C-i S-Up C-o".split(" ");

  test("that start and confirm nothing pass; others are asked about", async () => {
    for (const key of harmless) expect([key, (await judged(plain, { keys: [key] })).verdict]).toEqual([key, "allow"]);
    for (const key of others) expect([key, (await judged(plain, { keys: [key] })).verdict]).toEqual([key, "ask"]);
    expect((await judged(plain, { keys: ["C-c", "Up", "Enter"] })).verdict).toBe("ask");
    expect((await judged(plain, { types: "", keys: ["C-c"] })).verdict).toBe("ask");
    for (const key of [...harmless, ...others]) {
      expect((await judged(plain, { keys: [key] }, { autonomy: "readonly" })).verdict).toBe("deny");
      expect((await judged(plain, { keys: [key] }, { autonomy: "full" })).verdict).toBe("allow");
    }
  });

  test("Escape twice is none, be it in two calls: it completes words, which runs programs", async () => {
    expect((await judged(plain, { keys: ["Escape", "Up", "Escape"] })).verdict).toBe("allow");
    expect((await judged(plain, { keys: ["Up", "Escape", "C-["] })).verdict).toBe("ask");
    const policy = createPolicy({}, plain);
    expect((await judged(plain, { keys: ["Up", "Escape"] }, policy)).verdict).toBe("allow");
    expect((await judged(plain, { keys: ["Escape"] }, policy)).verdict).toBe("ask");
    expect((await judged(plain, { keys: ["C-c"] }, policy)).verdict).toBe("allow");
    expect((await judged(plain, { keys: ["Escape"] }, policy)).verdict).toBe("allow");
  });

  test("to a job are none: it reads what they stand for", async () => {
    expect((await judged(plain, { job: "1", keys: ["C-c"] })).verdict).toBe("ask");
  });

  test("interrupting is of medium risk, moving about of low", async () => {
    expect(await judged(plain, { keys: ["C-c"] })).toMatchObject({ risk: "medium", rule: "harmless_keys" });
    expect(await judged(plain, { keys: ["Down"] })).toMatchObject({ risk: "low", rule: "harmless_keys" });
  });
});

test("what is typed is read as a shell would", () => {
  expect(scriptTyped({ types: "a\r\nb\rc", keys: ["Space", "ä", "Enter", "Up", "C-j"] })).toBe("a\nb\nc ä\n\n");
  expect(scriptTyped({})).toBe("");
  expect(isHarmless({ keys: ["C-c"] })).toBe(true);
  expect(isHarmless({ types: "", keys: ["C-c"] })).toBe(false);
});

test("a line may be half typed from any of its words on, and go on from the lines before", () => {
  expect(halfTyped("old output\nme@host:~$ rm -rf\n\n")).toEqual(["me@host:~$ rm -rf", "rm -rf", "-rf"]);
  expect(halfTyped("$ rm -rf '\n> a\nquote> b")).toContain("rm -rf '\na\nb");
  expect(halfTyped("")).toEqual([]);
});

test.each<[string, boolean]>([
  ["[sudo] password for me:", true],
  ["Password:", true],
  ["Enter passphrase for key '/home/me/.ssh/id_ed25519':", true],
  ["root@host's password:", true],
  ["Verification code:", true],
  ["Passwort:", true],
  ["PIN for card:", true],
  ["secret?", true],
  ["old\nPassword:\n\n\n", true],
  ["Password:\n$ ls", false],
  ["$ grep password: a.txt", false],
  [" Please enter the passphrase\n  Passphrase: ____\n\n   <OK>      <Cancel>\n", true],
  [" Delete it?\n\n   <OK>      <Cancel>\n", false],
  ["me@host:~$", false],
  ["", false],
])("the screen %j asks for a secret: %s", (screen, asks) => {
  expect(asksForSecret(screen)).toBe(asks);
});

test.each<[string, boolean]>([
  ["Run: npm test [y/N/s/a]", true],
  ["Type: ls\\n [y/N]", true],
  ["Run in the background: x [y/N] y", true],
  ["s (this session) allows:\n  npm test\n [y/N/s]", true],
  ["Do you want to continue? [Y/n]", false],
  ["Remove it? [y/N]", false],
  ["Run: npm test [y/N/s/a] y\n$ ls", false],
])("the screen %j asks for leave: %s", (screen, asks) => {
  expect(asksForLeave(screen)).toBe(asks);
});

const problem = tmuxProblem();
if (problem !== undefined && process.env["CI"] === "true") throw new Error(problem);

describe.skipIf(problem !== undefined)(`in a real pane${problem === undefined ? "" : ` (${problem})`}`, () => {
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

  test("what is typed in pieces is judged as the whole line, whoever typed the first of them", async () => {
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
      "judged like a command together with what stands there already",
    );
    await clear();
  });

  test("a password prompt is asked about in full autonomy too, once at a time", async () => {
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

  test("a question says what stands in the pane, but not in one of a person's", async () => {
    await until("there is a prompt", async () => /[$#]$/.test(await screen()));
    await type("echo seen");
    const asked = await judged(await at(), { keys: ["Enter"] });
    expect(asked.reason).toMatch(/^Typing into a terminal requires approval\. The last line there is ".*echo seen"$/);
    await server.run("send-keys", "-t", "=keep:", "-l", "of-a-person");
    await until("it is seen", async () =>
      (await server.run("capture-pane", "-p", "-t", "=keep:")).includes("of-a-person"),
    );
    const other = await judged(await at(), { keys: ["Enter"], pane: "keep" });
    expect(other.reason).toBe(
      "Typing into a terminal requires approval; pane keep: it is not one that was opened for commands",
    );
    await clear();
  });

  test("a question of ours is not answered, in any autonomy", async () => {
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

  test("a person's own pane, beside which we run, may be looked at, and moved about in; what may stop something there is asked about", async () => {
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
    expect((await judged(beside, { keys: ["C-c"] })).reason).toContain("be it this very agent");
  });

  test("another pane of a person is looked at and typed into only with leave", async () => {
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
