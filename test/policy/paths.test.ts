import { link } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Decision } from "../../src/core/contract/decision.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import type { PolicySettings } from "../../src/policy/policy-settings.ts";
import { type Layout, layout } from "../support/layout.ts";
import { temporaryFolder } from "../support/workspace.ts";

type Operation = "read" | "write";

/** Returns the policy's decision on one path, in a world and with settings. */
async function judge(
  world: Layout,
  path: string,
  operation: Operation = "read",
  policy: PolicySettings = {},
): Promise<Decision> {
  const toolkit = await world.toolkit({ policy });
  return toolkit.judge([{ kind: operation, path }]);
}

describe("which root decides", () => {
  let world: Layout;
  beforeAll(async () => {
    world = await layout();
    for (const path of ["a.txt", "lib/secret/key.txt", "lib/secret/public/readme.txt", "..hidden"])
      await world.file(path);
  });

  test("files of the workspace are read and written without asking", async () => {
    for (const path of [
      "a.txt",
      "./a.txt",
      ".",
      "lib/../a.txt",
      "new/deep/file.txt",
      "..hidden",
      join(world.workDir, "a.txt"),
    ]) {
      expect(await judge(world, path)).toEqual({ verdict: "allow", risk: "low", rule: "workspace" });
      expect(await judge(world, path, "write")).toEqual({ verdict: "allow", risk: "low", rule: "workspace" });
    }
  });

  test("a workspace under a forbidden folder stays usable, and nothing next to it", async () => {
    const policy = { forbiddenPaths: [world.root] };
    expect(await judge(world, "a.txt", "write", policy)).toMatchObject({ verdict: "allow", rule: "workspace" });
    expect(await judge(world, "../other", "read", policy)).toMatchObject({ verdict: "deny", rule: "forbidden_paths" });
    expect(await judge(world, world.root, "read", { ...policy, workspaceOnly: false })).toMatchObject({
      verdict: "deny",
      rule: "forbidden_paths",
    });
  });

  test("the longest match decides, whichever list has it and in whichever order", async () => {
    const policy = { forbiddenPaths: ["lib/secret"], allowedRoots: ["lib/secret/public"] };
    expect(await judge(world, "lib/x", "write", policy)).toMatchObject({ verdict: "allow", rule: "workspace" });
    expect(await judge(world, "lib/secret/key.txt", "read", policy)).toMatchObject({
      verdict: "deny",
      rule: "forbidden_paths",
    });
    expect(await judge(world, "lib/secret", "read", policy)).toMatchObject({ verdict: "deny" });
    expect(await judge(world, "lib/secret/public/readme.txt", "write", policy)).toMatchObject({
      verdict: "allow",
      rule: "allowed_roots",
    });
    expect(await judge(world, "lib/secretive", "read", policy)).toMatchObject({ verdict: "allow" });
  });

  test("a tie is forbidden", async () => {
    expect(await judge(world, "a.txt", "read", { forbiddenPaths: [world.workDir] })).toMatchObject({ verdict: "deny" });
    expect(
      await judge(world, world.outside, "read", {
        forbiddenPaths: [world.outside],
        allowedRoots: [`${world.outside}/`],
      }),
    ).toMatchObject({ verdict: "deny" });
  });

  test("if exactly the workspace is forbidden, the text says so and what to do", async () => {
    const way = `Work in another folder, which may lie below ${world.workDir} (--work-dir), or set policy.forbidden_paths to a list without ${world.workDir}.`;
    const closed = { forbiddenPaths: [world.workDir, world.outside] };
    for (const path of [".", "a.txt", join(world.workDir, "lib/new.txt")]) {
      expect(await judge(world, path, "write", closed)).toEqual({
        verdict: "deny",
        risk: "high",
        rule: "forbidden_paths",
        reason: `Path blocked by security policy: ${path} (forbidden_paths has ${world.workDir}). That is the working directory itself, so every path in it is refused. ${way}`,
      });
    }
    const command = await (await world.toolkit({ policy: closed })).judge([{ kind: "exec", command: "ls" }]);
    expect(command).toMatchObject({ verdict: "deny", rule: "forbidden_paths" });
    expect(command.reason).toMatch(/^Path blocked by security policy: \. \(/);
    expect(command.reason?.endsWith(way)).toBe(true);
    expect((await judge(world, world.outside, "read", closed)).reason).toBe(
      `Path blocked by security policy: ${world.outside} (forbidden_paths has ${world.outside})`,
    );
    expect((await judge(world, "lib/x", "read", { forbiddenPaths: ["lib"] })).reason).toBe(
      `Path blocked by security policy: lib/x (forbidden_paths has ${world.workDir}/lib)`,
    );
  });

  test("allowed roots are used like the workspace; ~ is the home there", async () => {
    await world.file(join(world.home, "notes/today.md"));
    const policy = { allowedRoots: ["~/notes", world.outside], forbiddenPaths: ["~"] };
    expect(await judge(world, "~/notes/today.md", "write", policy)).toMatchObject({
      verdict: "allow",
      rule: "allowed_roots",
    });
    expect(await judge(world, join(world.home, "notes/new.md"), "write", policy)).toMatchObject({ verdict: "allow" });
    expect(await judge(world, "../../outside/secret.txt", "read", policy)).toMatchObject({ verdict: "allow" });
    for (const path of ["~", "~/other", "~/notes2/x", "~/notes/../other"]) {
      expect(await judge(world, path, "read", policy)).toMatchObject({ verdict: "deny", rule: "forbidden_paths" });
    }
  });

  test("a sibling whose name begins like the workspace's is outside", async () => {
    for (const path of ["../ws2/out.txt", `${world.workDir}2/out.txt`, `${world.workDir}-old`, "../w"]) {
      expect(await judge(world, path, "write", { forbiddenPaths: [] })).toMatchObject({
        verdict: "deny",
        rule: "workspace_only",
      });
    }
  });

  test("two dots that stay inside are allowed, outside they are refused with what to do", async () => {
    expect(await judge(world, "lib/../../ws/a.txt")).toMatchObject({ verdict: "allow" });
    const { reason, ...decision } = await judge(world, "../../outside/secret.txt", "read", { forbiddenPaths: [] });
    expect(decision).toEqual({ verdict: "deny", risk: "high", rule: "workspace_only" });
    expect(reason).toBe(
      `Path not allowed by security policy: ../../outside/secret.txt (it leads to ${world.outside}/secret.txt) is outside the workspace ` +
        `${world.workDir}. Use a path inside it, or have its folder added to allowed_roots.`,
    );
  });

  test("with workspaceOnly off, what is outside is asked about except in full, what is forbidden stays forbidden", async () => {
    const policy = { workspaceOnly: false, forbiddenPaths: ["/etc"] };
    for (const autonomy of ["supervised", "full"] as const) {
      expect(await judge(world, world.outside, "read", { ...policy, autonomy })).toMatchObject(
        autonomy === "full"
          ? { verdict: "allow", rule: "autonomy" }
          : { verdict: "ask", risk: "medium", rule: "outside" },
      );
      expect(await judge(world, "/etc/hostname", "read", { ...policy, autonomy })).toMatchObject({ verdict: "deny" });
    }
  });

  test("a path in other capitals is another path", async () => {
    await world.file(join(world.root, "SRV/WS/a.txt"));
    expect(await judge(world, join(world.root, "SRV/WS/a.txt"), "read", { forbiddenPaths: [] })).toMatchObject({
      verdict: "deny",
      rule: "workspace_only",
    });
  });

  test("the text names the path and the forbidden path that covers it", async () => {
    expect((await judge(world, "/etc/passwd")).reason).toBe(
      "Path blocked by security policy: /etc/passwd (forbidden_paths has /etc)",
    );
  });
});

describe("links", () => {
  let world: Layout;
  const policy = { forbiddenPaths: [] };
  beforeAll(async () => {
    world = await layout();
    await world.file("inside/a.txt");
    await world.link("good", "inside/a.txt");
    await world.link("good-folder", join(world.workDir, "inside"));
    await world.link("to-file", join(world.outside, "secret.txt"));
    await world.link("to-folder", "../../outside");
    await world.link("dangling", join(world.outside, "not-there-yet"));
    await world.link("dangling-relative", "../../outside/not-there-yet");
    await world.link("dangling-inside", "inside/new.txt");
    await world.link("chain1", "chain2");
    await world.link("chain2", "inside/../chain3");
    await world.link("chain3", "to-folder/new/file");
    await world.link("loop1", "loop2");
    await world.link("loop2", "loop1");
    await world.link("self/self", ".");
    // The kernel follows `to-folder` before it goes up, so these two lead to root/….
    await world.link("up-through-link", "to-folder/../none");
    await world.link("up-through-missing-link", "dangling/../none");
  });

  test.each(["good", "good-folder/a.txt", "good-folder/new.txt", "dangling-inside", "self/self/self/x"])(
    "%s private address and is fine",
    async (path) => {
      expect(await judge(world, path, "write", policy)).toMatchObject({ verdict: "allow" });
    },
  );

  test.each([
    "to-file",
    "to-folder",
    "to-folder/secret.txt",
    "to-folder/new/deep/file",
    "dangling",
    "dangling/below",
    "dangling-relative",
    "chain1",
    "chain1/below",
    "up-through-link",
    "up-through-missing-link",
  ])("%s leads out and is refused, to read and to write", async (path) => {
    expect(await judge(world, path, "read", policy)).toMatchObject({ verdict: "deny", rule: "workspace_only" });
    expect(await judge(world, path, "write", policy)).toMatchObject({ verdict: "deny", rule: "workspace_only" });
  });

  test.each(["loop1", "loop1/x"])("%s leads in a circle and is refused", async (path) => {
    const { verdict, reason } = await judge(world, path, "read", policy);
    expect(verdict).toBe("deny");
    expect(reason).toContain(`${path} cannot be resolved`);
  });

  test("a call through a circle of links is denied, not failed", async () => {
    const toolkit = await world.toolkit({ policy });
    expect(await toolkit.call({ name: "read", input: { path: "loop1" } })).toMatchObject({
      status: "denied",
      by: "policy",
    });
  });

  test("two dots after a link are judged both above its target and above the link", async () => {
    // As written by a model, `to-folder/..` is the workspace itself; the judged path is the one that is used.
    expect(await judge(world, "to-folder/../inside/a.txt", "read", policy)).toMatchObject({ verdict: "allow" });
    const toolkit = await world.toolkit({ policy });
    expect(await toolkit.call({ name: "read", input: { path: "to-folder/../inside/a.txt" } })).toMatchObject({
      status: "ok",
      data: { text: "content\n" },
    });
  });

  test("a path that is forbidden as written stays forbidden even if a link leads it inside", async () => {
    await world.link(join(world.root, "vault/door"), world.workDir);
    const decision = await judge(world, join(world.root, "vault/door/a.txt"), "read", {
      forbiddenPaths: [join(world.root, "vault")],
    });
    expect(decision).toMatchObject({ verdict: "deny", rule: "forbidden_paths" });
    await world.folder("forbidden-here");
    await world.link("forbidden-here/back", "../inside");
    expect(
      await judge(world, "forbidden-here/back/a.txt", "read", { forbiddenPaths: ["forbidden-here"] }),
    ).toMatchObject({ verdict: "deny" });
  });

  test("a link into a forbidden folder is refused, and so is a forbidden path that is itself a link", async () => {
    await world.file("private/key.txt");
    await world.link("way-in", "private");
    await world.link("private-link", "private");
    expect(await judge(world, "way-in/key.txt", "read", { forbiddenPaths: ["private"] })).toMatchObject({
      verdict: "deny",
    });
    expect(await judge(world, "private/key.txt", "read", { forbiddenPaths: ["private-link"] })).toMatchObject({
      verdict: "deny",
    });
  });

  test("an allowed root that is a link allows its target", async () => {
    await world.link(join(world.root, "shortcut"), world.outside);
    const allowed = { forbiddenPaths: [], allowedRoots: [join(world.root, "shortcut")] };
    expect(await judge(world, join(world.root, "shortcut/secret.txt"), "read", allowed)).toMatchObject({
      verdict: "allow",
    });
    expect(await judge(world, join(world.outside, "secret.txt"), "read", allowed)).toMatchObject({ verdict: "allow" });
  });

  test("a workspace given through a link is the link's target", async () => {
    const given = await world.link(join(world.root, "my-project"), world.workDir);
    const toolkit = await world.toolkit({ workDir: given, policy });
    expect(toolkit.backend.workDir).toBe(world.workDir);
    for (const path of ["inside/a.txt", join(world.workDir, "new.txt"), join(given, "inside/a.txt"), given]) {
      expect(await toolkit.judge([{ kind: "write", path }])).toMatchObject({ verdict: "allow" });
    }
    expect(await toolkit.judge([{ kind: "read", path: join(given, "to-file") }])).toMatchObject({ verdict: "deny" });
  });

  test("writing a file with several hard links needs approval in every autonomy; reading it does not", async () => {
    await link(join(world.outside, "secret.txt"), join(world.workDir, "hard.txt"));
    for (const autonomy of ["supervised", "full"] as const) {
      const decision = await judge(world, "hard.txt", "write", { ...policy, autonomy });
      expect(decision).toMatchObject({ verdict: "ask", rule: "hard_link" });
      expect(decision.reason).toContain("2 names (hard links)");
    }
    expect(await judge(world, "hard.txt", "read", policy)).toMatchObject({ verdict: "allow" });
  });

  test("a forbidden circle of links stays forbidden as written, and forbids nothing else", async () => {
    expect(await judge(world, "loop1/x", "read", { forbiddenPaths: ["loop1"] })).toMatchObject({
      verdict: "deny",
      rule: "forbidden_paths",
    });
    expect(await judge(world, "good", "read", { forbiddenPaths: ["loop1"] })).toMatchObject({ verdict: "allow" });
  });
});

describe("the text of a path alone", () => {
  let world: Layout;
  beforeAll(async () => {
    world = await layout();
  });

  test.each([
    ["a NUL byte", "file\0.txt", "NUL byte"],
    ["a NUL byte behind a way out", "../../outside/x\0", "NUL byte"],
    ["a URL", "file://./README.md", "is a URL"],
    ["a URL in capitals", "HTTPS://example.org/x", "is a URL"],
    ["a path longer than any system takes", `${"d/".repeat(2_100)}f`, "longer than 4096 bytes"],
    ["a name longer than any system takes", "n".repeat(256), "name is too long"],
  ])("%s is refused, to read, to write and to stand in, and judging never rejects", async (_, path, reason) => {
    for (const operation of ["read", "write"] as const) {
      const decision = await judge(world, path, operation);
      expect(decision).toMatchObject({ verdict: "deny", rule: "path_text" });
      expect(decision.reason).toContain(reason);
    }
    const toolkit = await world.toolkit({ policy: { autonomy: "full" } });
    expect(await toolkit.judge([{ kind: "exec", command: "true", cwd: path }])).toMatchObject({
      verdict: "deny",
      rule: "path_text",
    });
  });

  test("is limited in bytes", async () => {
    expect(await judge(world, "é/".repeat(1_400))).toMatchObject({ verdict: "deny", rule: "path_text" });
  });

  test("with control characters needs approval in every autonomy to write, and none to read", async () => {
    for (const path of ["a\nb.txt", "a\x1b[31m.txt", "tab\t", "del\x7f", "new\n/inside.txt"]) {
      for (const autonomy of ["supervised", "full"] as const) {
        const decision = await judge(world, path, "write", { autonomy });
        expect(decision).toMatchObject({ verdict: "ask", rule: "path_text" });
        expect(decision.reason).toBe(
          `Writing ${JSON.stringify(path)} requires approval: its name has control characters in it`,
        );
      }
      expect(await judge(world, path, "read")).toMatchObject({ verdict: "allow" });
    }
    expect(await judge(world, "../x\n", "write", { forbiddenPaths: [] })).toMatchObject({ verdict: "deny" });
  });

  test("may contain backslashes, colons, spaces and other scripts", async () => {
    for (const path of [
      "..\\..\\etc\\passwd",
      "C:x.txt",
      "C:\\x",
      "a b",
      "é…漢字",
      "-rf",
      "file:notes",
      "~root",
      "a~",
    ]) {
      expect(await judge(world, path, "write")).toMatchObject({ verdict: "allow" });
    }
  });
});

describe("files that are special in any place", () => {
  let world: Layout;
  beforeAll(async () => {
    world = await layout();
    await world.file("config/production.txt");
    await world.file("hooks/pre-commit");
  });

  test.each([
    ".env",
    ".env.local",
    ".env.production",
    ".env-staging",
    ".env_test",
    ".envrc",
    "app/.ENV",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    "credentials",
    "gcp/credentials.json",
    "secrets.yml",
    "id_rsa",
    "keys/id_ed25519",
    "id_ecdsa_sk",
    "id_rsa.bak",
    "server.pem",
    "tls/server.KEY",
    "store.p12",
    "kubeconfig",
    ".kube/config",
    ".docker/config.json",
    "backup/.ssh/known_hosts",
    "backup/.ssh",
    ".aws/config",
    ".gnupg/x",
  ])("%s is asked about before it is read, in every autonomy", async (path) => {
    if (path !== "backup/.ssh") await world.file(path);
    for (const autonomy of ["readonly", "supervised", "full"] as const) {
      const decision = await judge(world, path, "read", { autonomy });
      expect(decision).toMatchObject({ verdict: "ask", risk: "high", rule: "sensitive_files" });
      expect(decision.reason).toMatch(/^Access to .+ requires approval: it holds /);
    }
    expect(await judge(world, path, "write", { autonomy: "full" })).toMatchObject({ verdict: "ask" });
  });

  test.each([
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env.local.example",
    ".env-example",
    ".environment",
    "env",
    "my.env.ts",
    "id_rsa.pub",
    "id_mapping.ts",
    "keyboard.ts",
    "monkey",
    "credentials.ts",
    "src/secrets.ts",
    "aws/config",
    "kube/config",
    "package.json",
    ".gitignore",
    ".github/workflows/ci.yml",
    "docs/.git.md",
    "mcp.ts",
    "Makefile",
    "build.rs",
    "conftest.py",
    ".editorconfig",
    ".mvn/wrapper/maven-wrapper.properties",
    ".yarn/install-state.gz",
    "rust-toolchain.md",
    "src/promise.toml",
    "tools/bazel.ts",
  ])("%s is an ordinary file", async (path) => {
    expect(await judge(world, path, "read")).toMatchObject({ verdict: "allow" });
    expect(await judge(world, path, "write")).toMatchObject({ verdict: "allow" });
  });

  test.each([
    ".git",
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/hooks",
    ".git/info/attributes",
    ".git/commondir",
    ".git/worktrees/x/config.worktree",
    "vendor/lib/.git/config",
    ".GIT/config",
    ".gitmodules",
    ".husky/pre-commit",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".devcontainer/devcontainer.json",
    ".mcp.json",
    "mcp.json",
    ".bashrc",
    ".zshenv",
    ".profile",
    ".bash_profile",
    ".zlogin",
    ".gitconfig",
    ".ssh/authorized_keys",
    "handrail.yaml",
    "sub/handrail.yml",
    "app.code-workspace",
    ".devcontainer.json",
    ".helix/languages.toml",
    ".dir-locals-2.el",
    ".hg/hgrc",
    ".Rprofile",
    ".irbrc",
    ".pryrc",
    ".ghci",
    ".iex.exs",
    ".ocamlinit",
    ".octaverc",
    ".psysh.php",
    ".perldb",
    ".byebugrc",
    ".opencode/plugins/a.ts",
    ".aider.conf.yml",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/releases/yarn-4.0.0.cjs",
    ".cargo/config.toml",
    "rust-toolchain",
    "crates/a/rust-toolchain.toml",
    ".tool-versions",
    "mise.toml",
    ".mise.local.toml",
    ".mvn/jvm.config",
    ".mvn/extensions.xml",
    ".sbtopts",
    "tools/bazel",
  ])("%s is asked about before it is written, in every autonomy, although it does not exist", async (path) => {
    for (const autonomy of ["supervised", "full"] as const) {
      const decision = await judge(world, path, "write", { autonomy });
      expect(decision).toMatchObject({ verdict: "ask", risk: "high", rule: "protected_files" });
    }
    expect(await judge(world, path, "write", { autonomy: "readonly" })).toMatchObject({ verdict: "deny" });
  });

  test("reading what is only protected is not asked about", async () => {
    for (const path of [".git/config", ".vscode/tasks.json", ".bashrc", "handrail.yaml"]) {
      expect(await judge(world, path, "read")).toMatchObject({ verdict: "allow" });
    }
  });

  test("a missing file holds no secret, so reading it is not asked about; writing it is", async () => {
    expect(await judge(world, "none/.env", "read")).toMatchObject({ verdict: "allow" });
    expect(await judge(world, "none/.env", "write")).toMatchObject({ verdict: "ask", rule: "sensitive_files" });
    expect(await judge(world, "~/.ssh/none", "read")).not.toMatchObject({ verdict: "allow" });
  });

  test("a special name also counts for a link to an ordinary file", async () => {
    await world.link("linked/.env", "../config/production.txt");
    await world.link(".git/hooks", "../hooks");
    await world.file(".env.real");
    await world.link("ordinary.txt", ".env.real");
    await world.link("plain", ".git/config");
    expect(await judge(world, "linked/.env", "read")).toMatchObject({ verdict: "ask", rule: "sensitive_files" });
    expect(await judge(world, ".git/hooks/pre-commit", "write")).toMatchObject({
      verdict: "ask",
      rule: "protected_files",
    });
    expect(await judge(world, "ordinary.txt", "read")).toMatchObject({ verdict: "ask", rule: "sensitive_files" });
    expect(await judge(world, "plain", "write")).toMatchObject({ verdict: "ask", rule: "protected_files" });
  });
});

describe("Handrail's own folders", () => {
  const cases: readonly [string, (world: Layout) => string][] = [
    ["from outside", ({ stateDir }) => join(stateDir, "grants.json")],
    ["the folder itself", ({ stateDir }) => stateDir],
    ["with two dots", () => "../../state/outputs/x"],
  ];

  test.each(cases)("are refused in every autonomy and whatever is allowed: %s", async (_, pathIn) => {
    const world = await layout();
    for (const autonomy of ["readonly", "supervised", "full"] as const) {
      for (const more of [
        {},
        { workspaceOnly: false, forbiddenPaths: [] },
        { allowedRoots: ["/", world.root, join(world.stateDir, "outputs"), world.stateDir] },
      ]) {
        const toolkit = await world.toolkit({ policy: { autonomy, ...more } });
        const decision = await toolkit.judge([{ kind: "read", path: pathIn(world) }]);
        expect(decision).toMatchObject({ verdict: "deny", rule: "state" });
        expect(decision.reason).toMatch(/^Path blocked by security policy: .+ belongs to Handrail itself$/);
        expect(await toolkit.judge([{ kind: "write", path: pathIn(world) }])).toMatchObject({ verdict: "deny" });
      }
    }
  });

  test("are refused from inside the workspace, on every way there", async () => {
    const world = await layout();
    const stateDir = await world.folder(".local/state/handrail");
    await world.link("way", ".local/state/handrail");
    await world.link("link-to-file", ".local/state/handrail/new");
    const toolkit = await world.toolkit({ stateDir, policy: { autonomy: "full" } });
    for (const path of [
      ".local/state/handrail",
      ".local/state/handrail/x",
      "way/x",
      "link-to-file",
      join(stateDir, "..", "handrail/x"),
    ]) {
      expect(await toolkit.judge([{ kind: "write", path }])).toMatchObject({ verdict: "deny", rule: "state" });
    }
    expect(await toolkit.judge([{ kind: "write", path: ".local/state/other" }])).toMatchObject({ verdict: "allow" });
  });

  test("are refused as a workspace too", async () => {
    const world = await layout();
    const inside = await world.folder(join(world.stateDir, "project"));
    const toolkit = await world.toolkit({ workDir: inside, policy: { autonomy: "full" } });
    expect(await toolkit.judge([{ kind: "read", path: "x" }])).toMatchObject({ verdict: "deny", rule: "state" });
  });

  test("include the configuration folder in XDG_CONFIG_HOME", async () => {
    const config = temporaryFolder();
    process.env["XDG_CONFIG_HOME"] = config;
    try {
      const world = await layout();
      const toolkit: Toolkit = await world.toolkit({
        policy: { workspaceOnly: false, forbiddenPaths: [] },
      });
      expect(await toolkit.judge([{ kind: "write", path: join(config, "handrail/config.yaml") }])).toMatchObject({
        verdict: "deny",
        rule: "state",
      });
      expect(await toolkit.judge([{ kind: "write", path: join(config, "other/config") }])).toMatchObject({
        verdict: "ask",
      });
    } finally {
      delete process.env["XDG_CONFIG_HOME"];
    }
  });
});

test.each([
  ".npmrc",
  ".yarnrc.yml",
  ".vimrc",
  ".claude/settings.json",
  ".cursor/mcp.json",
  ".bash_env",
  ".inputrc",
  "home/.config/git/config",
  ".config/fish/config.fish",
  ".cargo/config.toml",
  "sub/handrail.yaml",
])("writing %s, even where it is not there yet, is asked about in every autonomy that writes", async (path) => {
  const world = await layout();
  for (const autonomy of ["supervised", "full"] as const) {
    const toolkit = await world.toolkit({ policy: { autonomy, commands: { allow: ["Edit(**)", `Edit(${path})`] } } });
    expect(await toolkit.judge([{ kind: "write", path }])).toMatchObject({ verdict: "ask", rule: "protected_files" });
  }
});

test("people's rules tighten what the policy allows, and allow what it leaves to them", async () => {
  const world = await layout();
  const commands = {
    deny: ["Edit(dist/**)"],
    ask: ["Read(*.lock)"],
    allow: ["Read(.env)", "Read(*.pem)", "Edit(//etc/**)", "mcp__github__list_issues"],
  };
  for (const path of [".env", ".env.local", "a.pem"]) await world.file(path);
  const toolkit = await world.toolkit({ policy: { commands } });
  const verdict = async (kind: "read" | "write", path: string) => (await toolkit.judge([{ kind, path }])).verdict;
  expect(await verdict("write", "dist/a.js")).toBe("deny");
  expect(await verdict("write", "src/a.js")).toBe("allow");
  expect(await verdict("read", "sub/yarn.lock")).toBe("ask");
  expect(await verdict("read", ".env")).toBe("allow");
  expect(await verdict("read", ".env.local")).toBe("ask");
  expect(await verdict("read", "a.pem")).toBe("ask"); // a wildcard does not name a secret
  expect(await verdict("write", "/etc/hosts")).toBe("deny"); // forbidden stays forbidden
});
