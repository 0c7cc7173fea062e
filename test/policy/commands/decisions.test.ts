import { execFileSync } from "node:child_process";
import { chmod } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { Decision } from "../../../src/contract/decision.ts";
import { asText } from "../../../src/engine/result.ts";
import { createCommandJudge } from "../../../src/policy/commands/judge.ts";
import { createLookUps } from "../../../src/policy/look-ups.ts";
import type { PolicySettings } from "../../../src/policy/settings.ts";
import { type Layout, layout } from "../../support/layout.ts";

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
    [{}, "ls", "allow", "low_risk"],
    [{}, "npm test", "ask", "require_approval_for_medium_risk"],
    [{}, "sudo ls", "deny", "block_high_risk_commands"],
    [{}, "ls $x", "ask", "not_understood"],
    [{}, "unheard-of", "ask", "require_approval_for_medium_risk"],
    [{ requireApprovalForMediumRisk: false }, "npm test", "allow", "require_approval_for_medium_risk"],
    [{ requireApprovalForMediumRisk: false }, "ls $x", "ask", "not_understood"],
    [{ blockHighRiskCommands: false }, "sudo ls", "ask", "high_risk"],
    [{ shellConfirm: true }, "ls", "ask", "shell_confirm"],
    [{ autonomy: "full" }, "npm test", "allow", "autonomy"],
    [{ autonomy: "full" }, "ls $x", "allow", "autonomy"],
    [{ autonomy: "full" }, "sudo ls", "deny", "block_high_risk_commands"],
    [{ autonomy: "full", blockHighRiskCommands: false }, "sudo ls", "allow", "autonomy"],
    [{ autonomy: "full" }, "cat /etc/passwd", "deny", "forbidden_paths"],
    [{ autonomy: "readonly" }, "ls", "allow", "low_risk"],
    [{ autonomy: "readonly" }, "npm test", "deny", "autonomy"],
    [{ autonomy: "readonly" }, "ls $x", "deny", "autonomy"],
    [{ autonomy: "readonly" }, "echo a > b", "deny", "autonomy"],
    [{ commands: { allow: ["npm test"] } }, "npm test", "allow", "npm test"],
    [{ commands: { allow: ["npm test"] } }, "ls", "deny", "allowlist"],
    [{ commands: { allow: ["sudo ls"] } }, "sudo ls", "allow", "sudo ls"],
    [{ commands: { allow: ["cat *"] } }, "cat /etc/passwd", "deny", "forbidden_paths"],
    [{ commands: { allow: ["cat *"] } }, "cat .env", "ask", "sensitive_files"],
    [{ commands: { allow: ["echo *"] } }, "echo a; npm test", "deny", "allowlist"],
    [{ commands: { allow: ["echo *"] } }, "LD_PRELOAD=./x echo a", "deny", "block_high_risk_commands"],
    [{ commands: { ask: ["ls *"] } }, "ls -l", "ask", "ls *"],
    [{ commands: { deny: ["npm *"] } }, "ls; env npm test", "deny", "npm *"],
    [{ autonomy: "full", commands: { deny: ["npm *"] } }, 'sh -c "npm test"', "deny", "npm *"],
    [{ commands: { deny: ["Read(secrets/**)"] } }, "cat secrets/a", "deny", "Read(secrets/**)"],
  ];
  test.each(matrix)("with %j, %s: %s (%s)", async (policy, command, verdict, rule) => {
    const { judge } = await judging(policy);
    expect(await judge(command)).toMatchObject({ verdict, rule });
  });

  test("a script that is too long to be looked at is refused, with what to do instead", async () => {
    const { judge } = await judging();
    const { verdict, reason } = await judge(`cat > a.txt <<'EOF'\n${"line\n".repeat(4_000)}EOF`);
    expect(verdict).toBe("deny");
    expect(reason).toMatch(/20\d\d\d bytes long, and more than 16384 .*write long text to a file/);
  });

  test("a refusal says which part, why, and what would be accepted, in the texts of seed 003", async () => {
    const { judge } = await judging();
    expect((await judge("ls && sudo id")).reason).toMatch(
      /^High-risk commands are blocked: `sudo id` \(.+\)\. Leave it out, or/,
    );
    expect((await judge("ls; npm test")).reason).toMatch(/^Medium-risk command requires approval: `npm test` \(.+\)$/);
    expect((await judge("cat /etc/passwd")).reason).toMatch(
      /^Path blocked by security policy: \/etc\/passwd .*\(in `cat \/etc\/passwd`\)$/,
    );
    const { judge: asking } = await judging({ blockHighRiskCommands: false });
    expect((await asking("sudo id")).reason).toMatch(/^High-risk command requires approval: `sudo id` /);
  });

  test("each part that needs consent is a scope of its own, bound to its words, its folder and its variables", async () => {
    const { world, judge } = await judging();
    const { scopes = [], parts = [] } = await judge("ls; npm test && npm run build");
    expect(scopes.map(({ label }) => label)).toEqual(["npm test", "npm run build"]);
    expect(parts.map(({ text, verdict }) => `${text}: ${verdict}`)).toEqual([
      "ls: allow",
      "npm test: ask",
      "npm run build: ask",
    ]);
    const keyOf = async (command: string, cwd?: string) => (await judge(command, cwd)).scopes?.map(({ key }) => key);
    expect(await keyOf("npm test")).toEqual([scopes[0]?.key]);
    await world.folder("sub");
    for (const [command, cwd] of [
      ["npm test", "sub"],
      ["npm test -- x"],
      ["cd sub && npm test"],
      ["CI=1 FOO=1 npm test"],
    ] as const) {
      expect(await keyOf(command, cwd)).not.toEqual([scopes[0]?.key]);
    }
  });

  test("variables that a call adds are judged like those in front of a command", async () => {
    const { world } = await judging();
    const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
    const judge = (env: Record<string, string>) => toolkit.judge([{ kind: "exec", command: "ls", env }]);
    expect(await judge({ NODE_ENV: "test" })).toMatchObject({ verdict: "allow" });
    expect(await judge({ FOO: "1" })).toMatchObject({ verdict: "ask" });
    expect(await judge({ LD_PRELOAD: "./x.so" })).toMatchObject({ verdict: "deny" });
  });
});

describe("paths in commands", () => {
  test.each<[string, Decision["verdict"]]>([
    ["cat a.txt src/../a.txt", "allow"],
    ["cat ../other/a", "deny"],
    ["cat way-out/secret.txt", "deny"],
    // `..` is the folder above where the link leads, as the system has it.
    ["cat way-out/../srv/ws/a.txt", "allow"],
    ["cat way-out/../a.txt", "deny"],
    ["cat src/deep/../../a.txt", "allow"],
    ["cat < /etc/passwd", "deny"],
    ["echo x > /etc/x", "deny"],
    ["echo x > out.txt", "allow"],
    ["echo x > .git/config", "ask"],
    ["echo x > .bashrc", "ask"],
    ["cat .env", "ask"],
    ["cat .env*", "ask"],
    ["cat src/*.ts", "allow"],
    ["cat *.txt", "allow"],
    ["cat way-*/secret.txt", "ask"],
    ["cat out/*", "deny"],
    ["cat dashed/*", "allow"],
    ["cd dashed && cat *", "ask"],
    ["cat /etc/$x", "deny"],
    ["cat < /dev/tcp/x.example/80", "deny"],
    ["echo x > /dev/udp/x.example/53", "deny"],
    ["cat a.txt 2>&1 >/dev/null", "allow"],
    ["cd .. && ls", "deny"],
    ["cd src && cat ../a.txt", "allow"],
    ["cd src && cat ../../x", "deny"],
    ["(cd src); cat ../x", "deny"],
    ["rm -rf src", "ask"],
    ["rm -rf .", "deny"],
    ["rm -rf ./*", "deny"],
    ["rm -rf /", "deny"],
    ["rm -rf ~", "deny"],
    ["rm -rf ..", "deny"],
    ["rm -rf $x", "ask"],
    ["git -C src status", "allow"],
    ["git -C .. status", "deny"],
    ["./tool", "ask"],
    ["/usr/bin/sudo ls", "deny"],
    ["/tmp/evil", "deny"],
  ])("%s: %s", async (command, verdict) => {
    const { world, judge } = await judging();
    for (const file of ["a.txt", "src/a.ts", "src/deep/x", "tool", ".env", "dashed/-x"]) await world.file(file);
    await world.link("way-out", world.outside);
    await world.link("out/link", world.outside);
    const decision = await judge(command);
    expect(decision, JSON.stringify(decision)).toMatchObject({ verdict });
  });

  test("a program of the workspace in PATH is not the system's of the same name", async () => {
    const world = await layout();
    const toolkit = await world.toolkit();
    const { backend } = toolkit;
    const judgeCommand = createCommandJudge({
      settings: {},
      backend,
      programFolders: [`${world.workDir}/bin`, "/usr/bin", "/bin"],
    });
    const judgePath = async () => ({ verdict: "allow", risk: "low" }) as const;
    const judge = (command: string) =>
      judgeCommand({ kind: "exec", command }, { judgePath, look: createLookUps(backend.files) });
    expect(await judge("ls")).toMatchObject({ verdict: "allow" });
    await chmod(await world.file("bin/ls", "#!/bin/sh\n"), 0o755);
    expect(await judge("ls")).toMatchObject({
      verdict: "ask",
      reason: expect.stringContaining("ls is a program of the workspace"),
    });
  });
});

describe("looking starts nothing", () => {
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

  test("git status runs unasked, and no file system monitor of the repository's with it", async () => {
    const { bash, git, ran, canary, toolkit } = await repository();
    git("config", "core.fsmonitor", canary);
    expect(await toolkit.judge([{ kind: "exec", command: "git status" }])).toMatchObject({
      verdict: "allow",
      env: { GIT_CONFIG_KEY_0: "core.fsmonitor" },
    });
    expect(asText(await bash("git status"))).toContain("branch");
    expect(await ran()).toBe(false);
    git("status"); // the plant works
    expect(await ran()).toBe(true);
  });

  test.each([
    ["diff.external", (canary: string) => canary],
    ["diff.foo.textconv", (canary: string) => canary],
    ["filter.foo.clean", (canary: string) => canary],
    ["include.path", () => "../.other"],
  ])("git diff is asked about where %s is configured", async (key, value) => {
    const { git, canary, toolkit } = await repository();
    expect(await toolkit.judge([{ kind: "exec", command: "git diff" }])).toMatchObject({ verdict: "allow" });
    git("config", key, value(canary));
    expect(await toolkit.judge([{ kind: "exec", command: "git -C sub diff", cwd: "." }])).toMatchObject({
      verdict: "ask",
    });
    expect(await toolkit.judge([{ kind: "exec", command: "git diff" }])).toMatchObject({
      verdict: "ask",
      rule: "not_understood",
    });
  });

  test("git diff is asked about in a bare repository that was made of ordinary files, and in folders under it", async () => {
    const { git, canary, toolkit, ran, world } = await repository();
    git("init", "-q", "--bare", "sub");
    git("add", "canary.sh");
    const inSub = { kind: "exec", command: "git diff", cwd: "sub" } as const;
    expect(await toolkit.judge([inSub])).toMatchObject({ verdict: "allow" });
    const config = `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n[diff]\n\texternal = ${canary}\n`;
    await world.file("sub/config", config);
    await world.folder("sub/deeper");
    expect(await toolkit.judge([inSub])).toMatchObject({ verdict: "ask", rule: "not_understood" });
    expect(await toolkit.judge([{ ...inSub, cwd: "sub/deeper" }])).toMatchObject({ verdict: "ask" });
    expect(await toolkit.judge([{ kind: "exec", command: "cd sub && git diff" }])).toMatchObject({ verdict: "ask" });
    expect(await toolkit.judge([{ kind: "exec", command: "git status" }])).toMatchObject({ verdict: "allow" });
    git("-C", "sub", "add", "../canary.sh"); // the plant works
    await world.file("canary.sh", `#!/bin/sh\ntouch ${world.workDir}/canary-ran\n# changed\n`);
    git("-C", "sub", "diff");
    expect(await ran()).toBe(true);
    await world.file("sub/config", "[core]\n\tbare = true\n");
    await world.file("sub/commondir", "../elsewhere\n");
    expect(await toolkit.judge([inSub])).toMatchObject({ verdict: "ask" });
  });

  test("a link in the place of the repository is followed, and so is one to the folder that git is started in", async () => {
    const { git, canary, toolkit, world } = await repository();
    git("init", "-q", "other");
    git("-C", "other", "config", "diff.external", canary);
    await world.link("linked/.git", "../other/.git");
    await world.link("leads", "other");
    for (const cwd of ["linked", "leads", "other"])
      expect(await toolkit.judge([{ kind: "exec", command: "git diff", cwd }])).toMatchObject({ verdict: "ask" });
    expect(await toolkit.judge([{ kind: "exec", command: "git diff" }])).toMatchObject({ verdict: "allow" });
  });

  test("a commit that a person let through runs its hooks", async () => {
    const { bash, ran, world, git } = await repository();
    git("config", "user.name", "a");
    git("config", "user.email", "a@b");
    await world.file(".git/hooks/pre-commit", `#!/bin/sh\ntouch ${world.workDir}/canary-ran\n`);
    await chmod(`${world.workDir}/.git/hooks/pre-commit`, 0o755);
    await bash("git commit --allow-empty -m two");
    expect(await ran()).toBe(true);
  });
});
