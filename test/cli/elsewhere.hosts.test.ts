// The built program, working on a host and in a container.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, describe, expect, test } from "vitest";
import { quoteWord, quoteWords } from "../../src/core/util/quote.ts";
import { type TestContainer, container } from "../support/containers.ts";
import { type Engine, dockerEngine, engineProblem } from "../support/engines.ts";
import { installed, mustBeHere } from "../support/here.ts";
import { type SshServer, type SshServerOptions, sshServer, sshdProblem } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { bubblewrapProblem } from "../machine/sandbox/contained.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type CommandLine, PROGRAM, type Run, commandLine } from "./program.ts";

const SSHD: SshServerOptions = { loginShell: "bash" };
const sshProblem = sshdProblem(SSHD);
const dockerProblem = engineProblem("docker");
mustBeHere("the command line over SSH", sshProblem);
mustBeHere("the command line in a container of docker", dockerProblem);

/** Runs the program with these arguments, in shell syntax. */
type Handrail = (words: readonly string[], before?: string, place?: readonly string[]) => Promise<Run>;

/** As for people whose ssh needs special options: a script named ssh, first on the PATH. */
function overSsh(line: CommandLine, { configFile, target }: SshServer): Handrail {
  const bin = temporaryFolder();
  writeFileSync(
    join(bin, "ssh"),
    `#!/bin/sh\nexec ${quoteWords([installed("ssh") ?? "ssh", "-F", configFile])} "$@"\n`,
  );
  chmodSync(join(bin, "ssh"), 0o755);
  return (words, before = ":", place = ["--ssh", target]) =>
    line.shell(`${before}; PATH=${quoteWord(bin)}:$PATH handrail ${quoteWords([...words, ...place])}`);
}

const call = (tool: string, input: object) => ["call", tool, JSON.stringify(input), "--yes"];

describe.skipIf(sshProblem !== undefined)("handrail --ssh", () => {
  let server: SshServer;
  let line: CommandLine;
  let handrail: Handrail;
  beforeAll(async () => {
    server = await sshServer(SSHD);
    line = await commandLine();
    handrail = overSsh(line, server);
  });

  test("a call works in the remote home, or in the named folder, and prints its output", async () => {
    const { code, stdout, stderr } = await handrail(call("bash", { command: "pwd; id -un; exit 4" }));
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `${server.home}\n${server.user}\n\nExit code: 4\n`,
      stderr: "",
    });
    mkdirSync(join(server.home, "sub"));
    writeFileSync(join(server.home, "sub", "file"), "content\n");
    const there = await handrail([...call("bash", { command: "pwd" }), "--work-dir", "~/sub"]);
    expect(there.stdout).toBe(`${server.home}/sub\n`);
    expect((await handrail([...call("read", { path: "file" }), "--work-dir", "~/sub"])).stdout).toContain("content");
  });

  test("output that does not fit is saved locally, and read again by the next call", async () => {
    const { stdout } = await handrail(call("bash", { command: "seq 30000" }));
    const [, id = ""] = /output:\/\/([\w-]+)/.exec(stdout) ?? [];
    expect((await handrail(call("read", { path: `output://${id}`, offset: 17, limit: 2 }))).stdout).toContain(
      "17\n18\n",
    );
  });

  test("an agent works on the host, and continues its thread there", async () => {
    const folder = join(server.home, "project");
    mkdirSync(folder);
    writeFileSync(join(folder, "README.md"), "# Only there\n");
    writeFileSync(join(folder, "AGENTS.md"), "Use tabs.\n");
    const there = ["--model", "demo", "--yes", "--work-dir", "~/project"];
    const first = await handrail(["run", "Look around", ...there]);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("README.md begins: # Only there") });
    const [, thread = "none"] = /--resume (\w+)/.exec(first.stderr) ?? [];
    expect((await handrail(["run", "Again", "--continue", ...there])).stderr).toContain(`--resume ${thread}`);
    expect((await handrail(["run", "--show-prompt", ...there])).stdout).toMatch(
      /Working directory: \S+\/project\n[^]*Use tabs\./,
    );
    const again = await handrail(["run", "Again", "--continue", "--yes"], ":", []);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("README.md begins: # Only there") });
    expect(again.stderr).toContain(`--resume ${thread} --ssh `);
    const unreachable = await line.run(["run", "Again", "--continue", "--yes"]); // without the options of ssh
    expect(unreachable).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("cannot be continued") });
  });

  test("without a person, nothing of medium risk runs outside the sandbox", async () => {
    const making = ["call", "bash", JSON.stringify({ command: "mkdir made" })];
    const { code, stdout } = await handrail([...making, "--sandbox", "off"]);
    expect({ code, made: existsSync(join(server.home, "made")) }).toEqual({ code: 1, made: false });
    expect(stdout).toMatch(/approval/);
    const contained = bubblewrapProblem() === undefined;
    expect((await handrail(making)).code).toBe(contained ? 0 : 1);
    expect(existsSync(join(server.home, "made"))).toBe(contained);
  });

  test("a detached command outlives its session, and later ones manage it", async () => {
    const command = "echo begun; until [ -e go ]; do sleep 0.05; done; echo done; exit 4";
    const { stdout } = await handrail(call("bash", { command, detached: true }));
    const [, id = ""] = /^Job (\w+) was started, detached/.exec(stdout) ?? [];
    expect(stdout).toContain(`People manage it with \`handrail jobs --ssh ${server.target}\`.`);
    expect((await handrail(["jobs"])).stdout).toMatch(
      new RegExp(`^${id}  running for \\d+ s, \\d+B of output  echo begun; until`),
    );
    expect((await handrail(["jobs", "output", id])).stdout).toBe("begun\n");
    expect(await handrail(["jobs", "remove", id])).toMatchObject({
      code: 2,
      stderr: `handrail: ${id} still runs. Stop it first.\n`,
    });
    writeFileSync(join(server.home, "go"), "");
    const followed = await handrail(["jobs", "output", id, "--follow"]);
    expect(followed).toMatchObject({ code: 0, stdout: "begun\ndone\n" });
    await until("its end is told", async () => (await handrail(["jobs"])).stdout.startsWith(`${id}  Exit code 4, 11B`));
    expect(await handrail(["jobs", "remove", id])).toMatchObject({ code: 0, stdout: `${id} is removed\n` });
    expect((await handrail(["jobs"])).stdout).toBe("(no detached jobs)\n");
    const other = await handrail(call("bash", { command: "sleep 1000", detached: true }));
    const [, running = ""] = /^Job (\w+) was started, detached/.exec(other.stdout) ?? [];
    expect(await handrail(["jobs", "kill", running])).toMatchObject({ code: 0, stdout: `${running} has ended\n` });
  });

  test("doctor checks the host, and says what to do about one that cannot be reached", async () => {
    const { code, stdout } = await handrail(["doctor"]);
    expect(stdout).toMatch(
      new RegExp(
        `^ok +work folder +ssh:${server.target} answers in [\\d.]+ ms; tools work in ${server.home}, commands run in bash, searches with `,
        "m",
      ),
    );
    expect(code).toBe(0);
    const unknown = await line.run(["doctor", "--ssh", "nobody@host.invalid"]);
    expect(unknown.code).toBe(1);
    expect(unknown.stdout).toMatch(/^broken +work folder +.*host\.invalid.*\n +fix: \S.*/m);
    const nowhere = await handrail(["doctor", "--work-dir", "~/nowhere"]);
    expect(nowhere.stdout).toMatch(
      /^broken +work folder +.* does not exist on the remote host: ~\/nowhere\n +fix: .*--work-dir/m,
    );
  });

  test.each<[string, readonly string[], RegExp]>([
    ["a host that there is not", ["--ssh", "nobody@host.invalid"], /^handrail: .*host\.invalid.*\. \S.*\.\n$/],
    ["a target that is none", ["--ssh", "-oProxyCommand=touch pwned"], /^handrail: .* is not an SSH target: .*\n$/],
    [
      "two places",
      ["--ssh", "host", "--container", "web"],
      /^handrail: option '--container <name>' cannot be used with option '--ssh <target>'\n$/,
    ],
    [
      "a sandbox in a pane there",
      ["--ssh", "host", "--tmux", "--sandbox", "on"],
      /^handrail: the sandbox is required, but commands in a shared terminal are not contained\. .*\n$/,
    ],
  ])("%s is an error of one sentence and what to do", async (_, words, expected) => {
    const { code, stdout, stderr } = await line.run([...call("bash", { command: "true" }), ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(expected);
  });

  test("a missing folder is an error of one sentence", async () => {
    const { code, stderr } = await handrail([...call("ls", {}), "--work-dir", "~/nowhere"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "handrail: The working directory does not exist on the remote host: ~/nowhere\n",
    });
  });
});

const ROOT: SshServerOptions = { user: "current" };
const isRoot = process.getuid?.() === 0;
const rootProblem = isRoot ? sshdProblem(ROOT) : "only root can be logged in as root here";

describe.skipIf(rootProblem !== undefined)("handrail --ssh as root, whose home the default policy closes", () => {
  let server: SshServer;
  let handrail: Handrail;
  beforeAll(async () => {
    server = await sshServer(ROOT);
    handrail = overSsh(await commandLine(), server);
  });

  test("a call is denied with what to do, and works in the named folder", async () => {
    const { code, stdout } = await handrail(call("bash", { command: "pwd" }));
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^Path blocked by security policy: \. \(forbidden_paths has \/root\)\. That is the working directory itself, .*\(--work-dir\), or set policy\.forbidden_paths to a list without \/root\.\n$/,
    );
    const named = await handrail([...call("bash", { command: "pwd" }), "--work-dir", temporaryFolder()]);
    expect(named.code).toBe(0);
  });

  test("doctor reports it, with what to do", async () => {
    const { code, stdout } = await handrail(["doctor"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^broken +work folder +tools would work in /root\\. .*\n +fix: .*--work-dir`, "m"),
    );
  });
});

describe.skipIf(dockerProblem !== undefined)("handrail --container", () => {
  let engine: Engine;
  let one: TestContainer;
  let line: CommandLine;
  beforeAll(async () => {
    engine = await dockerEngine();
    Object.assign(process.env, engine.env);
    line = await commandLine();
    one = await container(engine, { user: "dev", image: "busybox" });
  }, 300_000);

  test("a call works in the image's folder, as its user, or in the named folder", async () => {
    const there = ["--container", one.name];
    await one.exec(["mkdir", "/work/sub"], { user: "dev" });
    expect(await line.run([...call("bash", { command: "pwd; id -un" }), ...there])).toMatchObject({
      code: 0,
      stdout: "/work\ndev\n",
    });
    expect(
      (
        await line.run([
          ...call("bash", { command: "pwd" }),
          "--work-dir",
          "/work/sub",
          "--container",
          `docker:${one.name}`,
        ])
      ).stdout,
    ).toBe("/work/sub\n");
  });

  test("doctor checks it", async () => {
    const { code, stdout } = await line.run(["doctor", "--container", one.name]);
    expect(stdout).toMatch(
      new RegExp(
        `^ok +work folder +docker:${one.name} answers in [\\d.]+ ms; tools work in /work, commands run in sh, searches with `,
        "m",
      ),
    );
    expect(code).toBe(0);
  });

  test("a missing container is an error of one sentence that names the existing ones", async () => {
    const { code, stderr } = await line.run([...call("ls", {}), "--container", `${one.name}x`]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      new RegExp(`^handrail: .* ha(s|ve) no container ${one.name}x.*Running: .*${one.name}.*\\.\n$`),
    );
  });

  test("an MCP client gets its tools, whose descriptions name the target, and works there", async () => {
    const client = new Client({ name: "test", version: "1" });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, "mcp", "--container", one.name, "--preset", "all", "--yes"],
      cwd: line.folder,
      env: {
        ...(process.env as Record<string, string>),
        XDG_STATE_HOME: line.stateHome,
        XDG_CONFIG_HOME: line.configHome,
      },
      stderr: "pipe",
    });
    await client.connect(transport);
    try {
      const { tools } = await client.listTools();
      expect(tools.find(({ name }) => name === "bash")?.description).toContain("sh, not bash");
      const text = async (name: string, input: Record<string, unknown>) =>
        JSON.stringify((await client.callTool({ name, arguments: input })).content);
      expect(await text("write", { path: "made", content: "needle\n" })).toContain("made");
      expect(await text("bash", { command: "cat made; uname" })).toContain("needle\\nLinux");
      expect(await text("grep", { pattern: "needle" })).toContain("made");
      expect(await text("bash", { command: "sleep 0.2; echo late", background: true })).toContain("Job 1 was started");
      expect(await text("jobs", { action: "wait", id: "1" })).toContain("late");
    } finally {
      await client.close();
    }
    expect((await one.exec(["cat", "/work/made"])).stdout.toString()).toBe("needle\n");
  });
});
