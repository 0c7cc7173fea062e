// Tools and policy give the same results on a remote system as on this one, for the same files.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { beforeAll, describe, expect, test } from "vitest";
import { container as containerBackend } from "../../src/machine/container/container.ts";
import { local } from "../../src/machine/local/backend.ts";
import { remote } from "../../src/machine/shell/backend.ts";
import type { Transport } from "../../src/machine/shell/transport.ts";
import { sshTransport } from "../../src/machine/ssh/transport.ts";
import { ssh } from "../../src/machine/ssh/ssh.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import { asText } from "../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { type SshServer, type SshServerOptions, sshServer, sshdProblem } from "../support/sshd.ts";
import { temporaryFolder, toolkitWith } from "../support/workspace.ts";

const OPTIONS: SshServerOptions = { loginShell: "bash" };
const sshProblem = sshdProblem(OPTIONS);
mustBeHere("an sshd with tools over it", sshProblem);
const dockerProblem = engineProblem("docker");
mustBeHere("a container of docker with tools in it", dockerProblem);

const FILES: { readonly [path: string]: string } = {
  "README.md": "# Read me\n\nA needle, and more.\n",
  "src/main.ts": `${Array.from({ length: 3_000 }, (_, index) => `line ${index + 1}`).join("\n")}\nneedle\n`,
  "src/deep/er/x.txt": "needle in x\r\nlast",
  "src/empty": "",
  ".gitignore": "ignored/\n*.log\n",
  "ignored/needle.txt": "needle\n",
  "a.log": "needle\n",
  ".hidden": "needle\n",
  ".env": "TOKEN=needle\n",
  "odd name's $(x) 漢字.txt": "needle\n",
};

function writeTree(folder: string): void {
  for (const [path, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  symlinkSync("/etc", join(folder, "way-out"));
  symlinkSync("src/deep", join(folder, "leads"));
}

/** Calls that only look, on all kinds of paths. */
const LOOKS: readonly (readonly [name: string, input: object])[] = [
  ["read", { path: "README.md" }],
  ["read", { path: "src/main.ts" }],
  ["read", { path: "src/main.ts", offset: 2_990, limit: 5 }],
  ["read", { path: "src/deep/er/x.txt" }],
  ["read", { path: "src/empty" }],
  ["read", { path: "leads/er/x.txt" }],
  ["read", { path: "odd name's $(x) 漢字.txt" }],
  ["read", { path: "READNE.md" }],
  ["read", { path: "src" }],
  ["read", { path: "way-out/passwd" }],
  ["ls", {}],
  ["ls", { path: "src", show_hidden: true }],
  ["ls", { path: "missing" }],
  ["find", {}],
  ["find", { pattern: "*.txt", type: "file" }],
  ["find", { type: "dir" }],
];

/** Calls that change something, in this order. */
const ACTS: readonly (readonly [name: string, input: object])[] = [
  ["write", { path: "new/folder/made.txt", content: "made\n" }],
  ["read", { path: "README.md" }],
  ["edit", { path: "README.md", old_text: "A needle", new_text: "Two needles" }],
  ["edit", { path: "README.md", old_text: "not there", new_text: "x" }],
  ["write", { path: "src/empty", content: "full\n" }],
  ["bash", { command: "cat README.md; echo err >&2; pwd; exit 3" }],
  ["bash", { command: "seq 5000" }],
  ["bash", { command: "rm -r new && ls -A" }],
  ["bash", { command: "sleep 60", timeout: 0.5 }],
  ["write", { path: "way-out/handrail-was-here", content: "x" }],
  ["bash", { command: "echo x >way-out/handrail-was-here" }],
];

const BLOCKED = "Path blocked by security policy: way-out/passwd (forbidden_paths has /etc)";

/** Without random names, and without the count of ignored files, which takes round trips elsewhere. */
const plain = (text: string) =>
  text
    .replaceAll(/output:\/\/[\w-]+/g, "output://ID")
    .replace(/\n{1,2}\[\d+ files? that a \.gitignore ignores left out;[^\]]*\]/, "");

describe.skipIf(sshProblem !== undefined)("over SSH", () => {
  let server: SshServer;
  beforeAll(async () => {
    server = await sshServer(OPTIONS);
  });

  /** Creates the same tree twice in the remote home, with a toolkit over SSH on one, and a local one on the other. */
  async function pair(name: string, options: ToolkitOptions = {}) {
    const place = `${name}-${randomUUID()}`;
    const [here, there] = ["here", "there"].map((side) => join(server.home, place, side, "work")) as [string, string];
    writeTree(here);
    mkdirSync(dirname(there), { recursive: true });
    execFileSync("cp", ["-a", here, there]);
    execFileSync("chown", ["-hR", `${server.user}:`, join(server.home, place)]);
    const shared: ToolkitOptions = { preset: "all", stateDir: temporaryFolder(), ...options };
    const near = await toolkitWith({
      ...shared,
      target: await local({ workDir: here, home: server.home, outputFolder: temporaryFolder() }),
    });
    const { target, configFile } = server;
    const far = await toolkitWith({
      ...shared,
      target: await ssh({ target, configFile, workDir: `~/${place}/there/work`, outputFolder: temporaryFolder() }),
    });
    expect([far.backend.workDir, far.backend.home]).toEqual([there, server.home]);
    // Each machine has its own PATH.
    const same = (text: string) =>
      plain(text)
        .replaceAll(`/${place}/here/`, `/${place}/there/`)
        .replaceAll(/"env":\{"PATH":"[^"]*"\}/g, '"env":{}');
    return { near, far, here, there, same };
  }

  test("reading, listing and finding files give the same results as on this machine", async () => {
    const { near, far, same } = await pair("looks");
    for (const [name, input] of LOOKS) {
      const [expected, got] = await Promise.all([near.call({ name, input }), far.call({ name, input })]);
      expect([name, input, same(asText(got))]).toEqual([name, input, same(asText(expected))]);
      expect(got.status).toBe(expected.status);
    }
  });

  test("writing, editing and commands have the same results and effects as on this machine", async () => {
    const approver = async () => ({ answer: "once" as const });
    const { near, far, here, there, same } = await pair("acts", { approver });
    for (const [name, input] of ACTS) {
      const [expected, got] = await Promise.all([near.call({ name, input }), far.call({ name, input })]);
      expect([name, input, same(asText(got))]).toEqual([name, input, same(asText(expected))]);
      expect(got.status).toBe(expected.status);
    }
    for (const path of ["README.md", "src/empty"])
      expect(readFileSync(join(there, path))).toEqual(readFileSync(join(here, path)));
    expect(execFileSync("ls", ["-A", there]).toString()).toBe(execFileSync("ls", ["-A", here]).toString());
  });

  test("the policy judges by remote real paths, as it does on this machine", async () => {
    const { near, far, same } = await pair("judged");
    const effects: readonly Effect[] = [
      { kind: "read", path: "README.md" },
      { kind: "read", path: "way-out/passwd" },
      { kind: "write", path: "way-out/../made" },
      { kind: "write", path: "leads/made" },
      { kind: "read", path: ".env" },
      { kind: "read", path: "~/.ssh/authorized_keys" },
      { kind: "read", path: "~/elsewhere" },
      { kind: "read", path: "~/.local/state/handrail/x" },
      { kind: "write", path: "~/.config/handrail/config.yaml" },
      { kind: "exec", command: "cat README.md" },
      { kind: "exec", command: "cat way-out/passwd" },
      { kind: "exec", command: "cat ~/.ssh/authorized_keys .env" },
      { kind: "exec", command: "rm -r src" },
      { kind: "exec", command: "cat ~/.local/state/handrail/*" },
    ];
    for (const effect of effects) {
      const [expected, got] = await Promise.all([near.judge([effect]), far.judge([effect])]);
      expect([effect, same(JSON.stringify(got))]).toEqual([effect, same(JSON.stringify(expected))]);
    }
    expect(asText(await far.call({ name: "read", input: { path: "way-out/passwd" } }))).toBe(BLOCKED);
    expect(await far.judge([{ kind: "read", path: ".env" }])).toMatchObject({ verdict: "ask" });
    expect(await far.judge([{ kind: "read", path: "~/.local/state/handrail/x" }])).toMatchObject({
      verdict: "deny",
      rule: "state",
    });
    expect(await far.judge([{ kind: "exec", command: "cat README.md" }])).toMatchObject({ verdict: "allow" });
  });

  test.each<[string, object]>([
    ["read", { path: "README.md" }],
    ["read", { path: "leads/er/../er/x.txt" }],
    ["write", { path: "new/made", content: "x" }],
    ["edit", { path: "src/empty", old_text: "", new_text: "words" }],
    ["grep", { pattern: "needle", path: "src" }],
    ["ls", {}],
    ["find", { path: "src", pattern: "*" }],
    ["bash", { command: "cat README.md src/main.ts > made" }],
    ["bash", { command: "git status; cd src && ls *.ts; rm -f *.log" }],
  ])("%s %j is at its tool after two round trips at most, the first time too", async (name, input) => {
    const folder = `trips-${randomUUID()}`;
    const work = join(server.home, folder);
    writeTree(work);
    execFileSync("git", ["init", "-q", work]);
    execFileSync("chown", ["-hR", `${server.user}:`, work]);
    const { target, configFile } = server;
    const trips = counted(await sshTransport({ target, configFile }));
    const backend = await remote(trips.transport, { workDir: `~/${folder}`, outputFolder: temporaryFolder() });
    const toolkit = await toolkitWith({ target: backend, preset: "all", approver: async () => ({ answer: "once" }) });
    for (let time = 0; time < 2; time++) {
      trips.reset();
      let before: number | undefined;
      await toolkit.call(
        { name, input },
        {
          onEvent({ type }) {
            if (type === "call.approved") before ??= trips.count();
          },
        },
      );
      expect(before).toBeLessThanOrEqual(2);
      expect(before).toBeDefined();
    }
  });
});

describe.skipIf(dockerProblem !== undefined)("in a container", () => {
  test("tools and policy use the container's files", async () => {
    const here = temporaryFolder();
    writeTree(here);
    const one = await sharedContainer("docker", { user: "dev" })();
    const archive = execFileSync("tar", ["-C", here, "-cf", "-", "."], { maxBuffer: 2 ** 24 });
    expect((await one.exec(["tar", "-C", "/work", "-xf", "-"], { input: archive })).status).toBe(0);
    const near = await toolkitWith({ preset: "all", workDir: here });
    const backend = await containerBackend({ container: one.name, outputFolder: temporaryFolder() });
    const far = await toolkitWith({ target: backend, preset: "all" });
    const same = (text: string) => plain(text).replaceAll(here, "/work");
    for (const [name, input] of LOOKS) {
      const [expected, got] = await Promise.all([near.call({ name, input }), far.call({ name, input })]);
      expect([name, input, same(asText(got))]).toEqual([name, input, same(asText(expected))]);
    }
    const text = async (name: string, input: object) => asText(await far.call({ name, input }));
    expect(await text("read", { path: "way-out/passwd" })).toBe(BLOCKED);
    expect(await text("read", { path: "~/../../work/README.md" })).toContain("A needle");
    expect(await text("read", { path: "~/x" })).toBe(
      "Path blocked by security policy: ~/x (forbidden_paths has /home)",
    );
    expect(await text("read", { path: "~/.local/state/handrail/x" })).toContain("belongs to Handrail itself");
    expect(await text("read", { path: ".env" })).toMatch(/approval/);
    expect(await text("bash", { command: "cat way-out/passwd" })).toMatch(
      /^Path blocked by security policy: .*forbidden_paths has \/etc/,
    );
    expect(await text("bash", { command: "pwd; cat src/deep/er/x.txt" })).toContain("/work\nneedle in x");
  });
});

/** The delay of an answer: long enough for all concurrent requests to be sent. */
const DELAY_MS = 30;

interface Counted {
  readonly transport: Transport;
  /** How many requests had to be sent one after another for the answers so far. */
  count(): number;
  reset(): void;
}

/**
 * Delays the remote side, and counts rounds: what is sent before the answer to the previous request belongs to the same
 * round.
 */
function counted(inner: Transport): Counted {
  const asked = new Map<string, number>();
  let rounds = 0;
  const heard = (text: string) => {
    for (const [, about = ""] of text.matchAll(/\u0001([0-9a-f]{32}:\d+) \d+\n/g))
      rounds = Math.max(rounds, asked.get(about) ?? 0);
  };
  const delayed = (from: Readable): Readable => {
    const to = new PassThrough();
    let text = "";
    from.on("data", (chunk: Buffer) =>
      setTimeout(() => {
        text = (text + chunk.toString("latin1")).slice(-200_000);
        heard(text);
        to.write(chunk);
      }, DELAY_MS),
    );
    from.on("end", () => setTimeout(() => to.end(), DELAY_MS));
    return to;
  };
  const noticed = (to: NodeJS.WritableStream): void => {
    const write = to.write.bind(to) as (chunk: string | Uint8Array, ...rest: unknown[]) => boolean;
    to.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      for (const [, about = ""] of Buffer.from(chunk)
        .toString("latin1")
        .matchAll(/'([0-9a-f]{32}:\d+)'/g))
        asked.set(about, rounds + 1);
      return write(chunk, ...rest);
    };
  };
  return {
    transport: {
      ...inner,
      async open(which) {
        const line = await inner.open(which);
        noticed(line.stdin);
        return { ...line, stdout: delayed(line.stdout) };
      },
    },
    count: () => rounds,
    reset() {
      asked.clear();
      rounds = 0;
    },
  };
}
