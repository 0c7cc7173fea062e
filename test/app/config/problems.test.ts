import { execFileSync } from "node:child_process";
import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { readSettings } from "../../../src/app/config/read-settings.ts";
import { readSource } from "../../../src/app/config/source.ts";
import { GROUPS, asOrdinaryUser, place } from "./config.ts";

describe("a problem in a file is reported with line, column, key, what was expected and what came", () => {
  test.for([
    [
      "an unknown key",
      "policy:\n  autonomi: full\n",
      'config.yaml:2:3: policy.autonomi: unknown key. Did you mean "autonomy"?',
    ],
    [
      "a host that is a URL",
      "policy: { network: { deny_hosts: [https://example.org/] } }\n",
      'config.yaml:1:35: policy.network.deny_hosts[0]: expected a host ("example.org", "*.example.org", "10.0.0.7", "localhost:3000"), got "https://example.org/". Omit scheme and path; a * may only be the first part.',
    ],
    [
      "a limit that is negative",
      "policy: { max_actions_per_hour: -1 }\n",
      "config.yaml:1:33: policy.max_actions_per_hour: expected a whole number from 0 to 1000000, or null for no limit, got -1",
    ],
    [
      "a limit that is no number",
      "policy: { max_actions_per_hour: no }\n",
      'config.yaml:1:33: policy.max_actions_per_hour: expected a whole number from 0 to 1000000, or null for no limit, got "no"',
    ],
    [
      "examples without their rule",
      "policy: { commands: { deny: [{ match: [ls] }] } }\n",
      "config.yaml:1:30: policy.commands.deny[0]: expected a map of rule, match, not_match, got a map. It needs rule.",
    ],
    [
      "a number in place of a rule",
      "policy: { commands: { ask: [7] } }\n",
      "config.yaml:1:29: policy.commands.ask[0]: expected a rule, or a map of rule, match, not_match, got 7",
    ],
    [
      "an unknown key that is near none",
      "colour: red\n",
      `config.yaml:1:1: colour: unknown key. Keys here: ${GROUPS}.`,
    ],
    [
      "an agent with a toolset that is not there",
      "agents:\n  coder: { toolset: codin }\n",
      'config.yaml:2:21: agents.coder.toolset: expected a preset or a toolset (coding, readonly, web, workspace, operator, default, assistant, all, none), got "codin". Did you mean "coding"?',
    ],
    [
      "a limit that agents do not have",
      "agents: { coder: { limits: { round: 3 } } }\n",
      'config.yaml:1:30: agents.coder.limits.round: unknown key. Did you mean "rounds"?',
    ],
    [
      "a key in the wrong place",
      "preset: coding\n",
      'config.yaml:1:1: preset: unknown key. Did you mean "tools.preset"?',
    ],
    [
      "a switch of a tool, as another system has it",
      "tools: { shell_enabled: false }\n",
      "config.yaml:1:10: tools.shell_enabled: unknown key. A tool is there unless it is disabled: tools.disable: [run_shell].",
    ],
    [
      "a key of another system",
      "tools: { shell_confirm: true }\n",
      "config.yaml:1:10: tools.shell_confirm: unknown key. Here it is policy.shell_confirm.",
    ],
    [
      "a value that is none of those",
      "policy:\n  autonomy: fully\n",
      'config.yaml:2:13: policy.autonomy: expected one of readonly, supervised, full, got "fully". Did you mean "full"?',
    ],
    [
      "a number in place of a word",
      "store: 7\n",
      "config.yaml:1:8: store: expected sqlite, memory or postgres://USER@HOST:PORT/DATABASE, got 7",
    ],
    [
      "a URL of another kind, without its password",
      "queue: http://ann:secret@q.example.org\n",
      'config.yaml:1:8: queue: expected redis://HOST:PORT, or rediss:// with TLS, got "http://ann:…@q.example.org". See docs/workers.md.',
    ],
    [
      "a word in place of true or false",
      "policy: { workspace_only: no }\n",
      'config.yaml:1:27: policy.workspace_only: expected true or false, got "no"',
    ],
    [
      "a list in place of a map",
      "tools: [a]\n",
      "config.yaml:1:8: tools: expected a map of preset, work_dir, disable, options, plugins, modules, mcp, got a list",
    ],
    ["a list at the top", "- a\n", `config.yaml:1:1: expected a map of ${GROUPS}, got a list`],
    ["text at the top", "hello\n", `config.yaml:1:1: expected a map of ${GROUPS}, got text`],
    [
      "a map in place of a list",
      "tools:\n  disable: { bash: true }\n",
      "config.yaml:2:12: tools.disable: expected a list, got a map",
    ],
    [
      "nothing in place of a list",
      "tools:\n  disable:\n",
      "config.yaml:2:11: tools.disable: expected a list, got nothing. For an empty list write [].",
    ],
    [
      "an unknown tool to disable",
      "tools:\n  disable: [read, bahs]\n",
      'config.yaml:2:19: tools.disable[1]: expected the name of a tool, got "bahs". Did you mean "bash"?',
    ],
    [
      "an unknown tool in a toolset",
      "toolsets:\n  mine: [raed]\n",
      'config.yaml:2:10: toolsets.mine[0]: expected the name of a tool, got "raed". Did you mean "read"?',
    ],
    [
      "options of an unknown tool",
      "tools: { options: { gerp: {} } }\n",
      'config.yaml:1:27: tools.options.gerp: expected the name of a tool, got "gerp". Did you mean "grep"?',
    ],
    [
      "an option that the tool has not",
      "tools: { options: { ls: { max_results: 5 } } }\n",
      "config.yaml:1:27: tools.options.ls.max_results: unknown key.",
    ],
    [
      "an option out of its range",
      "tools: { options: { grep: { max_results: 0 } } }\n",
      "config.yaml:1:42: tools.options.grep.max_results: expected a whole number from 1 to 10000, got 0",
    ],
    [
      "half a result",
      "tools: { options: { find: { max_results: 1.5 } } }\n",
      "config.yaml:1:42: tools.options.find.max_results: expected a whole number from 1 to 10000, got 1.5",
    ],
    [
      "no time at all",
      "tools: { options: { bash: { timeout: -1 } } }\n",
      "config.yaml:1:38: tools.options.bash.timeout: expected a number of seconds above 0, at most 86400, got -1",
    ],
    [
      "a preset that there is not",
      "tools:\n  preset: codign\n",
      'config.yaml:2:11: tools.preset: expected a preset or a toolset (coding, readonly, web, workspace, operator, default, assistant, all, none), got "codign". Did you mean "coding"?',
    ],
    [
      "a toolset with a preset's name",
      "toolsets: { all: [read] }\n",
      'config.yaml:1:13: toolsets.all: expected a name: a letter, then up to 63 letters, digits, "_" or "-", got "all". There is a preset of this name; choose another.',
    ],
    [
      "a toolset with no name",
      'toolsets: { "a b": [read] }\n',
      'config.yaml:1:13: toolsets.a b: expected a name: a letter, then up to 63 letters, digits, "_" or "-", got "a b"',
    ],
    [
      "a pattern where none is understood",
      'policy: { forbidden_paths: ["**/*.pem"] }\n',
      'config.yaml:1:29: policy.forbidden_paths[0]: expected a path, got "**/*.pem". Patterns are not supported: name the folder.',
    ],
    [
      "an empty path",
      'tools: { work_dir: "" }\n',
      'config.yaml:1:20: tools.work_dir: expected a path, got "". For the folder of this file write ".".',
    ],
    [
      "a bare tilde",
      "policy: { allowed_roots: [~] }\n",
      'config.yaml:1:27: policy.allowed_roots[0]: expected a path, got nothing. In YAML a bare ~ is nothing: for the home folder write "~".',
    ],
    [
      "a name that no variable has",
      'policy: { env: { pass: ["A*"] } }\n',
      'config.yaml:1:25: policy.env.pass[0]: expected the name of an environment variable, got "A*". A name is letters, digits and _; patterns are not supported.',
    ],
    [
      "a model of an unknown provider",
      "model: opnai:gpt-5\n",
      'config.yaml:1:8: model: expected PROVIDER:NAME, got "opnai:gpt-5". unknown provider "opnai". Providers: openai, anthropic, google, openai-compatible, ollama, demo. A model is named PROVIDER:NAME, as openai:gpt-5.',
    ],
    [
      "a model without a name",
      "model: { provider: openai }\n",
      "config.yaml:1:8: model: expected a map of provider, name, base_url, key_variable, context, price, got a map. It needs name.",
    ],
    [
      "a key given twice",
      "store: memory\npolicy:\nstore: sqlite\n",
      "config.yaml:3:1: store: given twice, first on line 1; remove one",
    ],
    [
      "a tab",
      "policy:\n\tautonomy: full\n",
      "config.yaml:2:1: a tab is used where YAML requires spaces; indent with spaces",
    ],
    [
      "a second document",
      "store: memory\n---\nstore: sqlite\n",
      'config.yaml:2:1: expected one document, but "---" begins a second one; remove it and what follows',
    ],
    [
      "a tag",
      "store: !!js/function 'x'\n",
      "config.yaml:1:8: tags (!name) are not supported; write the value without one",
    ],
    ["an alias of nothing", "store: *a\n", "config.yaml:1:8: expected the anchor of this alias (&name) before it"],
    [
      "a key that is no name",
      "7: x\n",
      "config.yaml:1:1: expected a name as key; put it in quotes if it is meant as text",
    ],
    ["a merge key", "<<: { store: memory }\n", `config.yaml:1:1: unknown key. Keys here: ${GROUPS}.`],
    [
      "a key of every object",
      "__proto__: { store: memory }\n",
      `config.yaml:1:1: __proto__: unknown key. Keys here: ${GROUPS}.`,
    ],
  ] as const)("%s", async ([, user, line]) => {
    expect(await (await place()).problems({ user })).toEqual([line]);
  });

  test("broken YAML is reported at its position", async () => {
    const lines = await (await place()).problems({ user: 'store: "memory\n' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^config\.yaml:\d+:\d+: broken YAML: \w/);
  });

  test("all problems of all files are reported at once, from top to bottom", async () => {
    const lines = await (
      await place()
    ).problems({
      user: "stroe: memory\npolicy: { autonomy: ful }\n",
      project: "tools: { disable: [a], preset: x }\npolicy: { autonomy: full }\n",
    });
    expect(lines.map((line) => line.split(": ").slice(0, 2).join(": "))).toEqual([
      "config.yaml:1:1: stroe",
      "config.yaml:2:21: policy.autonomy",
      "handrail.yaml:1:20: tools.disable[0]",
      "handrail.yaml:1:32: tools.preset",
      "handrail.yaml:2:21: policy.autonomy",
    ]);
  });

  test("of very many problems the first hundred are listed, with the number of the others", async () => {
    const { problems } = await place();
    const lines = await problems({ user: Array.from({ length: 250 }, (_, index) => `k${index}: 1\n`).join("") });
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toBe("… and 150 more problems");
  });

  test("the content of a file cannot act on the terminal", async () => {
    const { problems } = await place();
    const [line] = await problems({ user: 'policy: { "\\e[2J\\u202ekey": 1 }\n' });
    expect(line).toMatch(/^config\.yaml:1:11: policy\.\\x1b\[2J\\u202ekey: unknown key/);
    expect((await problems({ user: 'store: "\\e]0;x\\a"\n' }))[0]).not.toMatch(/[\x00-\x1f]/);
  });

  test("values of the environment are not shown", async () => {
    const lines = await (
      await place()
    ).problems({ user: "policy: { autonomy: '${TOKEN}' }\ntools: { preset: '${TOKEN}' }\n" }, { TOKEN: "s3cret" });
    expect(lines).toHaveLength(2);
    expect(lines.join("\n")).toContain('got "${TOKEN}"');
    expect(lines.join("\n")).not.toContain("s3cret");
  });
});

// How a file of secrets could look to a YAML parser. The program that planted the link reads our errors.
test.for([
  ["an ssh key", "-----BEGIN OPENSSH PRIVATE KEY-----\nswordfish\n-----END OPENSSH PRIVATE KEY-----\n"],
  ["passwords", "root:swordfish:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n"],
  ["a netrc", "machine example.org login me password swordfish\n"],
  ["an npmrc", "//registry.npmjs.org/:_authToken=swordfish\n"],
  ["one variable", "PASSWORD=swordfish\n"],
  ["variables", "A=1\nPASSWORD=swordfish\n"],
  ["credentials", "[default]\naws_secret_access_key = swordfish\n"],
  ["JSON", '{"auths": {"example.org": {"auth": "swordfish"}}}\n'],
  ["YAML", "example.org:\n  oauth_token: swordfish\n"],
  ["a long key", `${"k".repeat(100)}swordfish: 1\n`],
  ["a value where a map belongs", "policy: swordfish\ntools: swordfish\n"],
  ["an alias", "a: *swordfish\n"],
  ["a tag", "a: !swordfish b\nb: !<swordfish> c\n"],
  ["a directive", "%swordfish\n---\na: 1\n"],
  ["a version", "%YAML swordfish\n---\na: 1\n"],
  ["a block", "a: |swordfish\n  b\n"],
  ["an escape", 'a: "\\Uswordfish"\n'],
  ["a stray end", "a: [1]\n]swordfish\n"],
  ["two documents", "a: 1\n---\nswordfish\n"],
  ["braces", "{a: 1} swordfish {\n"],
])("nothing of a file that is no configuration is cited: %s", async ([, text = ""]) => {
  const { problems } = await place();
  expect((await problems({ project: text })).join("\n")).toMatch(/^handrail\.yaml:\d+:\d+: (?!.*swordfish)/s);
});

describe("an unreadable file is reported in a sentence, at once", () => {
  test.for([
    ["a folder", (path: string): Promise<unknown> => mkdir(path), "this is a folder, expected a file"],
    [
      "a FIFO",
      async (path: string): Promise<void> => void execFileSync("mkfifo", [path]),
      "this is a pipe, a socket or a device, expected a regular file",
    ],
    [
      "a link to a device",
      (path: string): Promise<unknown> => symlink("/dev/zero", path),
      "not read, because it links to /dev/zero, which is outside its folder. Put the file itself there",
    ],
    [
      "a link to nothing",
      (path: string): Promise<unknown> => symlink("nowhere", path),
      "cannot be read: there is no such file",
    ],
    [
      "a link to itself",
      (path: string): Promise<unknown> => symlink("handrail.yaml", path),
      "cannot be read: its links lead in a circle",
    ],
    [
      "not UTF-8",
      (path: string): Promise<unknown> => writeFile(path, Buffer.from([0x73, 0xff, 0xfe])),
      "this is not UTF-8 text; save it as UTF-8",
    ],
    [
      "UTF-16",
      (path: string): Promise<unknown> => writeFile(path, Buffer.from("\ufeffstore: memory\n", "utf16le")),
      "this is not UTF-8 text; save it as UTF-8",
    ],
    [
      "too large",
      (path: string): Promise<unknown> => writeFile(path, "#".repeat(1024 * 1024 + 1)),
      "larger than 1048576 bytes: this is not a configuration",
    ],
  ] as const)("%s", async ([, make, message]) => {
    const { project, trust } = await place();
    await make(project);
    expect((await readSettings({ project }, { trust })).warnings).toMatchObject([{ message }]);
  });

  test("a project's file may be a link within its folder, and the user's own a link to anywhere", async () => {
    const { folder, named, project, user, trust } = await place();
    await writeFile(join(folder, "src/shared.yaml"), "policy: { autonomy: readonly }\n");
    await Promise.all([symlink("src/shared.yaml", project), mkdir(dirname(user))]);
    await symlink(join(folder, "src/shared.yaml"), user);
    for (const files of [{ project }, { user }])
      expect((await readSettings(files, { trust })).settings.policy.autonomy).toBe("readonly");
    await rm(project);
    await symlink("../home/config.yaml", project);
    await rm(user);
    await writeFile(user, "policy: { autonomy: readonly }\n");
    const { settings, warnings } = await readSettings({ project }, { trust });
    expect(settings.policy.autonomy).toBe("supervised");
    expect(warnings).toMatchObject([{ message: expect.stringMatching(/not read, .*outside its folder/) }]);
    await symlink(user, named);
    expect((await readSettings({ named }, { trust })).settings.policy.autonomy).toBe("readonly");
  });

  test("one without read permission", async () => {
    const { project, root } = await place();
    await chmod(root, 0o755);
    await writeFile(project, "store: memory\n");
    await chmod(project, 0o000);
    expect(await asOrdinaryUser(() => readSource(project))).toEqual({
      ok: false,
      message: "cannot be read: permission denied",
    });
  });

  test("one of exactly a mebibyte is read, also with a byte order mark", async () => {
    const { project } = await place();
    const start = "\ufeffstore: memory\n#";
    await writeFile(project, start + "x".repeat(1024 * 1024 - Buffer.byteLength(start)));
    expect(await readSource(project)).toMatchObject({ ok: true });
    await rm(project);
    expect(await readSource(join(project, "x"))).toMatchObject({ ok: false });
  });
});
