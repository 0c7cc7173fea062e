import { mkdir, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS, flagsIn } from "../../../src/app/config/settings.ts";
import { DEFAULT_FORBIDDEN_PATHS } from "../../../src/policy/policy-settings.ts";
import { GROUPS, place } from "./config.ts";

describe("settings", () => {
  test("without any file are the defaults", async () => {
    const { settings, project } = await (await place()).read({});
    expect(settings).toEqual(DEFAULT_SETTINGS);
    expect(project).toBeUndefined();
  });

  test.for(["", "# nothing\n", "---\n", "tools:\npolicy:\n  env:\n", "toolsets:\n", "null\n", "{}"])(
    "of the file %j are the defaults",
    async (text) => {
      const { read } = await place();
      expect((await read({ user: text })).settings).toEqual(DEFAULT_SETTINGS);
      expect((await read({ project: text })).settings).toEqual(DEFAULT_SETTINGS);
    },
  );

  test("of a user's file are all that it sets, with its lists replacing the defaults", async () => {
    const { read, root } = await place();
    const user = [
      "tools:",
      "  preset: mine",
      "  work_dir: work",
      "  disable: [bash]",
      "  options: { grep: { max_results: 7 }, read: { limit: { lines: 50 } }, bash: { timeout: 2.5 } }",
      "  mcp: { far: { url: 'https://x.example/mcp', oauth: { client_id: me } }, near: { command: ./near, env: [KEY] } }",
      "toolsets: { mine: [read, grep], constructor: [ls] }",
      "policy:",
      "  autonomy: full",
      "  workspace_only: false",
      "  allowed_roots: [/data, ../shared]",
      "  forbidden_paths: [~/.ssh]",
      "  commands:",
      "    allow: [npm test]",
      "    only: ['npm *', git]",
      "    ask: ['git push *']",
      "    deny: [{ rule: docker, match: [docker ps], not_match: [ls] }]",
      "  block_high_risk_commands: false",
      "  require_approval_for_medium_risk: false",
      "  max_actions_per_hour: 0",
      "  shell_confirm: true",
      "  sandbox: on",
      "  ask_in_sandbox: all",
      "  sandbox_limits: { processes: 50, memory_mb: 2, disk_free_mb: 3 }",
      "  sandbox_alarm: { per_minute: 4, cooldown: 5 }",
      "  network: { allow_hosts: [example.org], deny_hosts: ['*.example.com'], allow_private: ['localhost:3000', '[fd00::1]'] }",
      "  env: { pass: [CI] }",
      "model: { provider: openai-compatible, name: qwen3, base_url: 'http://127.0.0.1:11434/v1', key_variable: MINE, context: 32000, price: { input: 3, output: 15.5 } }",
      "agents: { reviewer: { model: 'anthropic:claude:x', toolset: readonly, instructions: Be strict., limits: { rounds: 9, time: 1.5, cost: 2.5 } }, other: {} }",
      "store: memory",
      "browser: { headed: true, executable_path: /opt/chrome, profile: work, cdp: 'http://127.0.0.1:9222' }",
      "memory: { scope: workspace, core_bytes: 0 }",
      "approvers: { phone: medium, api: none }",
      "notify: [ntfy, publish, handrail]",
      "serve: { origins: ['http://localhost:5173'] }",
      "park: after 90s",
      "state: { outputs_mb: 6, database_mb: 7, undo_mb: 8, parked_days: 2 }",
      "undo: off",
    ].join("\n");
    expect((await read({ user })).settings).toMatchObject({
      tools: {
        preset: "mine",
        workDir: join(root, "home/work"),
        disable: ["bash"],
        options: { grep: { max_results: 7 }, read: { limit: { lines: 50, bytes: 51_200 } }, bash: { timeout: 2.5 } },
        plugins: [],
        modules: [],
        mcp: {
          far: { url: "https://x.example/mcp", oauth: { clientId: "me" } },
          near: { command: join(root, "home/near"), env: ["KEY"] },
        },
      },
      toolsets: { mine: ["read", "grep"], constructor: ["ls"] },
      policy: {
        autonomy: "full",
        workspaceOnly: false,
        allowedRoots: ["/data", join(root, "shared")],
        forbiddenPaths: ["~/.ssh"],
        commands: {
          allow: ["npm test"],
          only: ["npm *", "git"],
          ask: ["git push *"],
          deny: [{ rule: "docker", match: ["docker ps"], not_match: ["ls"] }],
        },
        blockHighRiskCommands: false,
        requireApprovalForMediumRisk: false,
        maxActionsPerHour: 0,
        shellConfirm: true,
        sandbox: "on",
        askInSandbox: "all",
        sandboxLimits: { processes: 50, memory: 2_097_152, diskFree: 3_145_728 },
        sandboxAlarm: { perMinute: 4, cooldown: 5 },
        network: {
          fetch: "seen",
          proxy: "none",
          allowHosts: ["example.org"],
          denyHosts: ["*.example.com"],
          allowPrivate: ["localhost:3000", "[fd00::1]"],
        },
        env: { pass: ["CI"] },
      },
      model: {
        provider: "openai-compatible",
        name: "qwen3",
        baseUrl: "http://127.0.0.1:11434/v1",
        keyVariable: "MINE",
        context: 32_000,
        price: { input: 3, output: 15.5 },
      },
      agents: {
        reviewer: {
          model: { provider: "anthropic", name: "claude:x" },
          toolset: "readonly",
          instructions: "Be strict.",
          limits: { rounds: 9, timeMs: 1_500, cost: 2.5 },
        },
        other: { limits: {} },
      },
      search: { engine: "duckduckgo" },
      browser: { headed: true, executablePath: "/opt/chrome", profile: "work", cdp: "http://127.0.0.1:9222" },
      store: "memory",
      memory: { scope: "workspace", coreBytes: 0 },
      approvers: { phone: "medium", api: "none" },
      notify: ["ntfy", "publish", "handrail"],
      serve: { origins: ["http://localhost:5173"] },
      park: { afterMs: 90_000 },
      state: { outputs: 6_291_456, database: 7_340_032, undo: 8_388_608, parkedMs: 172_800_000 },
      undo: "off",
    });
  });

  test("of a file that the user named may be looser, and override the user's own", async () => {
    const { read, named } = await place();
    const { settings } = await read({
      user: "policy: { autonomy: readonly, forbidden_paths: [/a] }\ntools: { options: { grep: { max_results: 3 } } }\n",
      named:
        "policy: { autonomy: full, workspace_only: false, env: { pass: [A] } }\ntools: { options: { grep: { limit: { bytes: 9 } } } }\n",
    });
    expect(settings.policy).toEqual({
      ...DEFAULT_SETTINGS.policy,
      autonomy: "full",
      workspaceOnly: false,
      allowedRoots: [],
      forbiddenPaths: ["/a", named], // its name does not protect it, yet it contains permissions
      env: { pass: ["A"] },
    });
    expect(settings.tools.options).toEqual({ grep: { max_results: 3, limit: { lines: 2_000, bytes: 9 } } });
  });

  test("of a project's file add to the user's", async () => {
    const { read, folder } = await place();
    const { settings } = await read({
      user: "policy: { forbidden_paths: [/a], allowed_roots: [/data] }\ntools: { disable: [bash], options: { grep: { max_results: 3 } } }\n",
      project:
        "policy: { autonomy: readonly, forbidden_paths: [/b, secrets], allowed_roots: [src] }\n" +
        "tools: { disable: [write, bash], preset: fresh, work_dir: src, options: { grep: { max_results: 4 }, ls: { limit: { lines: 1 } } } }\n" +
        "toolsets: { fresh: [read] }\n",
    });
    expect(settings.policy).toMatchObject({
      autonomy: "readonly",
      forbiddenPaths: ["/a", "/b", join(folder, "secrets")],
      allowedRoots: ["/data", join(folder, "src")],
    });
    expect(settings.tools).toMatchObject({
      preset: "fresh",
      disable: ["bash", "write"],
      workDir: join(folder, "src"),
      options: { grep: { max_results: 4 }, ls: { limit: { lines: 1, bytes: 51_200 } } },
    });
  });

  test("are overridden by flags", async () => {
    const { read } = await place();
    const user = "tools: { preset: all, work_dir: /a }\npolicy: { autonomy: readonly }\n";
    const flags = flagsIn({ preset: "none", workDir: "sub", autonomy: "full", yes: true, tmuxSession: "x" });
    expect(flags).toEqual({
      "tools.preset": "none",
      "tools.work_dir": join(process.cwd(), "sub"),
      "policy.autonomy": "full",
    });
    expect((await read({ user }, {}, flags)).settings).toMatchObject({
      tools: { preset: "none", workDir: join(process.cwd(), "sub") },
      policy: { autonomy: "full" },
    });
  });

  test("are immutable", async () => {
    const { settings } = await (await place()).read({ user: "tools: { disable: [bash] }\n" });
    for (const part of [settings, settings.tools, settings.tools.disable, settings.policy.env.pass])
      expect(Object.isFrozen(part)).toBe(true);
  });

  test("expand ~ to the home, and keep it for the target in the policy's paths", async () => {
    const { settings } = await (
      await place()
    ).read({ user: "tools: { work_dir: ~/w }\npolicy: { allowed_roots: ['~', ~/x] }\n" });
    expect(settings.tools.workDir).toBe(join(homedir(), "w"));
    expect(settings.policy.allowedRoots).toEqual(["~", "~/x"]);
  });

  test("support anchors and aliases", async () => {
    const { settings } = await (await place()).read({ user: "toolsets:\n  a: &these [read, ls]\n  b: *these\n" });
    expect(settings.toolsets).toEqual({ a: ["read", "ls"], b: ["read", "ls"] });
  });
});

describe("${NAME}", () => {
  test("is replaced in a user's file if it is set, and otherwise kept as written", async () => {
    const { settings } = await (
      await place()
    ).read(
      { user: "policy: { forbidden_paths: ['/x/${WHERE}/${NONE}/${WHERE}', '/$WHERE'] }\nstore: '${KIND}'\n" },
      { WHERE: "here", KIND: "memory" },
    );
    expect(settings.policy.forbiddenPaths).toEqual(["/x/here/${NONE}/here", "/$WHERE"]);
    expect(settings.store).toBe("memory");
  });

  test("is replaced once: values of the environment are not templates", async () => {
    const { settings } = await (
      await place()
    ).read({ user: "policy: { forbidden_paths: ['/${A}'] }\n" }, { A: "${B}$&", B: "no" });
    expect(settings.policy.forbiddenPaths).toEqual(["/${B}$&"]);
  });

  test("is not a key", async () => {
    const lines = await (await place()).problems({ user: "'${A}': memory\n" }, { A: "store" });
    expect(lines).toEqual([`config.yaml:1:1: unknown key. Keys here: ${GROUPS}.`]);
  });
});

describe("a project's file", () => {
  test.for([
    [
      "autonomy looser than the default",
      undefined,
      "policy: { autonomy: full }",
      'handrail.yaml:1:21: policy.autonomy: a project can only tighten the policy, and "full" is looser than "supervised".',
    ],
    [
      "autonomy looser than the user's",
      "policy: { autonomy: readonly }",
      "policy: { autonomy: supervised }",
      'handrail.yaml:1:21: policy.autonomy: a project can only tighten the policy, and "supervised" is looser than "readonly".',
    ],
    [
      "the world outside",
      undefined,
      "policy: { workspace_only: false }",
      "handrail.yaml:1:27: policy.workspace_only: a project can only tighten the policy, and false is looser than true.",
    ],
    [
      "a root outside its folder",
      undefined,
      "policy: { allowed_roots: [src, ..] }",
      "handrail.yaml:1:32: policy.allowed_roots[1]: a project can only open up its own folder, and this leads out of it.",
    ],
    [
      "the home",
      undefined,
      "policy: { allowed_roots: [~/] }",
      "handrail.yaml:1:27: policy.allowed_roots[0]: a project can only open up its own folder, and this leads out of it.",
    ],
    [
      "a root in a folder that begins with the same name",
      undefined,
      "policy: { allowed_roots: [../project2] }",
      "handrail.yaml:1:27: policy.allowed_roots[0]: a project can only open up its own folder, and this leads out of it.",
    ],
    [
      "a root through a link",
      undefined,
      "policy: { allowed_roots: [out/x] }",
      "handrail.yaml:1:27: policy.allowed_roots[0]: a project can only open up its own folder, and this leads out of it.",
    ],
    [
      "a working directory outside",
      undefined,
      "tools: { work_dir: out }",
      "handrail.yaml:1:20: tools.work_dir: a project can only open up its own folder, and this leads out of it.",
    ],
    [
      "a root in what the user forbade",
      "policy: { forbidden_paths: [../project/src] }",
      "policy: { allowed_roots: [src/deep] }",
      "handrail.yaml:1:27: policy.allowed_roots[0]: a project can only tighten the policy, and you have forbidden this path.",
    ],
    [
      "a toolset of the user's",
      "toolsets: { mine: [read] }",
      "toolsets: { mine: [bash] }",
      "handrail.yaml:1:19: toolsets.mine: you have a toolset of this name; a project cannot change it.",
    ],
    [
      "what runs without a question",
      undefined,
      "policy: { commands: { allow: [ls] } }",
      "handrail.yaml:1:30: policy.commands.allow: a project cannot set this.",
    ],
    [
      "that commands of high risk run",
      undefined,
      "policy: { block_high_risk_commands: false }",
      "handrail.yaml:1:37: policy.block_high_risk_commands: a project can only tighten the policy, and false is looser than true.",
    ],
    [
      "that nobody is asked about medium risk",
      undefined,
      "policy: { require_approval_for_medium_risk: false }",
      "handrail.yaml:1:45: policy.require_approval_for_medium_risk: a project can only tighten the policy, and false is looser than true.",
    ],
    [
      "that fewer commands are confirmed",
      "policy: { shell_confirm: true }",
      "policy: { shell_confirm: false }",
      "handrail.yaml:1:26: policy.shell_confirm: a project can only tighten the policy, and false is looser than true.",
    ],
    [
      "that commands run without a sandbox",
      undefined,
      "policy: { sandbox: off }",
      'handrail.yaml:1:20: policy.sandbox: a project can only tighten the policy, and "off" is looser than "auto".',
    ],
    [
      "that less is asked about in the sandbox",
      "policy: { ask_in_sandbox: all }",
      "policy: { ask_in_sandbox: nothing }",
      'handrail.yaml:1:27: policy.ask_in_sandbox: a project can only tighten the policy, and "nothing" is looser than "all".',
    ],
    [
      "another list of the only commands",
      "policy: { commands: { only: [git, make] } }",
      "policy: { commands: { only: [git, docker] } }",
      'handrail.yaml:1:29: policy.commands.only: a project can only tighten the policy, and your own list does not have "docker".',
    ],
    [
      "how much of the machine the sandbox may use",
      undefined,
      "policy: { sandbox_limits: { processes: 9 } }",
      "handrail.yaml:1:40: policy.sandbox_limits.processes: a project cannot set this.",
    ],
    [
      "whether what tools change can be undone",
      undefined,
      "undo: off",
      "handrail.yaml:1:7: undo: a project cannot set this.",
    ],
    [
      "how much is kept of all projects",
      undefined,
      "state: { outputs_mb: 9 }",
      "handrail.yaml:1:22: state.outputs_mb: a project cannot set this.",
    ],
    [
      "more acts than the user",
      "policy: { max_actions_per_hour: 10 }",
      "policy: { max_actions_per_hour: 11 }",
      "handrail.yaml:1:33: policy.max_actions_per_hour: a project can only tighten the policy, and 11 is looser than 10.",
    ],
    [
      "no limit where the user has one",
      "policy: { max_actions_per_hour: 0 }",
      "policy: { max_actions_per_hour: null }",
      "handrail.yaml:1:33: policy.max_actions_per_hour: a project can only tighten the policy, and no limit is looser than 0.",
    ],
    [
      "hosts that are fetched from without a question",
      undefined,
      "policy: { network: { allow_hosts: [a.org] } }",
      "handrail.yaml:1:35: policy.network.allow_hosts: a project cannot set this.",
    ],
    [
      "hosts inside",
      undefined,
      "policy: { network: { allow_private: [localhost] } }",
      "handrail.yaml:1:37: policy.network.allow_private: a project cannot set this.",
    ],
    ["where calls are recorded", undefined, "store: memory", "handrail.yaml:1:8: store: a project cannot set this."],
  ] as const)("may not set %s, and is told where to put it", async ([, user, project, line]) => {
    const { problems, folder } = await place();
    await mkdir(join(folder, "../project2"));
    await symlink("..", join(folder, "out"));
    const [said, ...more] = await problems({
      ...(user !== undefined && { user: `${user}\n` }),
      project: `${project}\n`,
    });
    expect(more).toEqual([]);
    expect(said).toMatch(/ Set it in \/.*\/config\.yaml, or name this file with --config$/);
    expect(said?.startsWith(`${line} Set it`)).toBe(true);
  });

  test("adds rules and hosts to the user's and lowers limits", async () => {
    const { settings } = await (
      await place()
    ).read({
      user:
        "policy: { commands: { allow: [ls], ask: [a], deny: [b] }, max_actions_per_hour: 50, block_high_risk_commands: false,\n" +
        "  require_approval_for_medium_risk: false, network: { allow_hosts: [a.org], deny_hosts: [b.org], allow_private: [c.org] } }\n",
      project:
        "policy: { commands: { ask: [c, a], deny: [d] }, max_actions_per_hour: 49, block_high_risk_commands: true,\n" +
        "  require_approval_for_medium_risk: true, shell_confirm: true, network: { deny_hosts: [d.org] } }\n",
    });
    expect(settings.policy).toMatchObject({
      commands: { allow: ["ls"], only: [], ask: ["a", "c"], deny: ["b", "d"] },
      maxActionsPerHour: 49,
      blockHighRiskCommands: true,
      requireApprovalForMediumRisk: true,
      shellConfirm: true,
      network: { allowHosts: ["a.org"], denyHosts: ["b.org", "d.org"], allowPrivate: ["c.org"] },
    });
  });

  test("may set a limit if the user has none, and null is none", async () => {
    const { read } = await place();
    const limited = await read({ project: "policy: { max_actions_per_hour: 5 }\n" });
    expect(limited.settings.policy.maxActionsPerHour).toBe(5);
    const open = await read({ user: "policy: { max_actions_per_hour: null }\n" });
    expect(open.settings.policy.maxActionsPerHour).toBeNull();
  });

  test("may repeat what the user's file sets", async () => {
    const loose = "policy: { autonomy: full, workspace_only: false }\n";
    const { settings } = await (await place()).read({ user: loose, project: loose });
    expect(settings.policy).toMatchObject({ autonomy: "full", workspaceOnly: false });
  });

  test("may tighten, and open up its own folder if that is in a folder that is forbidden by default", async () => {
    const { read, folder } = await place();
    const { settings } = await read({
      project: "policy: { autonomy: readonly, workspace_only: true, allowed_roots: [., new/sub] }\n",
    });
    expect(settings.policy).toMatchObject({
      autonomy: "readonly",
      allowedRoots: [folder, join(folder, "new/sub")],
      forbiddenPaths: DEFAULT_FORBIDDEN_PATHS,
    });
  });
});

describe("what needs trust in a project's file", () => {
  const project =
    "tools: { disable: ['${TOOL}', ls], preset: more }\ntoolsets: { more: [read, write, edit] }\npolicy: { env: { pass: [TOKEN, CI] }, forbidden_paths: ['/${TOOL}'] }\n";
  const user = "tools: { preset: readonly }\npolicy: { env: { pass: [TZ2] } }\n";

  test("has no effect before, and is listed with its position", async () => {
    const { read, project: path } = await place();
    const { settings, project: standing } = await read({ user, project }, { TOOL: "bash" });
    expect(settings.tools).toMatchObject({ preset: "readonly", disable: ["ls"] });
    expect(settings.policy).toMatchObject({ env: { pass: ["TZ2"] }, forbiddenPaths: DEFAULT_FORBIDDEN_PATHS });
    expect(standing).toMatchObject({ file: { path }, standing: "never trusted" });
    expect(standing?.asks).toEqual([
      { key: "tools.disable[0]", place: { line: 1, column: 20 }, gives: "this value gets TOOL of your environment" },
      {
        key: "policy.forbidden_paths[0]",
        place: { line: 3, column: 57 },
        gives: "this value gets TOOL of your environment",
      },
      {
        key: "tools.preset",
        place: { line: 1, column: 44 },
        gives: "tools that act and are not in your own toolset: write, edit",
      },
      { key: "policy.env.pass", place: { line: 3, column: 24 }, gives: "commands get TOKEN, CI from your environment" },
    ]);
  });

  test("takes effect when the file is trusted as it is, and no longer after a change", async () => {
    const { read, trust } = await place();
    const before = await read({ user, project }, { TOOL: "bash" });
    await trust.record(before.project!.file);
    const { settings, project: standing } = await read({ user, project }, { TOOL: "bash" });
    expect(settings.tools).toMatchObject({ preset: "more", disable: ["bash", "ls"] });
    expect(settings.policy).toMatchObject({
      env: { pass: ["TZ2", "TOKEN", "CI"] },
      forbiddenPaths: [...DEFAULT_FORBIDDEN_PATHS, "/bash"],
    });
    expect(standing?.standing).toBe("trusted");

    const changed = await read({ user, project: `${project}# one more line\n` }, { TOOL: "bash" });
    expect(changed.settings).toEqual(before.settings);
    expect(changed.project?.standing).toBe("changed");
  });

  test("includes a model and agents: prompts and data would be sent where the project says", async () => {
    const { read, trust } = await place();
    const wanted =
      "model: { provider: openai-compatible, name: x, base_url: 'https://far.example' }\nagents: { a: { instructions: Hi } }\n";
    const before = await read({ user: "model: demo\n", project: wanted });
    expect(before.settings).toMatchObject({ model: { provider: "demo" }, agents: {} });
    expect(before.project?.asks.map(({ gives }) => gives)).toEqual([
      "your prompts and what tools read are sent to the model openai-compatible:x at https://far.example",
      "agents with the project's own model, tools and instructions: a",
    ]);
    await trust.record(before.project!.file);
    const { settings } = await read({ user: "model: demo\n", project: wanted });
    expect(settings).toMatchObject({
      model: { baseUrl: "https://far.example" },
      agents: { a: { instructions: "Hi" } },
    });
  });

  test("does not loosen the policy even if the file is trusted", async () => {
    const { read, trust, problems } = await place();
    const { project: standing } = await read({ project: "policy: { env: { pass: [A] } }\n" });
    await trust.record(standing!.file);
    expect(await problems({ project: "policy: { autonomy: full, env: { pass: [A] } }\n" })).toHaveLength(1);
  });

  test("does not include a preset that only looks, nor any if the user has not chosen one", async () => {
    const { read } = await place();
    const looks = await read({ user, project: "tools: { preset: mine }\ntoolsets: { mine: [ls, find] }\n" });
    expect(looks.project?.asks).toEqual([]);
    expect(looks.settings.tools.preset).toBe("mine");
    const unchosen = await read({ user: "store: memory\n", project: "tools: { preset: all }\n" });
    expect(unchosen.project?.asks).toEqual([]);
    expect(unchosen.settings.tools.preset).toBe("all");
  });
});

describe("environment variables", () => {
  test("set keys over your files; a project's file extends them, and flags override them", async () => {
    const { read } = await place();
    const env = {
      HANDRAIL_POLICY_AUTONOMY: "full",
      HANDRAIL_TOOLS_DISABLE: "[bash]",
      HANDRAIL_POLICY_COMMANDS_DENY: "[docker, { rule: 'rm *', match: ['rm x'] }]",
      HANDRAIL_STATE_UNDO_MB: "1",
      HANDRAIL_LOG_FILE: "${PWD}/7",
      HANDRAIL_PROCESS: "another program's",
      HANDRAIL_SANDBOX: "as well",
      PWD: "/here",
    };
    const user = "policy: { autonomy: readonly }\ntools: { disable: [write] }\n";
    const project = "policy: { autonomy: supervised }\ntools: { disable: [edit] }\n";
    expect((await read({ user, project }, env)).settings).toMatchObject({
      tools: { disable: ["bash", "edit"] },
      policy: { autonomy: "supervised", commands: { deny: ["docker", { rule: "rm *", match: ["rm x"] }] } },
      state: { undo: 1_048_576 },
      logFile: "/here/7",
    });
    expect((await read({ user }, env, { "policy.autonomy": "readonly" })).settings.policy.autonomy).toBe("readonly");
    expect((await read({}, { HANDRAIL_TOOLS_PRESET: "operator" })).settings).toMatchObject({
      tools: { preset: "operator" },
      policy: { workspaceOnly: false },
    });
  });

  test("with a wrong value or a wrong name are errors", async () => {
    const { problems } = await place();
    const env = {
      HANDRAIL_POLICY_AUTONOMY: "fully",
      HANDRAIL_POLICY_AUTONOMI: "full",
      HANDRAIL_TOOLS_DISABLE: "[",
      HANDRAIL_POLICY_COMMANDS_ASK: "[7]",
    };
    const lines = await problems({}, env);
    expect(lines.toSorted()).toEqual([
      'environment: HANDRAIL_POLICY_AUTONOMI: unknown variable. Did you mean "HANDRAIL_POLICY_AUTONOMY"?',
      expect.stringMatching(/^environment: HANDRAIL_TOOLS_DISABLE: broken YAML: \w/),
      'environment: policy.autonomy: expected one of readonly, supervised, full, got "fully". Did you mean "full"?',
      "environment: policy.commands.ask[0]: expected a rule, or a map of rule, match, not_match, got 7",
    ]);
  });
});
