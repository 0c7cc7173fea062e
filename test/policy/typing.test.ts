import { describe, expect, test } from "vitest";
import type { Verdict } from "../../src/core/contract/decision.ts";
import { createPolicy } from "../../src/policy/policy.ts";
import {
  asksForLeave,
  asksForSecret,
  halfTyped,
  isHarmless,
  scriptOf,
  strokesOf,
} from "../../src/policy/keystrokes.ts";
import { type Typing, judged, plain } from "./typing.ts";

describe("typed text is judged like the command it would be", () => {
  test.each<[Typing, Verdict, Verdict, string]>([
    // what is typed                                    supervised full  rule
    [{ types: "ls\n" }, "ask", "allow", "typing"],
    [{ types: "ls" }, "ask", "allow", "typing"],
    [{ types: "ls", keys: ["Enter"] }, "ask", "allow", "typing"],
    [{ types: "yes", keys: ["Enter"] }, "ask", "allow", "typing"],
    [{ types: "git push\n" }, "ask", "allow", "require_approval_for_medium_risk"],
    [{ types: "it's fine\n" }, "ask", "allow", "require_approval_for_medium_risk"],
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

  test("people's rules apply to it", async () => {
    const commands = { deny: ["git push"], ask: ["ls"] };
    for (const autonomy of ["supervised", "full"] as const) {
      expect((await judged(plain, { types: "git push\n" }, { autonomy, commands })).verdict).toBe("deny");
      expect((await judged(plain, { types: "git push 'x\n" }, { autonomy, commands })).verdict).toBe("deny");
      expect((await judged(plain, { types: "ls\n" }, { autonomy, commands })).verdict).toBe("ask");
    }
    const allow = { commands: { allow: ["ls"] } };
    const only = { commands: { only: ["ls"] } };
    expect(await judged(plain, { types: "npm ci\n" }, { autonomy: "full", ...only })).toMatchObject({
      rule: "only",
    });
    // a program may read it that is no shell
    expect((await judged(plain, { types: "ls\n" }, allow)).verdict).toBe("ask");
  });

  test("if every command is asked about, typed text is too", async () => {
    const policy = { autonomy: "full", shellConfirm: true } as const;
    expect(await judged(plain, { types: "ls\n" }, policy)).toMatchObject({ verdict: "ask", rule: "shell_confirm" });
  });

  test("a refusal names the command, and a question is about exactly these keys", async () => {
    expect((await judged(plain, { types: "shutdown\n" })).reason).toMatch(
      /^High-risk commands are blocked: `shutdown` .* \(typed text is judged like a command\)$/,
    );
  });

  test("an approval of typed keys applies once: the same keys mean something else at another prompt", async () => {
    for (const effect of [{ types: "ls\n" }, { keys: ["y", "Enter"] }, { job: "1", types: "y\n" }]) {
      expect((await judged(plain, effect)).scopes).toEqual([]);
    }
  });
});

describe("keys alone", () => {
  const harmless = "C-c C-z C-l C-u Escape q Up Down Left Right Home End PageUp PgDn ppage ^C c-h BSpace".split(" ");
  const others = "Enter C-m C-j ^M KPEnter Space y n Y 1 Q C-d C-\\ F10 M-x DC C-r Tab BTab C-i S-Up C-o".split(" ");

  test("that start and confirm nothing are allowed; others are asked about", async () => {
    for (const key of harmless) expect([key, (await judged(plain, { keys: [key] })).verdict]).toEqual([key, "allow"]);
    for (const key of others) expect([key, (await judged(plain, { keys: [key] })).verdict]).toEqual([key, "ask"]);
    expect((await judged(plain, { keys: ["C-c", "Up", "Enter"] })).verdict).toBe("ask");
    expect((await judged(plain, { types: "", keys: ["C-c"] })).verdict).toBe("ask");
    for (const key of [...harmless, ...others]) {
      expect((await judged(plain, { keys: [key] }, { autonomy: "readonly" })).verdict).toBe("deny");
      expect((await judged(plain, { keys: [key] }, { autonomy: "full" })).verdict).toBe("allow");
    }
  });

  test("Escape twice is asked about, also in two calls: it completes words, which runs programs", async () => {
    expect((await judged(plain, { keys: ["Escape", "Up", "Escape"] })).verdict).toBe("allow");
    expect((await judged(plain, { keys: ["Up", "Escape", "C-["] })).verdict).toBe("ask");
    const policy = createPolicy({}, plain);
    expect((await judged(plain, { keys: ["Up", "Escape"] }, policy)).verdict).toBe("allow");
    expect((await judged(plain, { keys: ["Escape"] }, policy)).verdict).toBe("ask");
    expect((await judged(plain, { keys: ["C-c"] }, policy)).verdict).toBe("allow");
    expect((await judged(plain, { keys: ["Escape"] }, policy)).verdict).toBe("allow");
  });

  test("to a job are asked about: it reads them as text", async () => {
    expect((await judged(plain, { job: "1", keys: ["C-c"] })).verdict).toBe("ask");
  });

  test("interrupting is of medium risk, navigating of low risk", async () => {
    expect(await judged(plain, { keys: ["C-c"] })).toMatchObject({ risk: "medium", rule: "harmless_keys" });
    expect(await judged(plain, { keys: ["Down"] })).toMatchObject({ risk: "low", rule: "harmless_keys" });
  });
});

test("text is parsed as a shell would", () => {
  expect(scriptOf(strokesOf({ types: "a\r\nb\rc", keys: ["Space", "ä", "Enter", "Up", "C-j"] }))).toBe("a\nb\nc ä\n\n");
  expect(scriptOf(strokesOf({}))).toBe("");
  expect(isHarmless({ keys: ["C-c"] })).toBe(true);
  expect(isHarmless({ types: "", keys: ["C-c"] })).toBe(false);
});

test("a line may be half typed from any of its words on, and continue earlier lines", () => {
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
