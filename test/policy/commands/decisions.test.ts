// The policy's decisions on commands outside the sandbox: plain, asked about, refused.
import { execFileSync } from "node:child_process";
import { chmod } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { Decision } from "../../../src/core/contract/decision.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { PolicySettings } from "../../../src/policy/policy-settings.ts";
import { type Layout, layout } from "../../support/layout.ts";
import { LONG, TOO_LONG } from "./too-long.ts";

async function judging(
  policy: PolicySettings = {},
): Promise<{ world: Layout; judge: (command: string, cwd?: string) => Promise<Decision> }> {
  const world = await layout();
  const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths, ...policy } });
  return {
    world,
    judge: (command, cwd) => toolkit.judge([{ kind: "exec", command, ...(cwd !== undefined && { cwd }) }]),
  };
}

describe("rules, risk, autonomy", () => {
  const matrix: readonly (readonly [PolicySettings, string, Decision["verdict"], string])[] = [
    [{}, "ls", "allow", "plain"],
    [{}, "npm test", "ask", "require_approval_for_medium_risk"],
    [{}, "sudo ls", "deny", "block_high_risk_commands"],
    [{}, "ls $x", "ask", "not_plain"],
    [{}, "ls --colour", "ask", "not_plain"],
    [{}, "unheard-of", "ask", "require_approval_for_medium_risk"],
    [{}, "echo $(", "ask", "not_understood"],
    [{ requireApprovalForMediumRisk: false }, "npm test", "allow", "require_approval_for_medium_risk"],
    [{ requireApprovalForMediumRisk: false }, "ls $x", "ask", "not_plain"],
    [{ blockHighRiskCommands: false }, "sudo ls", "ask", "high_risk"],
    [{ shellConfirm: true }, "ls", "ask", "shell_confirm"],
    [{ autonomy: "full" }, "npm test", "allow", "autonomy"],
    [{ autonomy: "full" }, "ls $x", "allow", "autonomy"],
    [{ autonomy: "full" }, "echo $(", "ask", "not_understood"],
    [{ autonomy: "full" }, "x=sudo; $x ls", "ask", "not_understood"],
    [{ autonomy: "full" }, "$(command -v sudo) ls", "ask", "not_understood"],
    [{ autonomy: "full" }, "echo sudo ls | xargs -I{} sh -c {}", "ask", "not_understood"],
    [{ autonomy: "full" }, "sh build.sh", "allow", "autonomy"],
    [{ autonomy: "full" }, "sudo ls", "deny", "block_high_risk_commands"],
    [{ autonomy: "full", blockHighRiskCommands: false }, "sudo ls", "allow", "autonomy"],
    [{ autonomy: "full" }, "cat /etc/passwd", "deny", "forbidden_paths"],
    [{ autonomy: "full" }, "cat .env", "ask", "sensitive_files"],
    [{ autonomy: "readonly" }, "ls", "allow", "plain"],
    [{ autonomy: "readonly" }, "npm test", "deny", "autonomy"],
    [{ autonomy: "readonly" }, "ls $x", "deny", "autonomy"],
    [{ autonomy: "readonly" }, "echo a > b", "deny", "autonomy"],
    [{ autonomy: "readonly", commands: { allow: ["npm test"] } }, "npm test", "deny", "autonomy"],
    [{ commands: { allow: ["npm test"] } }, "npm test", "allow", "npm test"],
    [{ commands: { allow: ["npm test"] } }, "ls", "allow", "plain"],
    [{ commands: { allow: ["npm test"] } }, "ls && npm test 2>&1 | tail -5", "allow", "plain"],
    [{ commands: { allow: ["npm test"] } }, "npm test > $x", "ask", "not_plain"],
    [{ commands: { allow: ["npm test"] } }, "make", "ask", "require_approval_for_medium_risk"],
    [{ commands: { allow: ["sudo ls"] } }, "sudo ls", "allow", "sudo ls"],
    [{ commands: { allow: ["cat *"] } }, "cat /etc/passwd", "deny", "forbidden_paths"],
    [{ commands: { allow: ["cat *"] } }, "cat .env", "ask", "sensitive_files"],
    [{ commands: { allow: ["echo *"] } }, "LD_PRELOAD=./x echo a", "deny", "block_high_risk_commands"],
    [{ commands: { only: ["npm test", "ls"] } }, "make", "deny", "only"],
    [{ commands: { only: ["npm test", "ls"] } }, "ls; cat a", "deny", "only"],
    [{ commands: { only: ["npm test", "ls"] } }, "ls", "allow", "plain"],
    [{ commands: { only: ["npm test", "ls"] } }, "npm test", "ask", "require_approval_for_medium_risk"],
    [{ commands: { only: ["ls"], allow: ["npm test"] } }, "npm test", "allow", "npm test"],
    [{ commands: { ask: ["ls *"] } }, "ls -l", "ask", "ls *"],
    [{ commands: { deny: ["npm *"] } }, "ls; env npm test", "deny", "npm *"],
    [{ autonomy: "full", commands: { deny: ["npm *"] } }, 'sh -c "npm test"', "deny", "npm *"],
    [{ commands: { deny: ["Read(secrets/**)"] } }, "cat secrets/a", "deny", "Read(secrets/**)"],
    [{ autonomy: "full", blockHighRiskCommands: false }, "handrail approvals", "deny", "answers_for_person"],
    [{ commands: { allow: ["handrail *"] } }, "handrail trust", "deny", "answers_for_person"],
    [{ autonomy: "full" }, "handrail policy grants revoke 1", "deny", "answers_for_person"],
    [{ autonomy: "full" }, "handrail call bash ls --yes", "deny", "answers_for_person"],
    [{ autonomy: "full" }, "handrail doctor", "allow", "autonomy"],
  ];
  test.each(matrix)("with %j, %s: %s (%s)", async (policy, command, verdict, rule) => {
    const { judge } = await judging(policy);
    expect(await judge(command)).toMatchObject({ verdict, rule });
  });

  test("a script that is too long to be read is asked about, with what to do instead", async () => {
    const { judge } = await judging({ autonomy: "full" });
    const { verdict, reason } = await judge(`cat > a.txt <<'EOF'\n${"line\n".repeat(4_000)}EOF`);
    expect(verdict).toBe("ask");
    expect(reason).toMatch(/20\d\d\d bytes.*16384.*write long text to a file/s);
  });

  test.each([...TOO_LONG])(
    "a script that is too long to be examined completely is asked about: %s",
    async (_, script, why) => {
      const { judge } = await judging({ autonomy: "full" });
      const { verdict, rule, reason } = await judge(script);
      expect({ verdict, rule }).toEqual({ verdict: "ask", rule: "not_understood" });
      expect(reason).toMatch(why);
    },
  );

  test("the examined part of a script that is too long still counts", async () => {
    const { judge } = await judging({ autonomy: "full" });
    expect(await judge(`sudo id; ${":;".repeat(400)}`)).toMatchObject({ verdict: "deny" });
  });

  test("a refusal names the part, the reason, and what would be accepted, in the texts of the requirements", async () => {
    const { judge } = await judging();
    expect((await judge("ls && sudo id")).reason).toMatch(
      /^High-risk commands are blocked: `sudo id` \(.+\)\. Leave it out, or have the user add it to policy\.commands\.allow$/,
    );
    expect((await judge("ls; npm test")).reason).toMatch(/^Medium-risk command requires approval: `npm test` \(.+\)$/);
    expect((await judge("cat /etc/passwd")).reason).toMatch(
      /^Path blocked by security policy: \/etc\/passwd .*\(`cat \/etc\/passwd`\)$/,
    );
    const { judge: asking } = await judging({ blockHighRiskCommands: false });
    expect((await asking("sudo id")).reason).toMatch(/^High-risk command requires approval: `sudo id` /);
  });

  test("each command that needs approval is a scope of its own, bound to its words and its folder", async () => {
    const { world, judge } = await judging();
    const { scopes = [], parts = [] } = await judge("ls; touch a && git push");
    expect(scopes.map(({ label }) => label)).toEqual(["touch a", "git push"]);
    expect(parts.map(({ text, verdict }) => `${text}: ${verdict}`)).toEqual([
      "ls: allow",
      "touch a: ask",
      "git push: ask",
    ]);
    const keyOf = async (command: string, cwd?: string) => (await judge(command, cwd)).scopes?.map(({ key }) => key);
    expect(await keyOf("touch a")).toEqual([scopes[0]?.key]);
    await world.folder("sub");
    for (const [command, cwd] of [
      ["touch a", "sub"],
      ["touch a b"],
      ["cd sub && touch a"],
      ["CI=1 FOO=1 touch a"],
    ] as const) {
      expect(await keyOf(command, cwd)).not.toEqual([scopes[0]?.key]);
    }
  });

  test("a script that is not plain is granted whole; one that runs the project's code at most for a session", async () => {
    const { judge } = await judging();
    expect(await judge("for f in *; do touch $f; done")).toMatchObject({
      verdict: "ask",
      scopes: [{ label: "for f in *; do touch $f; done" }],
    });
    for (const command of ["npm test", "make", "./run.sh", "node build.js", "python3 setup.py", "cargo test"]) {
      expect(await judge(command), command).toMatchObject({
        verdict: "ask",
        scopes: [{ label: command, upTo: "session" }],
      });
    }
    for (const command of ["git push", "touch a", "cp a b", "for f in *; do touch $f; done"])
      expect((await judge(command)).scopes?.[0], command).toMatchObject({ upTo: "session" });
    for (const command of ["mkdir a", "mkdir -p a/b"])
      expect((await judge(command)).scopes?.[0], command).not.toHaveProperty("upTo");
  });

  test("a command to which a call adds variables is asked about", async () => {
    const { world } = await judging();
    const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
    expect(await toolkit.judge([{ kind: "exec", command: "ls", env: { FOO: "1" } }])).toMatchObject({
      verdict: "ask",
      rule: "not_plain",
    });
  });
});

test.each([...LONG])("a long everyday script is examined completely: %s", async (_, script) => {
  const { judge } = await judging({ autonomy: "full" });
  expect(await judge(script)).toMatchObject({ verdict: "allow", rule: "autonomy" });
});

test("any number of trailing blanks takes no time", async () => {
  const { judge } = await judging();
  const { verdict, reason } = await judge(`echo${" ".repeat(2_000_000)}x`);
  expect({ verdict, reason }).toEqual({ verdict: "ask", reason: expect.stringContaining("write long text to a file") });
  expect(await judge(`ls${" \t\n".repeat(1_000_000)}`)).toMatchObject({ verdict: "allow", rule: "plain" });
});

describe("paths in commands", () => {
  test.each([
    ["bytes", `tac ${"a".repeat(4_097)} $x`],
    ["names", `tac ${"a/".repeat(257)} $x`],
    ["names of folders that are changed to", `${`cd ${"a/".repeat(100)};`.repeat(3)} tac b`],
    ["names from the home", `tac ~/${"~/".repeat(300)}b $x`],
    ["names of all paths", `tac ${Array.from({ length: 20 }, (_, at) => `${"a/".repeat(220)}${at}`).join(" ")}`],
  ])("that have too many %s are asked about", async (_, command) => {
    const { judge } = await judging({ autonomy: "full" });
    expect(await judge(command)).toMatchObject({
      verdict: "ask",
      rule: expect.stringMatching(/^(path_text|not_understood)$/),
    });
  });
});

describe("a plain command", () => {
  test("runs rewritten: absolute programs, quoted words, no start-up files", async () => {
    const { world } = await judging();
    await world.file("a.txt", "one\ntwo\n");
    const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
    const command = 'cat a.txt | grep "tw" && echo done';
    const { runs: [run] = [] } = await toolkit.judge([{ kind: "exec", command }]);
    const { argv = [] } = run !== undefined && "argv" in run ? run : {};
    expect(argv.slice(0, -1).map((word) => word.replace(/^.*\//, ""))).toEqual([
      "bash",
      "--noprofile",
      "--norc",
      "-p",
      "-c",
    ]);
    expect(argv.at(-1)).toMatch(/^'\/.*\/cat' 'a\.txt' \| '\/.*\/grep' 'tw' && '\/.*\/echo' 'done'$/);
    expect(asText(await toolkit.call({ name: "bash", input: { command } }))).toBe("two\ndone\n");
  });

  test("runs rewritten with blanks around it, too, and next to another command of the same call", async () => {
    const { world } = await judging();
    const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
    for (const command of ["ls\n", "  ls", "\nls\n"]) {
      const decision = await toolkit.judge([
        { kind: "exec", command },
        { kind: "exec", command: "pwd" },
      ]);
      expect(decision.verdict).toBe("allow");
      expect(decision.runs?.map((each) => each.command)).toEqual([command, "pwd"]);
    }
    expect(await toolkit.judge([{ kind: "exec", command: "\u00a0ls" }])).toMatchObject({ verdict: "ask" });
  });

  test("runs in the folder that a leading cd leads to", async () => {
    const { world } = await judging();
    await world.file("src/deep/x", "found\n");
    await world.link("link", "src/deep");
    const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
    expect(asText(await toolkit.call({ name: "bash", input: { command: "cd link && cat x && pwd" } }))).toBe(
      `found\n${world.workDir}/src/deep\n`,
    );
  });
});

describe("git", () => {
  async function repository() {
    const world = await layout();
    const canary = await world.file("canary.sh", `#!/bin/sh\ntouch ${world.workDir}/canary-ran\n`);
    const toolkit = await world.toolkit({
      policy: { forbiddenPaths: world.forbiddenPaths },
      approver: async () => ({ answer: "once" }),
    });
    const bash = (command: string) => toolkit.call({ name: "bash", input: { command } });
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-C", world.workDir, ...args], { env: { PATH: process.env["PATH"], HOME: world.home } });
    await chmod(canary, 0o755);
    git("init", "-q");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one");
    const ran = async () => (await toolkit.backend.files.stat("canary-ran")) !== undefined;
    return { world, canary, toolkit, bash, git, ran };
  }

  test("reads run without a question in the workspace's own repository", async () => {
    const { bash, toolkit } = await repository();
    expect(await toolkit.judge([{ kind: "exec", command: "git status" }])).toMatchObject({ verdict: "allow" });
    expect(asText(await bash("git status && git log --oneline -1"))).toContain("branch");
  });

  test.each([
    ["core.fsmonitor", (canary: string) => canary],
    ["diff.external", (canary: string) => canary],
    ["diff.foo.textconv", (canary: string) => canary],
    ["filter.foo.clean", (canary: string) => canary],
    ["gpg.program", (canary: string) => canary],
    ["core.worktree", () => "/"],
    ["include.path", () => "../.other"],
  ])("reads are asked about where %s is configured", async (key, value) => {
    const { git, canary, toolkit } = await repository();
    git("config", key, value(canary));
    expect(await toolkit.judge([{ kind: "exec", command: "git diff" }])).toMatchObject({
      verdict: "ask",
      rule: "not_plain",
    });
  });

  test("reads are asked about in a nested repository, a linked one, and without any", async () => {
    const { git, toolkit, world } = await repository();
    git("init", "-q", "other");
    git("init", "-q", "--bare", "bare");
    await world.link("linked/.git", "../other/.git");
    const judge = (cwd: string) => toolkit.judge([{ kind: "exec", command: "git status", cwd }]);
    // Git reads the workspace's own repository there, whatever the folder contains.
    for (const cwd of ["other", "bare", "linked"]) {
      const { runs, verdict } = await judge(cwd);
      if (verdict === "allow") expect(JSON.stringify(runs)).toContain(`GIT_DIR='${world.workDir}/.git'`);
    }
    const bare = await layout();
    const without = await bare.toolkit({ policy: { forbiddenPaths: bare.forbiddenPaths } });
    expect(await without.judge([{ kind: "exec", command: "git status" }])).toMatchObject({ verdict: "ask" });
  });

  test("a commit that a person approved runs its hooks", async () => {
    const { bash, ran, world, git } = await repository();
    git("config", "user.name", "a");
    git("config", "user.email", "a@b");
    await world.file(".git/hooks/pre-commit", `#!/bin/sh\ntouch ${world.workDir}/canary-ran\n`);
    await chmod(`${world.workDir}/.git/hooks/pre-commit`, 0o755);
    await bash("git commit --allow-empty -m two");
    expect(await ran()).toBe(true);
  });
});
