// Calls, as a model makes them, on a toolkit with a sandbox: from the arguments to what the model reads and the record
// contains.
import { PRESETS } from "../../../src/tools/presets/presets.ts";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ActivityEvent } from "../../../src/core/contract/activity.ts";
import type { Approver } from "../../../src/core/contract/policy.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { mustBeHere, programProblem } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder, toolkitWith, workspace } from "../../support/workspace.ts";
import { bubblewrapProblem } from "./contained.ts";

const problem = bubblewrapProblem();
const noCurl = programProblem("curl");
mustBeHere("calls in the sandbox", problem);
mustBeHere("the network of calls in the sandbox", noCurl);

async function sandboxed(options: ToolkitOptions = {}, files: { readonly [path: string]: string } = {}) {
  const folder = await workspace(files);
  const events: ActivityEvent[] = [];
  const asked: string[] = [];
  const approver: Approver = async (_, { scopes = [] }) => {
    asked.push(...scopes.map(({ label }) => label));
    return { answer: "once" };
  };
  const toolsets = { every: [...PRESETS.all().map(({ name }) => name), "shell"] };
  const toolkit = await toolkitWith({
    workDir: folder,
    preset: "every",
    toolsets,
    sandbox: "on",
    approver,
    ...options,
  });
  const call = (name: string, input: unknown) =>
    toolkit.call({ name, input }, { onEvent: (event) => void events.push(event) });
  const text = async (command: string, more: object = {}) => asText(await call("bash", { command, ...more }));
  return { folder, toolkit, events, asked, call, text };
}

describe.skipIf(problem !== undefined)("a command in the sandbox", () => {
  test("does ordinary work without a question", async () => {
    const { text, asked, folder } = await sandboxed({}, { Makefile: "all:\n\techo built > out.txt\n" });
    expect(await text("make && mkdir -p a/b && touch a/b/c && cat out.txt")).toContain("built\n");
    expect(existsSync(join(folder, "a/b/c"))).toBe(true);
    expect(asked).toEqual([]);
  });

  test("reads a saved output at the path that the notice names, read-only, but not together with a network", async () => {
    const { text, asked } = await sandboxed();
    const shown = await text("seq 20000; echo the end");
    const [path = ""] = /(?<=\(for commands: )[^)]+/.exec(shown) ?? [];
    expect(path).toMatch(/^\/run\/handrail-outputs\/\w{16}$/);
    expect(await text(`grep -c . ${path}; tail -n 1 ${path}; echo x >> ${path}`)).toMatch(
      /^20001\nthe end\n.*Read-only file system/,
    );
    expect(asked).toEqual([]);
    expect(await text(`cat ${path}`, { network: ["example.org"] })).toContain("No such file or directory");
  });

  test("gets a report of what was refused, and how to request it; the record has it too", async () => {
    const { text, events } = await sandboxed({}, { "write.sh": `echo x > ${homedir()}/.handrail-probe\n` });
    const read = await text("bash write.sh");
    expect(read).toMatch(/Exit code: [12]/);
    expect(read).toContain(`${homedir()}/.handrail-probe: Read-only file system`);
    expect(read).toContain("[In the sandbox, only temporary files and the workspace are writable");
    expect(read).toContain('run it again with write: ["PATH"]; a person is asked.]');
    expect(existsSync(`${homedir()}/.handrail-probe`)).toBe(false);
    expect(events.filter(({ type }) => type === "sandbox.refused")).toMatchObject([
      { refusals: [{ kind: "likely", what: "write" }] },
    ]);
  });

  test("gets it from a tool that fails, too", async () => {
    const { call } = await sandboxed({}, { "write.sh": `echo x > ${homedir()}/.handrail-probe\n` });
    const result = await call("shell", { command: "bash write.sh" });
    expect(result.status).toBe("failed");
    expect(asText(result)).toContain("In the sandbox, only temporary files and the workspace");
  });

  test("raises an alarm when very much is refused", async () => {
    const { call, events } = await sandboxed(
      { sandbox: { mode: "on", alarms: { perMinute: 2 } } },
      { "write.sh": "echo x > /usr/probe\n" },
    );
    await call("bash", { command: "bash write.sh" });
    expect(events.map(({ type }) => type)).not.toContain("sandbox.alarmed");
    await call("bash", { command: "bash write.sh" });
    expect(events.find(({ type }) => type === "sandbox.alarmed")).toMatchObject({ refused: 2 });
  });

  test.skipIf(noCurl !== undefined)(
    "gets exactly what a person gave it: a folder, a host, or no sandbox at all",
    async () => {
      const given = temporaryFolder();
      const server = createServer((_, response) => response.end("served\n"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const host = `127.0.0.1:${port}`;
      const { text, asked } = await sandboxed(
        {
          policy: {
            forbiddenPaths: [],
            askInSandbox: "nothing",
            blockHighRiskCommands: false,
            network: { allowPrivate: [host] },
          },
        },
        {
          "fetch.sh": `unset NO_PROXY no_proxy\ncurl --silent --show-error http://${host}/\n`,
          "write.sh": `echo x > ${given}/a && echo done\n`,
        },
      );

      expect(await text("bash write.sh")).toContain("The sandbox has its own /tmp");
      expect(await text("bash write.sh", { write: [given] })).toBe("done\n");
      expect(await readFile(join(given, "a"), "utf8")).toBe("x\n");

      expect(await text("bash fetch.sh")).not.toContain("served");
      expect(await text("bash fetch.sh", { network: [host] })).toContain("served\n");
      expect(await text("bash fetch.sh", { sandbox: false })).toBe("served\n");

      expect(asked).toEqual([
        `write ${given}, from the sandbox`,
        `${host}, from the sandbox`,
        "bash fetch.sh (outside the sandbox)",
        "bash fetch.sh (outside the sandbox)",
      ]);
      server.close();
    },
  );

  test("is not asked about again for a longer grant, inside", async () => {
    const questions: string[] = [];
    const { text } = await sandboxed({
      approver: async (_, { scopes = [] }) => {
        questions.push(...scopes.map(({ label }) => label));
        return { answer: "session" };
      },
    });
    await text("make -v", { network: ["a.example.org"] });
    await text("true", { network: ["a.example.org"] });
    expect(questions).toEqual(["a.example.org, from the sandbox"]);
    await text("true", { network: ["a.example.org", "b.example.org"] });
    await text("id");
    await text("id", { sandbox: false });
    expect(questions.slice(1)).toEqual(["b.example.org, from the sandbox", "id (outside the sandbox)"]);
  });

  test("has temporary files that the next one finds, and that end with the toolkit", async () => {
    const { text, toolkit } = await sandboxed({ policy: { askInSandbox: "nothing", forbiddenPaths: [] } });
    await text("bash -c 'echo kept > $TMPDIR/handrail-kept'");
    expect(await text("bash -c 'cat $TMPDIR/handrail-kept'")).toContain("kept\n");
    expect(existsSync("/tmp/handrail-kept")).toBe(false);
    await toolkit.close();
  });

  test.skipIf(noCurl !== undefined)("reaches a server that another one keeps running", async () => {
    const { text, call } = await sandboxed(
      { policy: { autonomy: "full", blockHighRiskCommands: false } },
      {
        "serve.mjs":
          'import("node:http").then((http) => http.createServer((_, r) => r.end("hello")).listen(3456, "127.0.0.1", () => console.log("up")));\n',
      },
    );
    await call("bash", { command: "node serve.mjs", background: true });
    await until("the server is up", async () =>
      asText(await call("jobs", { action: "output", id: "1" })).includes("up"),
    );
    expect(await text("curl --silent http://127.0.0.1:3456/")).toContain("hello");
    await call("jobs", { action: "kill", id: "1" });
  });

  test("in the background is reported with its end", async () => {
    const { call, events, toolkit } = await sandboxed({}, { "write.sh": "echo x > /usr/probe\n" });
    await call("bash", { command: "bash write.sh", background: true });
    const job = await toolkit.jobs.get("1");
    await job?.process.exit;
    await job?.process.refusals;
    let told = "";
    await until("it is told", async () => (told += asText(await call("time", {}))).includes("[Job 1 has ended"));
    expect(told).toMatch(/\[Job 1 has ended: .*In the sandbox, only temporary files and the workspace/);
    expect(events.map(({ type }) => type)).not.toContain("sandbox.refused"); // those of a job are in the store
    const stored: string[] = [];
    for await (const { type } of toolkit.store.events()) stored.push(type);
    expect(stored).toContain("sandbox.refused");
  });
});

describe.skipIf(problem !== undefined)("file tools", () => {
  test("ask before they open what the sandbox hides, in any place", async () => {
    const hidden = temporaryFolder();
    await writeFile(join(hidden, "token"), "secret\n");
    await mkdir(join(hidden, "project"));
    const asked: string[] = [];
    const toolkit = await toolkitWith({
      workDir: hidden,
      preset: "all",
      sandbox: "on",
      policy: { forbiddenPaths: [] },
      approver: async (_, { reason = "" }) => {
        asked.push(reason);
        return { answer: "refuse" };
      },
    });
    const paths = toolkit.backend.sandbox?.hidden ?? [];
    expect(paths).toContain(join(homedir(), ".ssh"));
    for (const path of paths) {
      const judged = await toolkit.judge([{ kind: "read", path }]);
      expect(judged.verdict, path).not.toBe("allow");
    }
  });
});

describe("without a sandbox", () => {
  test("a toolkit that requires one runs no command, and says what to do", async () => {
    const path = process.env["PATH"];
    const folder = await workspace();
    const toolkit = await toolkitWith({ workDir: folder, sandbox: "on", policy: { autonomy: "full" } });
    try {
      process.env["PATH"] = temporaryFolder(); // without bwrap
      const result = await toolkit.call({ name: "bash", input: { command: "echo ran > ran" } });
      expect(result).toMatchObject({ status: "denied", by: "policy" });
      expect(asText(result)).toMatch(/bubblewrap|sandbox/);
      expect(existsSync(join(folder, "ran"))).toBe(false);
    } finally {
      process.env["PATH"] = path;
    }
  });

  test("tools do not mention it, and accept none of its arguments", async () => {
    const toolkit = await toolkitWith({ workDir: await workspace(), sandbox: "off", policy: { autonomy: "full" } });
    expect(JSON.stringify(toolkit.definitions("json"))).not.toContain("sandbox");
    expect(await toolkit.call({ name: "bash", input: { command: "true", sandbox: false } })).toMatchObject({
      status: "invalid-input",
    });
  });
});
