// The sandbox with all its parts: granted network access, limits, reports of refusals, and what is left when Handrail
// is killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { afterAll, describe, expect, test } from "vitest";
import { mustBeHere, requireProgram } from "../../support/here.ts";
import { isAlive, until } from "../../support/until.ts";
import { type World, noSandbox, world, worldFolder } from "./world.ts";
import { shellText } from "../../../scripts/lib/shell-text.mjs";

mustBeHere("the sandbox", noSandbox);

const worlds: World[] = [];
afterAll(async () => {
  await Promise.all(worlds.map(({ backend }) => backend.close()));
});
const newWorld = async (...options: Parameters<typeof world>) => {
  const made = await world(...options);
  worlds.push(made);
  return made;
};

describe.skipIf(noSandbox !== undefined)("a contained command and the outside", () => {
  test("it reaches the hosts it was granted, by the proxy alone, and gets a report of the others", async () => {
    requireProgram("curl");
    const server = createServer((_, response) => response.end("from outside\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const one = await newWorld({ network: { allowPrivate: ["127.0.0.1"] } });
    const script = `NO_PROXY= no_proxy= curl -sS http://127.0.0.1:${port}/; curl -sS http://other.example.org/ | head -c 200; exit 1`;
    const granted = await one.bash(script, { within: { network: [`127.0.0.1:${port}`] } });
    expect(granted.output).toMatch(/^from outside\n/);
    expect(granted.refusals).toEqual([
      expect.objectContaining({ kind: "host", host: expect.stringMatching(/^other\.example\.org/) }),
    ]);
    const without = await one.bash(script);
    expect(without.output).not.toMatch("from outside");
    expect(without.refusals).toEqual([{ kind: "likely", what: "network" }]);
    server.close();
  });

  test("a networked command ends as it would without a sandbox", async () => {
    const one = await newWorld();
    const within = { network: ["example.org"] };
    expect((await one.bash("exit 7", { within })).exit).toEqual({ how: "exited", code: 7 });
    expect((await one.bash("kill -9 $$", { within })).exit).toEqual({ how: "signaled", signal: "SIGKILL" });
    const child = await one.backend.spawn({
      argv: ["bash", "-c", "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done"],
      within,
    });
    await until("it is ready", () => child.output.size > 0);
    await child.kill();
    expect(await child.exit).toEqual({ how: "exited", code: 5 });
    await child.output.dispose();
  });

  test("a hidden file is reported with its path, a write outside as the probable cause", async () => {
    const one = await newWorld();
    const key = one.file("home/.ssh/key");
    expect((await one.bash("touch /etc/handrail-test")).refusals).toEqual([{ kind: "likely", what: "write" }]);
    expect((await one.bash(`cat ${key}`)).refusals).toEqual([{ kind: "read", path: dirname(key) }]);
    expect((await one.bash("unshare -r true")).refusals).toEqual([{ kind: "likely", what: "system-call" }]);
    expect((await one.bash("echo fine; cat none")).refusals).toEqual([]);
  });

  test("a server in one command is reached from another", async () => {
    requireProgram("curl");
    const one = await newWorld();
    one.file(
      "ws/server.mjs",
      `import { createServer } from "node:http"; createServer((_, r) => r.end("served\\n")).listen(8123, "127.0.0.1", () => console.log("up"));`,
    );
    const server = await one.backend.spawn({ argv: [process.execPath, "server.mjs"] });
    await until("it is up", () => server.output.size > 0);
    expect((await one.bash("curl -s http://127.0.0.1:8123/")).output).toBe("served\n");
    await server.kill();
  });

  test("a disk that is nearly full stops it, with a report", async () => {
    const one = await newWorld({ limits: { diskFree: 2 ** 50 } });
    const ran = await one.bash("while :; do head -c 1000000 /dev/zero >>fill; sleep 0.01; done");
    expect(ran.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
    expect(ran.refusals).toEqual([{ kind: "limit", what: "disk" }]);
  }, 60_000);

  test("a tree in its /tmp that is deeper than a path can be long is removed at the end", async () => {
    requireProgram("perl");
    const one = await world();
    const made = await one.bash(
      `cd /tmp && perl -e 'for (1 .. 600) { mkdir "deep-folder"; chdir "deep-folder" or die }'`,
    );
    expect(made.exit).toEqual({ how: "exited", code: 0 });
    await one.backend.close();
    expect(readdirSync(one.folder, { recursive: true }).filter((name) => String(name).includes("deep-folder"))).toEqual(
      [],
    );
  });

  test("when Handrail is killed nothing survives, and the next start removes what was left", async () => {
    const root = worldFolder();
    const bundle = await rolldown({
      input: fileURLToPath(new URL("../../fixtures/sandbox/owner.ts", import.meta.url)),
      platform: "node",
      plugins: [shellText()],
      external: ["@vscode/ripgrep"],
      transform: { define: { __SPAWNER__: JSON.stringify(__SPAWNER__), __BRIDGE__: JSON.stringify(__BRIDGE__) } },
    });
    await bundle.write({ dir: join(root, "program"), format: "esm", entryFileNames: "[name].mjs" });
    await bundle.close();
    mkdirSync(join(root, "ws"));
    mkdirSync(join(root, "home"));
    const owner = spawn(process.execPath, [join(root, "program/owner.mjs"), root], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    await until("its commands run", () => existsSync(join(root, "ws/up")) && existsSync(join(root, "ws/beats")));
    const children = processesWith(join(root, "ws"));
    expect(children.length).toBeGreaterThan(0);
    const ended = once(owner, "exit");
    owner.kill("SIGKILL");
    await ended;
    await until("all it started is gone", async () =>
      (await Promise.all(children.map(isAlive))).every((alive) => !alive),
    );
    const beats = () => readFileSync(join(root, "ws/beats")).length;
    const last = beats();
    expect(readdirSync(join(root, "sandbox/sessions"))).toHaveLength(1);
    const [left = ""] = readdirSync(join(root, "sandbox/sessions"));
    await until("no process of the sandbox is left", () => processesWith(left, "environ").length === 0);
    const one = await newWorld({ root });
    await one.bash("true");
    expect(readdirSync(join(root, "sandbox/sessions"))).not.toContain(left);
    // What the killed command left in a repository is held back.
    expect(readFileSync(join(root, "ws/new/.git/config"), "utf8")).toMatch(/^# held back .*fsmonitor/m);
    expect(beats()).toBe(last);
  }, 60_000);
});

/** Returns processes with a text in their command line or environment. */
function processesWith(text: string, file: "cmdline" | "environ" = "cmdline"): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/${file}`, "latin1").includes(text) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

test.skipIf(noSandbox !== undefined)("a command cannot write to the status report of its sandbox", async () => {
  const { bash } = await world();
  const script =
    "for f in /proc/[12]/fd/*; do if (echo x >> $f) 2>/dev/null; then readlink $f; fi; done; ls /proc/2/fd | wc -l";
  const { output } = await bash(`${script} 2>/dev/null`);
  expect(output).not.toMatch(/status/);
});

test.skipIf(noSandbox !== undefined)(
  "a tree in /tmp that is deeper than a path may be long is removed at the end",
  async () => {
    const { bash, backend, folder } = await world();
    const name = "d".repeat(200);
    const script = `cd /tmp; for i in $(seq 60); do mkdir ${name} && cd ${name} || exit 1; done; touch end; echo made`;
    expect((await bash(script)).output).toBe("made\n");
    await backend.close();
    expect(readdirSync(join(folder, "sessions"))).toEqual([]);
  },
);
