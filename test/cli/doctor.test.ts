import { execSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Check, runChecks } from "../../src/cli/doctor/check.ts";
import { firstLineOf } from "../../src/cli/doctor/program.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type CommandLine, commandLine } from "./program.ts";

interface Found {
  readonly name: string;
  readonly required: boolean;
  readonly status: string;
  readonly detail: string;
  readonly fix?: string;
}

/** Runs with container engines that fail at once: the real ones are slower than everything else. */
const engines = temporaryFolder();
for (const name of ["docker", "podman"]) writeFileSync(join(engines, name), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
const PATH = `${engines}:${process.env["PATH"]}`;
const here = (line: CommandLine, args: readonly string[], path = PATH) => line.here(args, { PATH: path });

describe("handrail doctor", () => {
  test("reports every check on one line, and leaves nothing behind", async () => {
    const line = await commandLine();
    const { code, stdout, stderr } = await line.run(["doctor"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines.filter((each) => /^\w+:$/.test(each))).toEqual(["machine:", "state:", "settings:", "work:"]);
    for (const name of ["Node.js", "ripgrep", "bash", "git", "state folder", "configuration", "/proc", "pictures"]) {
      expect(lines.find((each) => each.startsWith(`ok       ${name.padEnd(13)}  `))).toBeDefined();
    }
    expect(stdout).toContain(`Node.js        ${process.versions.node}\n`);
    expect(stdout).toMatch(/^ok {7}ripgrep {8}ripgrep \d+\.\d+/m);
    expect(stdout).toMatch(/^missing {2}approvals .*\(optional\)\n +fix: handrail call … --yes/m);
    expect(await readdir(line.stateHome)).toEqual([]);
  });

  test("shows which model providers have a key", async () => {
    const line = await commandLine();
    const { stdout } = await line.here(["doctor"], { PATH, ANTHROPIC_API_KEY: "sk-test-12345678" });
    expect(stdout).toMatch(/^ok {7}models {9}.*anthropic \(key\)/m);
    expect(stdout).not.toContain("sk-test");
  });

  test("prints the same as JSON", async () => {
    const { code, stdout } = await here(await commandLine(), ["doctor", "--json"]);
    const report = JSON.parse(stdout) as { ok: boolean; checks: readonly Found[] };
    expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true });
    for (const { name, status, detail, fix } of report.checks) {
      expect([name, detail].every((word) => word !== "")).toBe(true);
      expect(status === "ok").toBe(fix === undefined);
    }
  });

  test("asks at a terminal if it has one", async () => {
    const terminal = (await commandLine()).terminal("handrail doctor", { PATH });
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toMatch(/^ok +approvals/m);
  });

  test("reports what is missing on the PATH, with what to type", async () => {
    const { code, stdout } = await (await commandLine()).here(["doctor"], { PATH: temporaryFolder() });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^missing {2}bash {11}not on the PATH\n +fix: .*bash$/m);
    expect(stdout).toMatch(/^missing {2}git {12}not on the PATH \(optional\)$/m);
  });

  test("finds a program that does not work", async () => {
    const folder = temporaryFolder();
    await writeFile(join(folder, "git"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
    const { code, stdout } = await here(await commandLine(), ["doctor"], `${folder}:${PATH}`);
    expect(code).toBe(0); // it is optional
    expect(stdout).toMatch(/^broken {3}git .*--version ended with 3 \(optional\)\n +fix: .*git$/m);
  });

  test("reports where tools would work, and what to do about a closed or missing folder", async () => {
    const line = await commandLine();
    expect((await here(line, ["doctor"])).stdout).toContain(`\nok       work folder    tools work in ${line.folder}\n`);
    const closed = await here(line, ["doctor", "--work-dir", "/etc"]);
    expect(closed.code).toBe(1);
    expect(closed.stdout).toMatch(
      /^broken {3}work folder {4}tools would work in \/etc\. .*forbidden_paths has \/etc.* the working directory itself, .*--work-dir.*policy\.forbidden_paths.*\n +fix: .*--work-dir/m,
    );
    if (process.platform === "linux") {
      // A sandbox whose workspace is the whole machine would protect nothing.
      const all = await here(line, ["doctor", "--work-dir", "/"]);
      expect(all.stdout).toMatch(/^ok {7}work folder {4}tools work in \/, not in the sandbox: \S/m);
    }
    await writeFile(join(line.folder, "handrail.yaml"), "policy: { forbidden_paths: [.] }\n");
    expect((await here(line, ["doctor"])).stdout).toContain(`forbidden_paths has ${line.folder}`);
    const nowhere = await here(line, ["doctor", "--work-dir", "nowhere"]);
    expect(nowhere.code).toBe(1);
    expect(nowhere.stdout).toMatch(/^broken {3}work folder .* does not exist: .*\/nowhere\n +fix: .*--work-dir/m);
  });

  test("reports a state folder that others may read, and how to close it", async () => {
    const line = await commandLine();
    const folder = join(line.stateHome, "handrail");
    await mkdir(folder);
    await chmod(folder, 0o755);
    const { code, stdout } = await here(line, ["doctor"]);
    expect(code).toBe(1);
    const fix = /state folder .*is open to others \(mode 755\)\n +fix: (.*)/.exec(stdout)?.[1];
    expect(fix).toBe(`chmod 700 ${folder}`);
    execSync(fix!);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await here(line, ["doctor"])).code).toBe(0);
    expect(await readdir(folder)).toEqual([]);
  });

  test("finds a state folder that is a file", async () => {
    const line = await commandLine();
    await writeFile(join(line.stateHome, "handrail"), "");
    const { code, stdout } = await here(line, ["doctor"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^broken {3}state folder .*is not a folder\n +fix: mv /m);
  });

  test("reports errors of the configuration, with their places", async () => {
    const line = await commandLine({ "handrail.yaml": "store: sqlite\npolicy:\n  autonomi: full\n" });
    const { code, stdout } = await here(line, ["doctor"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^broken {3}configuration {2}2 problems\n +handrail\.yaml:1:8: store: .*\n +handrail\.yaml:3:3: policy\.autonomi: .*\n +fix: \$\{EDITOR:-vi\} \+1 handrail\.yaml$/m,
    );
    await writeFile(join(line.folder, "handrail.yaml"), "policy: { env: { pass: [A] } }\n");
    expect((await here(line, ["doctor"])).stdout).toMatch(
      /^ok +configuration .*handrail\.yaml; some settings have no effect \(see: handrail trust\)$/m,
    );
  });

  test("lists the environment variables that set a key", async () => {
    const { stdout } = await (await commandLine()).here(["doctor"], { PATH, HANDRAIL_POLICY_AUTONOMY: "readonly" });
    expect(stdout).toMatch(/^ok {7}configuration {2}HANDRAIL_POLICY_AUTONOMY$/m);
  });

  test("shows warnings about rules", async () => {
    const line = await commandLine({ "handrail.yaml": 'policy: { commands: { deny: ["a && b"] } }\n' });
    const { code, stdout } = await here(line, ["doctor"]);
    expect(stdout).toMatch(
      /^ok {7}configuration {2}\/.*\/handrail\.yaml\n +policy\.commands\.deny "a && b" can never match/m,
    );
    expect(code).toBe(0);
  });

  // Each keeps `handrail call` from starting: exit code 2.
  test.each<[string, { readonly [path: string]: string }, readonly string[], RegExp]>([
    [
      "rules that fail their own examples",
      { "handrail.yaml": "policy:\n  commands:\n    deny:\n      - { rule: npm run *, match: [npm install] }\n" },
      [],
      /^broken {3}configuration {2}1 problem\n +handrail\.yaml:4:9: policy\.commands\.deny\[0\]: "npm run \*": it does not match its own example "npm install"\n +fix: \$\{EDITOR:-vi\} \+4 handrail\.yaml$/m,
    ],
    [
      "rules that cannot be read",
      { "handrail.yaml": 'policy: { commands: { deny: ["Glob(*)"] } }\n' },
      [],
      /^broken {3}configuration {2}1 problem\n +handrail\.yaml:1:\d+: policy\.commands\.deny\[0\]: expected a rule, got "Glob\(\*\)"/m,
    ],
    [
      "hosts that are none",
      { "handrail.yaml": 'policy: { network: { deny_hosts: ["https://a.example/"] } }\n' },
      [],
      /^broken {3}configuration {2}1 problem\n +handrail\.yaml:1:\d+: policy\.network\.deny_hosts\[0\]: expected a host/m,
    ],
    [
      "a preset that is not there",
      {},
      ["--preset", "nope"],
      /^broken {3}configuration {2}option '--preset <name>' argument 'nope' is invalid\. Allowed choices are coding, /m,
    ],
    [
      "a sandbox that is required where there is none",
      {},
      ["--tmux", "--sandbox", "on"],
      /^broken {3}work folder {4}the sandbox is required, but commands in a shared terminal .*\n +fix: Use sandbox: auto/m,
    ],
    [
      "a tmux session whose name is none",
      {},
      ["--tmux-session", "a:b"],
      /^broken {3}work folder {4}expected a tmux session name of letters/m,
    ],
  ])(
    "finds what keeps other commands from starting, or is left out with a warning: %s",
    async (_, files, options, found) => {
      const line = await commandLine(files);
      const ran = await here(line, ["call", "read", '{"path":"README.md"}', ...options]);
      // What is wrong in a project's file ends nothing: a command may have written it.
      if (Object.hasOwn(files, "handrail.yaml")) {
        expect(ran).toMatchObject({
          code: 0,
          stderr: expect.stringMatching(/handrail\.yaml: 1 problem\. Wrong entries of a list have no effect/),
        });
      } else expect(ran).toMatchObject({ code: 2, stdout: "" });
      const { code, stdout } = await here(line, ["doctor", ...options]);
      expect(stdout).toMatch(found);
      expect(code).toBe(1);
    },
  );
});

describe("a check", () => {
  const run: Check["run"] = async () => ({ status: "ok", detail: "yes" });
  const ok: Check = { name: "fine", group: "machine", required: true, fix: "none", run };

  test("that throws, at once or later, is broken, and the others are reported", async () => {
    const thrown = () => {
      throw new Error("at once");
    };
    const checked = await runChecks([
      { ...ok, name: "throws", fix: "type this", run: thrown },
      { ...ok, name: "rejects", run: () => Promise.reject(new Error("later")) },
      ok,
    ]);
    expect(checked).toMatchObject([
      { name: "throws", status: "broken", detail: "at once", fix: "type this" },
      { name: "rejects", status: "broken", detail: "later" },
      { name: "fine", status: "ok" },
    ]);
  });

  test("that hangs is broken at its deadline, and its signal fires", async () => {
    let stopped = false;
    const hangs: Check = {
      ...ok,
      run: (signal) =>
        new Promise(() => {
          signal.addEventListener("abort", () => (stopped = true));
        }),
    };
    expect(await runChecks([hangs, ok], 50)).toMatchObject([
      { status: "broken", detail: "no answer within 0.05 s", timedOut: true },
      { status: "ok" },
    ]);
    expect(stopped).toBe(true);
  });

  test("has the time that it requests", async () => {
    const slow: Check = {
      ...ok,
      deadlineMs: 60_000,
      run: async () => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        return { status: "ok", detail: "yes" };
      },
    };
    expect(await runChecks([slow], 1)).toMatchObject([{ status: "ok", timedOut: false }]);
  });

  test("with a program that hangs kills it with its children", async () => {
    const folder = temporaryFolder();
    const program = join(folder, "hangs");
    await writeFile(program, `#!/bin/sh\nsleep 600 &\necho $! > ${folder}/child\nwait\n`, { mode: 0o755 });
    const controller = new AbortController();
    const line = firstLineOf([program], controller.signal);
    let pid = 0;
    await until("the child runs", async () => {
      const text = await import("node:fs/promises").then(({ readFile }) =>
        readFile(join(folder, "child"), "utf8").catch(() => ""),
      );
      pid = text.endsWith("\n") ? Number(text) : 0;
      return pid > 0;
    });
    expect(await isAlive(pid)).toBe(true);
    controller.abort();
    await expect(line).rejects.toThrow(/ended with SIGKILL/);
    await until("the child is gone", async () => !(await isAlive(pid)));
  });

  test("with a program that leaves a child holding its output does not wait for it", async () => {
    const program = join(temporaryFolder(), "leaves");
    await writeFile(program, "#!/bin/sh\nsleep 600 &\necho done\n", { mode: 0o755 });
    expect(await firstLineOf([program], new AbortController().signal)).toBe("done");
  });
});
