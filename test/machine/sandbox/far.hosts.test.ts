// Commands in the sandbox of a host over SSH and of containers, as an ordinary user there. Each attack runs as a model
// would run it; what it did is looked at from outside, and without the sandbox it succeeds.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { container as containerBackend } from "../../../src/machine/container/container.ts";
import { openBackend } from "../../../src/machine/open.ts";
import { farSandbox } from "../../../src/machine/sandbox/far/far-sandbox.ts";
import type { FarSandboxOptions } from "../../../src/machine/sandbox/far/options.ts";
import { ssh } from "../../../src/machine/ssh/ssh.ts";
import type { Backend, Command, Exit } from "../../../src/core/contract/backend.ts";
import type { Refusal } from "../../../src/core/contract/containment.ts";
import { asText } from "../../../src/core/call/result.ts";
import { startUpFile } from "../../../src/machine/places/start-up.ts";
import { quoteWord } from "../../../src/core/util/quote.ts";
import { type ContainerOptions, container } from "../../support/containers.ts";
import { type EngineName, engineOf, engineProblem } from "../../support/engines.ts";
import { mustBeHere } from "../../support/here.ts";
import { type SshServer, type SshServerOptions, sshServer, sshdProblem } from "../../support/sshd.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";
import { EVERYDAY } from "../../policy/corpus.ts";
import { backendSuite } from "../../suites/index.ts";
import { bubblewrapProblem } from "./contained.ts";

const OPTIONS: SshServerOptions = { loginShell: "bash" };
const problem = sshdProblem(OPTIONS) ?? bubblewrapProblem();
mustBeHere("the sandbox over SSH", problem);

/** A system with bubblewrap, and an ordinary user of it. */
interface Host {
  readonly home: string;
  /** Opens `~/work`, which exists. */
  open(): Promise<Backend>;
  /** Runs a script. What it leaves in the background continues. */
  exec(script: string): Promise<unknown>;
}

/** The programs of this machine, bubblewrap with them. The container's own are in /bin. */
const PROGRAMS = ["/usr", "/lib", "/lib64"].flatMap((path) => ["--volume", `${path}:${path}:ro`]);

/** What a container needs for bubblewrap, and for commands that see only their own processes. */
const OPEN: { readonly [name in EngineName]: readonly string[] } = {
  docker: ["seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"],
  podman: ["seccomp=unconfined", "unmask=ALL"],
};

async function containerOf(name: EngineName, options: ContainerOptions) {
  const engine = await engineOf(name);
  Object.assign(process.env, engine.env);
  return container(engine, { user: "dev", ...options });
}

const places: readonly (readonly [where: string, problem: string | undefined, start: () => Promise<Host>])[] = [
  [
    "on a host over SSH",
    problem,
    async () => {
      const { target, configFile, home, exec } = await sshServer(OPTIONS);
      const open = () => ssh({ target, configFile, workDir: "~/work", outputFolder: temporaryFolder() });
      return { home, open, exec };
    },
  ],
  ...(["docker", "podman"] as const).map((name) => {
    const start = async (): Promise<Host> => {
      const args = [...PROGRAMS, ...OPEN[name].flatMap((option) => ["--security-opt", option])];
      const one = await containerOf(name, { args });
      const open = () =>
        containerBackend({ container: `${name}:${one.name}`, workDir: "~/work", outputFolder: temporaryFolder() });
      return { home: "/home/dev", open, exec: (script) => one.exec(["sh", "-c", `cd; ${script}`]) };
    };
    return [`in a container of ${name}`, engineProblem(name) ?? bubblewrapProblem(), start] as const;
  }),
];

/** The files of the home on the host. */
const HOME: { readonly [path: string]: string } = {
  ".bashrc": "# mine\n",
  ".ssh/id_ed25519": "the-key\n",
  ".aws/credentials": "the-key\n",
  ".config/gh/hosts.yml": "the-key\n",
  "outside/file": "outside\n",
  "work/.envrc": "mine\n",
  "work/.vscode/tasks.json": "{}\n",
  "work/src/main.c": "int main() { return 0; }\n",
};

/** Makes the files anew. */
const REMAKE = [
  "cd ~ && rm -rf work outside made was-here .aws .config .ssh/authorized_keys2; chmod 755 .",
  ...Object.entries(HOME).map(
    ([path, content]) => `mkdir -p ${join(path, "..")} && printf %s ${quoteWord(content)} >${path}`,
  ),
  "cd work && git init -q . && git config user.email a@b.c && git config user.name a && rm -rf .git/hooks/*",
].join("\n");

/** A program that an attack makes git, or a person's tool, run. */
const EVIL = "#!/bin/sh\ntouch ~/was-here\n";

/** A server: on a socket in the folder, whose name is relative, or on a port, which is written to a file. */
const CAN_SERVE = `import socket,sys,os
if len(sys.argv) > 1:
  s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen();open("ready","w")
else:
  s=socket.socket();s.bind(("127.0.0.1",0));s.listen();open("port.new","w").write(str(s.getsockname()[1]));os.rename("port.new","port")
while 1:
  c,_=s.accept();c.send(b"served");c.close()
`;
const CAN_CONNECT =
  "python3 -c 'import socket;s=socket.socket(socket.AF_UNIX);s.connect(\"s.sock\");print(s.recv(9))' >got";

/** What is tried, and what shows from outside that it succeeded. */
const ATTACKS: readonly (readonly [what: string, script: string, succeeded: string])[] = [
  ["writes beside the workspace", "echo x >~/outside/file", "grep -q x ~/outside/file"],
  ["writes there through a link", "ln -s ~/outside l; echo x >l/file", "grep -q x ~/outside/file"],
  ["writes there by /proc/self/root", 'echo x >"/proc/self/root$HOME/outside/file"', "grep -q x ~/outside/file"],
  ["makes a file in the home", "echo x >~/made", "test -e ~/made"],
  ["changes a shell's start-up file", "echo evil >>~/.bashrc", "grep -q evil ~/.bashrc"],
  ["adds a key to log in with", "echo evil >>~/.ssh/authorized_keys", "grep -q evil ~/.ssh/authorized_keys"],
  ["changes .envrc", "echo evil >.envrc", "grep -q evil .envrc"],
  [
    "replaces .vscode",
    "mv .vscode old; mkdir .vscode; echo evil >.vscode/tasks.json",
    "grep -q evil .vscode/tasks.json",
  ],
  [
    "makes a hook",
    `printf '%s' '${EVIL}' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
    "test -e .git/hooks/pre-commit",
  ],
  [
    "replaces the hooks",
    "mv .git/hooks old; mkdir .git/hooks; echo evil >.git/hooks/post-commit",
    "test -e .git/hooks/post-commit",
  ],
  ["replaces .git", "mv .git old; cp -r old .git; git config core.fsmonitor evil", "git config core.fsmonitor"],
  ["configures git", "git config core.fsmonitor evil", "git config core.fsmonitor"],
  [
    "makes a repository with a monitor",
    "git init -q new; git -C new config core.fsmonitor evil",
    "git -C new config core.fsmonitor",
  ],
  [
    "makes one with an odd name",
    `d="$(printf 'a\\nb')"; git init -q "$d"; git -C "$d" config core.fsmonitor evil`,
    `git -C "$(printf 'a\\nb')" config core.fsmonitor`,
  ],
  [
    "makes a bare one",
    "git init -q --bare bare; git -C bare config core.fsmonitor evil",
    "git -C bare config core.fsmonitor",
  ],
  [
    "makes one with a hook",
    "git init -q hooked; echo evil >hooked/.git/hooks/post-checkout",
    "test -e hooked/.git/hooks/post-checkout",
  ],
  ["leads git to other configurations", "echo ../evil >.git/commondir", "test -e .git/commondir"],
  ["reads a key", "cat ~/.ssh/id_ed25519 >got", "grep -q the-key got"],
  ["reads it through a link", "ln -s ~/.ssh k; cat k/id_ed25519 >got", "grep -q the-key got"],
  ["reads stored credentials", "cat ~/.aws/credentials ~/.config/gh/hosts.yml >got", "grep -q the-key got"],
  ["reads what Handrail keeps there", "cat ~/.local/state/handrail/sandbox/*/look >got", "grep -q hr_ got"],
  [
    "connects to a server of the host",
    "bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$(cat ~/port)'; cat <&3' >got",
    "grep -q served got",
  ],
  ["connects to a socket in the workspace", CAN_CONNECT, "grep -q served got"],
  ["sees the host's processes", "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' >got", "grep -q port.new got"],
  ["outlives its call", "setsid sh -c 'sleep 1; touch outlived' >/dev/null 2>&1 &", "sleep 1.5; test -e outlived"],
  ["makes a setuid program", "cp /bin/true p; chmod u+s p", "test -u p"],
  [
    "unmounts what hides a key",
    "unshare -Urm sh -c 'umount ~/.ssh; cat ~/.ssh/id_ed25519 >got'",
    "grep -q the-key got",
  ],
];

describe.each(places)("what a command tries %s", (_, placeProblem, start) => {
  let host: Host;
  let plain: Backend;
  let sandboxed: Backend;
  /** The exit code of a script outside the sandbox. */
  const outside = async (script: string) => (await runOn(plain, script)).exit;
  beforeAll(async () => {
    if (placeProblem !== undefined) return;
    host = await start();
    await host.exec("mkdir -p work");
    plain = await host.open();
    await outside(REMAKE);
    sandboxed = contained(await host.open());
    await host.exec(`(setsid python3 -c '${CAN_SERVE}' >/dev/null 2>&1 &); until [ -e port ]; do sleep 0.05; done`);
  });
  afterAll(() => Promise.all([plain, sandboxed].map((backend) => backend?.close())));

  test.skipIf(placeProblem !== undefined)("is in the sandbox, which reports what it cannot do", async () => {
    const state = await sandboxed.sandbox?.state();
    expect(state).toEqual({ works: true, missing: expect.arrayContaining([expect.stringContaining("no network")]) });
  });

  test.skipIf(placeProblem !== undefined).each(ATTACKS)(
    "fails in the sandbox, and succeeds without it: it %s",
    async (what, attack, succeeded) => {
      for (const backend of [sandboxed, plain]) {
        // Without the sandbox, nothing is mounted that could be unmounted, and what the call started ends with it too.
        if (backend === plain && /unmounts|outlives/.test(what)) return;
        await outside(REMAKE);
        // Its socket is bound by a relative path.
        if (what.includes("socket"))
          await host.exec(
            `cd work; (setsid python3 -c '${CAN_SERVE}' s.sock >/dev/null 2>&1 &); until [ -e ready ]; do sleep 0.05; done`,
          );
        await runOn(backend, attack);
        const exit = await outside(succeeded);
        if (backend === plain) expect(exit).toEqual({ how: "exited", code: 0 });
        else expect(exit).not.toEqual({ how: "exited", code: 0 });
      }
    },
  );
});

describe.each(["docker", "podman"] as const)("a container of %s", (name) => {
  const engineMissing = engineProblem(name) ?? bubblewrapProblem();
  mustBeHere(`the sandbox in a container of ${name}`, engineMissing);

  /** The backend as the toolkit opens it. */
  async function opened(options: ContainerOptions) {
    const one = await containerOf(name, options);
    const [folder, none] = [temporaryFolder(), () => Promise.reject(new Error("there are none"))];
    const backend = await openBackend(
      { target: `${name}:${one.name}` },
      {
        ...{
          env: process.env,
          outputFolder: folder,
          jobs: { owner: "test", folder },
          programs: folder,
          sandbox: { folder },
        },
        ...{ store: { workers: none as never }, written: none },
      },
    );
    onTestFinished(() => backend.close());
    return backend;
  }

  test.skipIf(engineMissing !== undefined)("without bubblewrap runs commands, and reports what it needs", async () => {
    const backend = await opened({});
    expect(await backend.sandbox?.state()).toMatchObject({
      works: false,
      reason: expect.stringMatching(/^On .*: bubblewrap \(bwrap\) is not installed/),
      fix: expect.stringMatching(/apt-get install bubblewrap.*seccomp=unconfined/),
    });
    expect((await runOn(backend, "echo ran")).text).toBe("ran\n");
  });

  test.skipIf(engineMissing !== undefined || name === "podman")("that forbids it reports what it needs", async () => {
    expect(await (await opened({ args: PROGRAMS })).sandbox?.state()).toMatchObject({
      works: false,
      reason: expect.stringContaining("The container does not allow a sandbox in it"),
      fix: expect.stringContaining("--security-opt seccomp=unconfined"),
    });
  });

  test.skipIf(engineMissing !== undefined)("with a masked /proc shows it to contained commands", async () => {
    const backend = await opened({ args: [...PROGRAMS, "--security-opt", "seccomp=unconfined"] });
    expect(await backend.sandbox?.state()).toMatchObject({
      works: true,
      missing: expect.arrayContaining([expect.stringContaining("processes")]),
    });
    const { text } = await runOn(backend, "echo x >/home/dev/made; echo in >made; cat made; cat /proc/1/environ");
    expect(text).toMatch(/Read-only file system[^]*\nin\n[^]*Permission denied/);
  });
});

describe.skipIf(problem !== undefined)("on a host over SSH", () => {
  let server: SshServer;
  beforeAll(async () => {
    server = await sshServer(OPTIONS);
  });

  const onHost = async (script: string) => (await server.exec(`cd ~/work && ${script}`)).status;

  /** Makes the files anew, and opens the host, in the sandbox or not. */
  async function opened({
    sandboxed = true,
    ...options
  }: { readonly sandboxed?: boolean } & Partial<FarSandboxOptions> = {}) {
    await server.exec(REMAKE);
    const { target, configFile } = server;
    const inner = await ssh({ target, configFile, workDir: "~/work", outputFolder: temporaryFolder() });
    const backend = sandboxed ? contained(inner, options) : inner;
    onTestFinished(() => backend.close());
    return { backend, run: (script: string, more: Partial<Command> = {}) => runOn(backend, script, more) };
  }

  test("ordinary work is done: files, variables, stdin, exit codes, commits, builds, a job", async () => {
    const { backend, run } = await opened();
    expect(await run("mkdir a && echo made >a/b; cat a/b; pwd; exit 3")).toMatchObject({
      text: `made\n${backend.workDir}\n`,
      exit: { how: "exited", code: 3 },
    });
    expect((await run('echo "$GREETING $(cat)" >&2', { env: { GREETING: "it's" } })).text).toBe("it's \n");
    expect((await run("git add -A && git commit -qm one && git log --format=%s && git switch -qc other")).text).toBe(
      "one\n",
    );
    expect((await run("cc src/main.c -o main && ./main && echo ran")).text).toBe("ran\n");
    expect((await run("echo kept >/tmp/x; ls /tmp")).text).toBe("x\n");
    expect((await run("cat /tmp/x; kill -9 $$")).exit).toEqual({ how: "exited", code: 137 });
    expect((await run("seq 100000 | tail -1")).text).toBe("100000\n");
    const child = await backend.spawn({ argv: ["cat"], stdin: "pipe" });
    await child.write("typed\n");
    await child.endInput();
    await child.exit;
    expect(Buffer.from(await child.output.read(0, 100)).toString()).toBe("typed\n");
    const job = await backend.spawn({
      argv: ["sh", "-c", "git init -q j; git -C j config core.fsmonitor evil; touch ~/x"],
      lifetime: "toolkit",
    });
    await job.exit;
    expect(await job.refusals).toContainEqual({ kind: "held-back", path: join(backend.workDir, "j/.git/config") });
    expect(existsSync(join(server.home, "x"))).toBe(false);
    await expect(backend.spawn({ argv: ["none-such"] })).rejects.toThrow("no such program on the PATH");
  });

  test("a file that a person protects between two commands is read-only for the second", async () => {
    const { run } = await opened();
    await run("true");
    await server.exec(
      "cd ~/work && mkdir -p deep/.vscode && echo mine >deep/.vscode/tasks.json && git init -q later && git -C later config user.name me",
    );
    await run("echo evil >deep/.vscode/tasks.json; git -C later config core.fsmonitor evil");
    expect(readFileSync(join(server.home, "work/deep/.vscode/tasks.json"), "utf8")).toBe("mine\n");
    expect(await onHost("git -C later config user.name")).toBe(0);
    expect(await onHost("git -C later config core.fsmonitor")).not.toBe(0);
  });

  test("a workspace that takes too long to search has no sandbox", async () => {
    const { backend } = await opened({ searchSeconds: 0.02 });
    const folders = Array.from({ length: 200 }, (_, number) => `many/${number}/{0..99}`).join(" ");
    await server.exec(`bash -c 'cd ~/work && mkdir -p ${folders}'`);
    expect(await backend.sandbox?.state()).toEqual({
      works: false,
      reason: expect.stringMatching(/^On .*: The folder .*work is too large for the sandbox/),
      fix: "Use a folder in it that has one project.",
    });
    await expect(runOn(backend, "true")).rejects.toThrow(/the sandbox is required but does not work there/);
  });

  test("eight commands at once each have their own sandbox, and nothing is left when it is closed", async () => {
    const { backend, run } = await opened();
    const numbers = Array.from({ length: 8 }, (_, index) => index);
    const all = await Promise.all(
      numbers.map((number) => run(`echo ${number} >n${number}; cat n${number}; ps -A 2>/dev/null | wc -l`)),
    );
    expect(all.map(({ text }) => text.split("\n")[0])).toEqual(numbers.map(String));
    await backend.close();
    expect(readdirSync(join(server.home, ".local/state/handrail/sandbox"))).toEqual([]);
  });

  test("paths are granted, read and write, and links to others are not", async () => {
    const { run } = await opened();
    const outside = join(server.home, "outside");
    await run("echo granted >~/outside/file", { within: { write: [outside] } });
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("granted\n");
    expect((await run("cat ~/.aws/credentials", { within: { read: [join(server.home, ".aws")] } })).text).toBe(
      "the-key\n",
    );
    await server.exec("ln -s ~/.ssh ~/outside/link");
    await expect(run("true", { within: { write: [join(outside, "link")] } })).rejects.toThrow(/it is a link/);
    await expect(run("true", { within: { network: ["example.org"] } })).rejects.toThrow(/has no network/);
    const { text } = await run("echo x >src/x; cat src/main.c", { within: { readOnly: true } });
    expect(text).toMatch(/Read-only file system[^]*main/);
  });

  test("everyday commands of a repository run unasked, and network is asked about outside", async () => {
    const asked = async (backend: Backend) => {
      const toolkit = await toolkitWith({ target: backend, preset: "coding" });
      const all = await Promise.all(EVERYDAY.map((command) => toolkit.judge([{ kind: "exec", command }])));
      const shown = JSON.stringify(toolkit.tools.get("bash"));
      const result = await toolkit.judge([
        { kind: "exec", command: "npm ci", within: { network: ["registry.npmjs.org"] } },
      ]);
      return {
        asks: all.filter(({ verdict }) => verdict === "ask").length,
        refused: all.filter(({ verdict }) => verdict === "deny").length,
        network: result.reason,
        offersHosts: shown.includes('"network"'),
        text: /It runs in a sandbox: [^"]*/.exec(shown)?.[0],
      };
    };
    const before = await asked((await opened({ sandboxed: false })).backend);
    const after = await asked((await opened()).backend);
    expect(before.asks / EVERYDAY.length).toBeGreaterThan(0.3);
    expect(after.asks / EVERYDAY.length).toBeLessThanOrEqual(0.02);
    expect(after.refused).toBe(0);
    expect(after).toMatchObject({ offersHosts: false, text: expect.stringContaining("sandbox: false") });
    expect(after.network).toMatch(/has no network.*sandbox: false/);
  });

  test("a detached command and one that leaves the sandbox are asked about, and run outside", async () => {
    const { backend } = await opened();
    const questions: string[] = [];
    const toolkit = await toolkitWith({
      target: backend,
      preset: "coding",
      approver: async (_, { reason = "" }) => {
        questions.push(reason);
        return { answer: "once" };
      },
    });
    const text = async (input: object) => asText(await toolkit.call({ name: "bash", input }));
    expect(await text({ command: "make -v >/dev/null; touch ok && echo done" })).toContain("done");
    expect(questions).toEqual([]);
    await text({ command: "touch made-outside", sandbox: false });
    expect([questions.length, existsSync(join(server.home, "work/made-outside"))]).toEqual([1, true]);
    expect(await toolkit.judge([{ kind: "exec", command: "make", lifetime: "detached" }])).toMatchObject({
      verdict: "ask",
    });
  });
});

describe.skipIf(problem !== undefined)("the suite of backends, over SSH and in the sandbox", () => {
  let started: ReturnType<typeof sshServer> | undefined;
  const outputFolder = temporaryFolder();
  backendSuite(
    {
      name: "sandbox(ssh)",
      async open() {
        const { target, configFile, home } = await (started ??= sshServer(OPTIONS));
        mkdirSync(join(home, "work"), { recursive: true });
        execFileSync("chmod", ["777", join(home, "work")]);
        return contained(await ssh({ target, configFile, outputFolder, workDir: "~/work" }));
      },
      signals: "code",
      ids: "other",
      skip: {
        "there are none, and starting one is a failure": "detached commands run outside the sandbox",
        "folders of PATH that cannot be searched neither end the search nor explain a failure":
          "env(1) of the host starts the program, and names such a folder in its error",
      },
    },
    { describe, test, afterAll },
  );
});

function contained(inner: Backend, options: Partial<FarSandboxOptions> = {}): Backend {
  const isProtected = (path: string) => startUpFile(path) !== undefined;
  return farSandbox(inner, { required: true, writable: [], hidden: [], isProtected, ...options });
}

async function runOn(
  backend: Backend,
  script: string,
  more: Partial<Command> = {},
): Promise<{ exit: Exit; text: string; refusals: readonly Refusal[] }> {
  const child = await backend.spawn({ argv: ["sh", "-c", script], ...more });
  const exit = await child.exit;
  const text = Buffer.from(await child.output.read(0, child.output.kept)).toString();
  return { exit, text, refusals: (await child.refusals) ?? [] };
}
