// Real programs in a real bubblewrap, whose only way out is the bridge and the proxy behind it.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bridged } from "../../../src/machine/sandbox/egress/bridge-command.ts";
import type { EgressProxy } from "../../../src/machine/sandbox/egress/proxy.ts";
import { representatives } from "../../support/cases.ts";
import { mustBeHere, mustRun, programProblem } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { repository, temporaryFolder } from "../../support/workspace.ts";
import { proxyWith, webServer } from "./way-out.ts";

/** The stand-ins of rustup and pyenv exist without the programs they stand for, so these are run. */
const has = (program: string) =>
  spawnSync("sh", ["-c", ["cargo", "pip"].includes(program) ? `${program} --version` : `command -v ${program}`])
    .status === 0;
const problem =
  spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]).status === 0
    ? undefined
    : "bubblewrap does not work here";

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
}

async function ended(child: ChildProcess): Promise<Ended> {
  let output = "";
  child.stdout?.on("data", (bytes: Buffer) => (output += bytes.toString()));
  child.stderr?.on("data", (bytes: Buffer) => (output += bytes.toString()));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code, signal, output };
}

interface BridgedOptions {
  readonly socket?: string;
  readonly detached?: boolean;
  /** `PATH`. */
  readonly path?: string | undefined;
}

/** Runs a program behind the bridge, outside any sandbox. */
function startBridged(words: readonly [string, ...string[]], options: BridgedOptions = {}): ChildProcess {
  const { socket = "/nowhere", detached = false, path = process.env["PATH"] } = options;
  const { argv, env } = bridged(words, socket);
  return spawn(argv[0], argv.slice(1), { env: { ...process.env, ...env, PATH: path }, detached });
}

/** Runs a script in a sandbox with its own network, in a new folder as its home. */
function sandboxed(proxy: EgressProxy, script: string, folder = temporaryFolder()): Promise<Ended> {
  const { argv, env, paths } = bridged(["sh", "-c", script], "/tmp/proxy.sock");
  const words = [
    "--unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp".split(" "),
    ["--bind", proxy.socket, "/tmp/proxy.sock", "--bind", folder, folder, "--chdir", folder],
    paths.flatMap((path) => ["--ro-bind", path, path]),
    ["--", ...argv],
  ].flat();
  const home = {
    HOME: folder,
    npm_config_cache: join(folder, "cache"),
    GIT_CONFIG_NOSYSTEM: "1",
    RUSTUP_HOME: process.env["RUSTUP_HOME"] ?? join(homedir(), ".rustup"),
    PIP_CONFIG_FILE: "/dev/null",
  };
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:PIP_|npm_|NPM_)/.test(name)));
  return ended(spawn("bwrap", words, { env: { ...clean, ...home, ...env }, stdio: ["ignore", "pipe", "pipe"] }));
}

/** A web server with a name that only the proxy knows. */
async function site(
  files: (path: string, port: number) => Uint8Array | string | undefined,
): Promise<{ proxy: EgressProxy; port: number }> {
  let port = 0;
  port = await webServer((request, response) => {
    const body = files(decodeURIComponent((request.url ?? "").split("?")[0] ?? ""), port);
    if (body === undefined) return void response.writeHead(404).end();
    const kind =
      typeof body === "string" && body.startsWith("{")
        ? "application/json"
        : typeof body === "string"
          ? "text/html"
          : "application/octet-stream";
    response.writeHead(200, { "content-type": kind }).end(body);
  });
  const hosts = [`one.test:${port}`];
  const lookup = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]);
  return { port, proxy: await proxyWith({ hosts, network: { allowPrivate: hosts }, lookup }) };
}

describe("the bridge runs a command transparently", () => {
  test("its words, streams and exit code are the command's", async () => {
    const child = startBridged(["sh", "-c", 'cat; printf "%s|" "$@" >&2; exit 7', "sh", "a b", "", "*"]);
    child.stdin?.end("typed,");
    expect(await ended(child)).toEqual({ code: 7, signal: null, output: "typed,a b||*|" });
  });

  test("a signal that ends the command ends the bridge the same way", async () => {
    expect(await ended(startBridged(["sh", "-c", "kill -KILL $$"]))).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(await ended(startBridged(["sh", "-c", "kill -TERM $$"]))).toMatchObject({ code: null, signal: "SIGTERM" });
    // A core dump could be written. The number stands for the signal, as in a shell.
    expect(await ended(startBridged(["sh", "-c", "ulimit -c 0; kill -SYS $$"]))).toMatchObject({
      code: 159,
      signal: null,
    });
  });

  test("a missing program is reported as a shell does", async () => {
    expect(await ended(startBridged(["no-such-program"]))).toMatchObject({
      code: 127,
      output: "handrail: no-such-program: not found\n",
    });
    expect(await ended(startBridged(["/etc/passwd"]))).toMatchObject({
      code: 126,
      output: expect.stringContaining("EACCES") as string,
    });
  });

  test("folders of PATH that cannot be searched are neither the program's error nor the end of the search", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "closed"), { mode: 0 });
    symlinkSync("loop", join(folder, "loop"));
    for (const name of ["closed", "loop"]) {
      const path = `${join(folder, name)}:/usr/bin:/bin`;
      expect(await ended(startBridged(["no-such-program"], { path }))).toMatchObject({ code: 127 });
      expect(await ended(startBridged(["echo", "found"], { path }))).toMatchObject({ code: 0, output: "found\n" });
    }
  });

  test("a signal that only the bridge got is passed on", async () => {
    const child = startBridged([
      "sh",
      "-c",
      'trap "echo got it; exit 3" TERM; echo ready; while :; do sleep 0.05; done',
    ]);
    const end = ended(child);
    await once(child.stdout!, "data");
    child.kill("SIGTERM");
    expect(await end).toMatchObject({ code: 3, output: "ready\ngot it\n" });
  });

  test("a signal to the whole group reaches the command once", async () => {
    const script = 'trap "echo got it; sleep 0.2; echo tidied; exit 0" TERM; echo ready; while :; do sleep 0.05; done';
    const child = startBridged(["sh", "-c", script], { detached: true });
    const end = ended(child);
    await once(child.stdout!, "data");
    process.kill(-child.pid!, "SIGTERM");
    const { code, output } = await end;
    expect(code).toBe(0);
    expect(output.match(/got it|tidied/g)).toEqual(["got it", "tidied"]);
  });

  test("programs find the proxy, and git and Java keep their earlier settings", async () => {
    const { argv } = bridged(["env"], "/nowhere");
    const before = {
      PATH: process.env["PATH"],
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "a.b",
      GIT_CONFIG_VALUE_0: "c",
      MAVEN_OPTS: "-Xmx1g",
    };
    const { output } = await ended(spawn(argv[0], argv.slice(1), { env: before }));
    const proxy = /^HTTPS_PROXY=(http:\/\/127\.0\.0\.1:\d+)$/m.exec(output)?.[1] ?? "none";
    const lines = output.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        `http_proxy=${proxy}`,
        `https_proxy=${proxy}`,
        `ALL_PROXY=${proxy}`,
        "NO_PROXY=localhost,127.0.0.1,::1",
      ]),
    );
    expect(lines).toEqual(
      expect.arrayContaining([
        "GIT_CONFIG_COUNT=2",
        "GIT_CONFIG_KEY_0=a.b",
        "GIT_CONFIG_KEY_1=http.proxy",
        `GIT_CONFIG_VALUE_1=${proxy}`,
      ]),
    );
    expect(output).toMatch(/^MAVEN_OPTS=-Xmx1g -Dhttp\.proxyHost=127\.0\.0\.1 /m);
  });

  test("it is one file that needs only Node", () => {
    const [, file = ""] = bridged(["true"], "/nowhere").argv;
    const imported = [...readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*["']([^"']+)["']/g)].map(
      (match) => match[1],
    );
    expect(imported.filter((name) => !name?.startsWith("node:"))).toEqual([]);
    expect(imported).toContain("node:net");
  });
});

mustBeHere("programs behind the bridge", problem);
const noCurl = programProblem("curl");
mustBeHere("curl behind the bridge", noCurl);
mustRun("cargo behind the bridge", ["cargo", "--version"]);

describe.skipIf(problem !== undefined)("behind the bridge, in a sandbox", () => {
  test.skipIf(noCurl !== undefined)(
    "curl gets plain pages and tunnels to allowed hosts, and nothing around the proxy",
    async () => {
      const { proxy, port } = await site(() => "the page\n");
      const url = `http://one.test:${port}/`;
      const { code, output } = await sandboxed(
        proxy,
        `set -e; curl -sS ${url}; curl -sS --proxytunnel ${url}; ! curl -sS --noproxy '*' http://127.0.0.1:${port}/; ! curl -sS --noproxy '*' ${url}; ! curl -sS http://two.test:${port}/ -o body -f`,
      );
      expect(output.match(/the page/g)).toHaveLength(2);
      expect(code).toBe(0);
      expect(proxy.refused()).toEqual([{ host: `two.test:${port}` }]);
    },
  );

  test("wget does too", async ({ skip }) => {
    skip(!has("wget"), "wget is not installed");
    const { proxy, port } = await site(() => "the page\n");
    expect(await sandboxed(proxy, `wget -qO- http://one.test:${port}/`)).toMatchObject({
      code: 0,
      output: "the page\n",
    });
  });

  test("git clones", async () => {
    const folder = await repository({ "file.txt": "content\n" });
    execFileSync("git", ["-C", folder, "update-server-info"]);
    const { proxy, port } = await site((path) => {
      try {
        return readFileSync(join(folder, ".git", path.replace("/repository.git/", "")));
      } catch {
        return undefined;
      }
    });
    const script = `git clone --quiet http://one.test:${port}/repository.git copy && cat copy/file.txt`;
    expect(await sandboxed(proxy, script)).toMatchObject({
      code: 0,
      output: expect.stringContaining("content") as string,
    });
  });

  test("npm installs", async () => {
    const made = temporaryFolder();
    mkdirSync(join(made, "package"));
    writeFileSync(
      join(made, "package/package.json"),
      JSON.stringify({ name: "tiny", version: "1.0.0", main: "index.js" }),
    );
    writeFileSync(join(made, "package/index.js"), "module.exports = 'installed';");
    execFileSync("tar", ["-czf", "tiny.tgz", "package"], { cwd: made });
    const { proxy, port } = await site((path, here) => {
      if (path.endsWith(".tgz")) return readFileSync(join(made, "tiny.tgz"));
      if (path !== "/tiny") return undefined;
      const dist = { tarball: `http://one.test:${here}/tiny/-/tiny-1.0.0.tgz` };
      const versions = { "1.0.0": { name: "tiny", version: "1.0.0", dist } };
      return JSON.stringify({ name: "tiny", "dist-tags": { latest: "1.0.0" }, versions });
    });
    const script = `npm install --no-audit --no-fund --registry http://one.test:${port}/ tiny >log 2>&1 || { cat log; exit 1; }; node -p 'require("tiny")'`;
    expect(await sandboxed(proxy, script)).toMatchObject({ code: 0, output: "installed\n" });
  });

  test("pip installs", async ({ skip }) => {
    skip(!has("pip"), "pip is not installed");
    // The interpreter itself: wrappers in some homes write there after every installation.
    const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"]).toString().trim();
    const made = temporaryFolder();
    const wheel = "tiny_thing-1.0-py3-none-any.whl";
    const script = `
import zipfile
with zipfile.ZipFile("${wheel}", "w") as z:
    z.writestr("tiny_thing.py", "WORD = 'installed'\\n")
    z.writestr("tiny_thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny-thing\\nVersion: 1.0\\n")
    z.writestr("tiny_thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr("tiny_thing-1.0.dist-info/RECORD", "")
`;
    execFileSync("python3", ["-c", script], { cwd: made });
    const { proxy, port } = await site((path) => {
      if (path === "/simple/tiny-thing/") return `<html><a href="/${wheel}">${wheel}</a></html>`;
      return path === `/${wheel}` ? readFileSync(join(made, wheel)) : undefined;
    });
    const install = `${python} -m pip install --quiet --no-cache-dir --target here --trusted-host one.test --index-url http://one.test:${port}/simple tiny-thing >log 2>&1 || { cat log; exit 1; }`;
    expect(
      await sandboxed(proxy, `${install}; PYTHONPATH=here ${python} -c 'import tiny_thing; print(tiny_thing.WORD)'`),
    ).toMatchObject({ code: 0, output: "installed\n" });
  });

  test.skipIf(noCurl !== undefined)("a server in the sandbox is reached there, not through the proxy", async () => {
    const proxy = await proxyWith({ hosts: [] });
    const script = `node -e '
      const http = require("node:http");
      const server = http.createServer((_, response) => response.end("mine\\n")).listen(0, "127.0.0.1", () => {
        const url = "http://127.0.0.1:" + server.address().port;
        require("node:child_process").spawn("curl", ["-sS", url], { stdio: "inherit" }).on("exit", (code) => process.exit(code));
      });'`;
    expect(await sandboxed(proxy, script)).toMatchObject({ code: 0, output: "mine\n" });
    expect(proxy.refused()).toEqual([]);
  });

  const settings = `mkdir -p p/src && cd p && printf '[package]\\nname="p"\\nversion="0.1.0"\\n[dependencies]\\nx={git="https://registry.example.org/x.git"}\\n' > Cargo.toml && echo > src/lib.rs`;
  const clients: readonly (readonly [program: string, script: string, host: string])[] = [
    ["curl", "curl -sS https://registry.example.org/", "registry.example.org:443"],
    ["wget", "wget -q -t 1 https://registry.example.org/", "registry.example.org:443"],
    ["git", "git clone https://registry.example.org/x.git", "registry.example.org:443"],
    ["npm", "npm install --fetch-retries 0 --registry https://registry.example.org/ tiny", "registry.example.org:443"],
    [
      "pip",
      "python3 -m pip download --retries 0 --index-url https://registry.example.org/simple tiny-thing",
      "registry.example.org:443",
    ],
    ["cargo", `${settings} && CARGO_HOME=$PWD/c CARGO_NET_RETRY=0 cargo fetch`, "registry.example.org:443"],
    [
      "mvn",
      "echo '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version></project>' > pom.xml; mvn -B -q -Dmaven.repo.local=$PWD/m compile",
      "repo.maven.apache.org:443",
    ],
    [
      "go",
      "echo module x > go.mod; GOFLAGS=-mod=mod GOPATH=$PWD/g GOCACHE=$PWD/c go get registry.example.org/x",
      "proxy.golang.org:443",
    ],
  ];
  test.for(representatives(clients, 4))(
    "%s asks the proxy, is refused, and fails",
    { timeout: 60_000 },
    async ([program, script, host], { skip }) => {
      skip(!has(program), `${program} is not installed, or does not run`);
      const proxy = await proxyWith({ hosts: [] });
      const { code, output } = await sandboxed(proxy, script);
      expect(code, output).not.toBe(0);
      expect(proxy.refused(), output).toContainEqual({ host });
    },
  );
});

test.skipIf(noCurl !== undefined)("open connections do not keep the bridge alive", async () => {
  const server = createServer();
  const socket = join(temporaryFolder(), "s");
  server.listen(socket);
  await once(server, "listening");
  let met = false;
  server.on("request", () => (met = true));
  const child = startBridged(["sh", "-c", "curl -sS http://one.test/ & sleep 60"], { socket });
  await until("the request is under way", () => met);
  const command = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ")[0];
  process.kill(Number(command), "SIGTERM");
  expect((await once(child, "exit"))[1]).toBe("SIGTERM");
  server.closeAllConnections();
  server.close();
});
