import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SharedNetwork, openSharedNetwork } from "../../../src/machine/sandbox/egress/shared-network.ts";
import { mustBeHere } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { bundled } from "./bundled.ts";
import { CONTAINED, bubblewrapProblem, run } from "./contained.ts";

const problem = bubblewrapProblem();
const running: ChildProcess[] = [];
const rooms: SharedNetwork[] = [];

afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(rooms.map((room) => room.close()));
});

async function roomHere(): Promise<SharedNetwork> {
  const room = await openSharedNetwork();
  expect(room).toBeDefined();
  rooms.push(room!);
  return room!;
}

const FETCH = `
  const socket = require("net").connect({ port: Number(process.argv[1]), host: process.argv[2] ?? "127.0.0.1" });
  socket.on("data", (data) => process.stdout.write(data)).on("error", (error) => console.log(error.code));
`;
const SERVE = `
  const server = require("net").createServer((socket) => socket.end("hello from " + require("os").hostname() + "\\n"));
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;
const fetchFrom = (prefix: readonly string[], port: string | number, host = "127.0.0.1") =>
  run([...prefix, "node", "-e", FETCH, String(port), host]).stdout;

/** Starts a server in the network. Returns its port. */
async function serverIn(prefix: readonly string[]): Promise<string> {
  const child = spawn(prefix[0]!, [...prefix.slice(1), "node", "-e", SERVE], { stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  let said = "";
  child.stdout.on("data", (text) => void (said += text));
  await until("it listens", () => said.endsWith("\n"));
  return said.trim();
}

mustBeHere("a private network of commands", problem);

describe.skipIf(problem !== undefined)("a private network that commands share", () => {
  let room: SharedNetwork;
  let inside: readonly string[];
  let port: string;

  beforeAll(async () => {
    room = await roomHere();
    inside = [...room.prefix, ...CONTAINED];
    port = await serverIn([...inside, "--hostname", "first"]);
  });

  test("a server in one command is reached from another", () => {
    expect(fetchFrom([...inside, "--hostname", "second"], port)).toBe("hello from first\n");
  });

  test("it is not reached from outside, nor from another private network", async () => {
    expect(fetchFrom([], port)).toBe("ECONNREFUSED\n");
    expect(fetchFrom([...CONTAINED, "--unshare-net"], port)).toBe("ECONNREFUSED\n");
    const other = await roomHere();
    expect(fetchFrom([...other.prefix, ...CONTAINED], port)).toBe("ECONNREFUSED\n");
  });

  test("from inside, neither a local server nor one of the internet is reached", async () => {
    const server = createServer((socket) => socket.end("outside\n"));
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const address = server.address();
    const outer = typeof address === "object" && address !== null ? address.port : 0;
    expect(await saidBy(["node", "-e", FETCH, String(outer)])).toBe("outside\n");
    expect(await saidBy([...inside, "node", "-e", FETCH, String(outer)])).toBe("ECONNREFUSED\n");
    expect(fetchFrom(inside, 80, "192.0.2.1")).toBe("ENETUNREACH\n");
    expect(fetchFrom(inside, 80, "2001:db8::1")).toBe("ENETUNREACH\n");
    server.close();
  });

  test("abstract unix sockets of this machine are absent too", async () => {
    const name = `handrail-test-${process.pid}`;
    const server = createServer((socket) => socket.end("outside\n"));
    await new Promise<void>((resolve) => server.listen(`\0${name}`, resolve));
    const script = `require("net").connect({ path: "\\0" + process.argv[1] }).on("data", (data) => process.stdout.write(data)).on("error", (error) => console.log(error.code))`;
    expect(await saidBy(["node", "-e", script, name])).toBe("outside\n");
    expect(await saidBy([...inside, "node", "-e", script, name])).toBe("ECONNREFUSED\n");
    server.close();
  });

  test("commands keep their identity, in their own /proc, with no capabilities beyond bwrap's", () => {
    const script =
      "id -u; id -g; set -- /proc/[0-9]*; echo $#; grep CapEff /proc/self/status; touch /etc/handrail-test 2>&1";
    const outside = run([...CONTAINED, "--unshare-net", "sh", "-c", script]).stdout;
    expect(run([...inside, "sh", "-c", script]).stdout).toBe(outside);
    expect(outside).toMatch(/Read-only|Permission/);
  });

  test("nothing of it runs while no command does, and its prefix names files that only this process holds", async () => {
    const held = await roomHere();
    const network = /--net=(\S+)/.exec(held.prefix.join(" "))![1]!;
    expect(network).toMatch(new RegExp(`^/proc/${process.pid}/fd/\\d+$`));
    await until(
      "the processes that made it and tried it are gone",
      () => processesIn(readlinkSync(network)).length === 0,
    );
    await held.close();
    await held.close();
    expect(run([...held.prefix, "true"]).status).not.toBe(0);
  });

  test("a closed one continues for its commands, and accepts no new ones", async () => {
    const closing = await roomHere();
    const words = [...closing.prefix, ...CONTAINED];
    const its = await serverIn(words);
    await closing.close();
    expect(fetchFrom(words, its)).toBe("");
    expect(running.at(-1)?.exitCode).toBeNull();
  });
});

test.skipIf(problem !== undefined)(
  "a killed process leaves nothing of a network, whatever stage its creation had reached",
  async () => {
    const module = await bundled("machine/sandbox/egress/shared-network.ts");
    const mark = `${process.pid}-${Date.now()}`;
    for (const delay of [0, 4, 8, 15, 1_000]) {
      const script = `import { openSharedNetwork } from ${JSON.stringify(module)};
      setTimeout(() => process.kill(process.pid, "SIGKILL"), ${delay});
      const room = await openSharedNetwork();
      console.log(room.prefix.join(" "));`;
      const env = { ...process.env, HANDRAIL_TEST_MARK: mark };
      const { signal, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
        encoding: "utf8",
        env,
      });
      expect(signal).toBe("SIGKILL");
      if (delay === 1_000) expect(run([...stdout.trim().split(" "), "true"]).status).not.toBe(0);
      await until("nothing of it lives", () => marked(mark).length === 0);
    }
  },
);

/** Processes with this mark in their environment. */
function marked(mark: string): readonly string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, "latin1").includes(`HANDRAIL_TEST_MARK=${mark}`)
      );
    } catch {
      return false;
    }
  });
}

/** Returns what a command printed, while this process continues to serve. */
async function saidBy([program = "", ...args]: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  let said = "";
  child.stdout.on("data", (text) => void (said += text));
  await until("it has ended", () => child.exitCode !== null);
  return said;
}

/** Returns visible processes of the network namespace. */
function processesIn(namespace: string): readonly string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/ns/net`) === namespace;
    } catch {
      return false;
    }
  });
}
