// Where the programs of tool sources start: not where a model could have planted code that they run.
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createProgramTrust } from "../../../src/app/config/program-trust.ts";
import { createTrust } from "../../../src/app/config/trust.ts";
import type { ToolSource } from "../../../src/core/contract/tool-source.ts";
import { mcpServer } from "../../../src/tools/mcp/source.ts";
import { moduleSource } from "../../../src/tools/plugins/module.ts";
import { plugin } from "../../../src/tools/plugins/plugin.ts";
import { placing } from "../../../src/cli/sources.ts";
import { asText } from "../../../src/core/call/result.ts";
import { writtenPlaces } from "../../../src/policy/provenance/written-places.ts";
import { noSandbox, worldFolder } from "../../machine/sandbox/world.ts";
import { mustBeHere } from "../../support/here.ts";
import { temporaryFolder, toolkitWith, workspace } from "../../support/workspace.ts";

mustBeHere("what the sandbox opens", noSandbox);

async function script(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

/** Starts a source, waits until it has failed or has tools, and closes it. Returns its notices. */
async function start(workDir: string, source: ToolSource, stateDir = temporaryFolder()): Promise<string> {
  const notices: string[] = [];
  const toolkit = await toolkitWith({
    ...{ preset: "none", workDir, stateDir, sources: [source] },
    onNotice: (text: string) => void notices.push(text),
  });
  await toolkit.ready;
  await toolkit.close();
  return notices.join("\n");
}

test.each([
  ["in the workspace", "."],
  ["in a folder above it", ".."],
])(
  "npx does not run what was planted %s",
  async (_, where) => {
    const folder = await workspace();
    const workDir = join(folder, "ws");
    const mark = join(temporaryFolder(), "ran");
    await mkdir(workDir);
    await script(join(workDir, where, "node_modules/.bin/planted-mcp-server"), `touch ${mark}`);
    const settings = { command: "npx", args: ["--no-install", "planted-mcp-server"], within: "none" as const };
    await start(workDir, mcpServer("planted", settings, { mostFailures: 1 }));
    expect(existsSync(mark)).toBe(false);
    await start(workDir, mcpServer("planted", { ...settings, cwd: workDir }, { mostFailures: 1 }));
    expect(existsSync(mark)).toBe(true); // started in the workspace, it would have
  },
  120_000,
);

test("a program starts in a private folder, and gets the workspace as a variable", async () => {
  const [workDir, out] = [await workspace(), join(temporaryFolder(), "out")];
  const stateDir = temporaryFolder();
  const path = await script(join(temporaryFolder(), "plugin.sh"), `pwd >${out}; echo "$HANDRAIL_WORKSPACE" >>${out}`);
  await start(workDir, plugin({ path, mostFailures: 1 }), stateDir);
  expect(readFileSync(out, "utf8")).toBe(`${stateDir}/programs\n${workDir}\n`);
});

test("a server is told the workspace as its only root", async () => {
  const [workDir, out] = [await workspace(), join(temporaryFolder(), "out")];
  const server = join(temporaryFolder(), "server.mjs");
  await writeFile(
    server,
    `import { writeFileSync } from "node:fs";
     import { createInterface } from "node:readline";
     const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
     const info = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } };
     for await (const line of createInterface({ input: process.stdin })) {
       const { id, method, result } = JSON.parse(line);
       if (result?.roots !== undefined) { writeFileSync(${JSON.stringify(out)}, JSON.stringify(result.roots)); send({ id: list, result: { tools: [] } }); }
       else if (method === "initialize") send({ id, result: info });
       else if (method === "tools/list") { var list = id; send({ id: "r", method: "roots/list" }); }
       else if (id !== undefined) send({ id, error: { code: -32601, message: "unknown" } });
     }`,
  );
  const settings = { command: process.execPath, args: [server], within: "none" as const };
  expect(await start(workDir, mcpServer("x", settings, { mostFailures: 1 }))).toBe("");
  expect(JSON.parse(readFileSync(out, "utf8"))).toEqual([{ uri: `file://${workDir}`, name: basename(workDir) }]);
});

test("a program does not start where a model can write above", async () => {
  const workDir = await workspace();
  const mark = join(temporaryFolder(), "ran");
  const path = await script(join(temporaryFolder(), "plugin.sh"), `touch ${mark}`);
  const notices = await start(workDir, plugin({ path, mostFailures: 1 }), join(workDir, "state"));
  expect(notices).toContain("where a model can write");
  expect(existsSync(mark)).toBe(false);
});

test.each([
  ["a program on the PATH", ["npx", "server"], {}, { sandbox: false, cwd: undefined, opened: undefined }],
  ["one that starts in the workspace", ["npx", "server"], { cwd: "workspace" }, { sandbox: true, cwd: undefined }],
  ["a script in the workspace", ["python3", "server.py"], {}, { sandbox: true }],
  ["a script in an allowed root", ["node", "ROOT/server.mjs"], {}, { sandbox: true }],
  ["an option with one", ["node", "--import=./server.py"], {}, { sandbox: true }],
  ["a script, as the user set it", ["python3", "server.py"], { sandbox: false }, { sandbox: false, cwd: "WS" }],
  ["a project's program", ["npx", "server"], { isOfProject: true }, { sandbox: true }],
  [
    "one that starts in the workspace, as the user set it",
    ...[["npx", "server"], { cwd: "workspace", sandbox: false }, { sandbox: false, opened: { source: "mcp:x" } }],
  ],
] as const)("where it runs: %s", async (_, argv, setting, expected) => {
  const [workDir, root, state] = [await workspace({ "server.py": "" }), temporaryFolder(), temporaryFolder()];
  await writeFile(join(root, "server.mjs"), "");
  const trust = createProgramTrust({ trust: createTrust(state), workDir, writable: [root] });
  const words = argv.map((word) => word.replace("ROOT", root));
  const placed = await placing(trust, workDir)("mcp:x", words, setting);
  const cwd = "cwd" in expected && expected.cwd === "WS" ? { cwd: workDir } : {};
  expect(placed).toMatchObject({ ...expected, ...cwd });
});

test("outside the sandbox in the workspace, a program starts when it is trusted by name and words", async () => {
  const [workDir, state] = [await workspace(), temporaryFolder()];
  const store = createTrust(state);
  const trust = createProgramTrust({ trust: store, workDir });
  const opened = { source: "mcp:x" };
  expect(await trust.mayStart(["npx", "server"], opened)).toContain("handrail trust");
  await store.record(trust.byName(["npx", "server"], opened));
  expect(await trust.mayStart(["npx", "server"], opened)).toBeUndefined();
  expect(await trust.mayStart(["npx", "other"], opened)).toContain("is not trusted");
  expect(await trust.mayStart(["npx", "server"], { source: "mcp:y" })).toContain("is not trusted");
});

describe("what a model could write in an earlier session", () => {
  /** Makes calls as a model does, in a workspace of their own; every question is answered with yes. */
  async function session(stateDir: string, calls: readonly (readonly [name: string, input: object])[]) {
    const workDir = await workspace();
    const toolkit = await toolkitWith({
      ...{ preset: "workspace", workDir, stateDir, sandbox: noSandbox === undefined ? "on" : "off" },
      ...{ approver: async () => ({ answer: "once" }), policy: { workspaceOnly: false, forbiddenPaths: [] } },
    });
    for (const [name, input] of calls) expect(asText(await toolkit.call({ name, input }))).not.toMatch(/error|denied/i);
    await toolkit.close();
    return workDir;
  }
  const placed = async (stateDir: string, argv: readonly string[], setEnv = {}, path?: string) => {
    const [workDir, written] = [await workspace(), writtenPlaces(stateDir).list];
    const trust = createProgramTrust({ trust: createTrust(stateDir), workDir, written, path });
    return { ...(await placing(trust, workDir)("mcp:x", argv, { setEnv })), refused: await trust.mayStart(argv) };
  };

  test.skipIf(noSandbox !== undefined)(
    "runs in the sandbox: a program in a folder that was granted, once",
    async () => {
      const [stateDir, folder] = [temporaryFolder(), worldFolder()];
      const bin = join(folder, "bin");
      await script(join(bin, "tool"), "true");
      await writeFile(join(folder, "server.mjs"), "");
      const cases: readonly (readonly [argv: readonly string[], env?: object])[] = [
        [[join(bin, "tool")]],
        [["tool"]], // found on the PATH
        [["node", join(bin, "tool")]],
        [["node", `-r${join(bin, "tool")}`]],
        [["node", "x.mjs"], { NODE_OPTIONS: `--import=${join(bin, "tool")}` }],
        [["python3", "-m", "x"], { PYTHONPATH: `/usr/x:${bin}` }],
        [["node", join(folder, "server.mjs")]], // finds modules beside itself
      ];
      for (const [argv, env] of cases) expect(await placed(stateDir, argv, env, bin)).toMatchObject({ sandbox: false });
      await session(stateDir, [["bash", { command: `touch ${bin}/new`, write: [bin] }]]);
      for (const [argv, env] of cases)
        expect(await placed(stateDir, argv, env, bin), argv.join(" ")).toMatchObject({ sandbox: true });
      // As the user set it, outside the sandbox: with the bytes that a person has seen.
      expect((await placed(stateDir, ["tool"], {}, bin)).refused).toContain("lies where a model can write");
      expect(await placed(stateDir, ["node", "/usr/lib/server.mjs"], {}, "/usr/bin")).toMatchObject({ sandbox: false });
      expect(await writtenPlaces(stateDir).forget(bin)).toBe(true);
      expect(await placed(stateDir, ["tool"], {}, bin)).toMatchObject({ sandbox: false });
    },
  );

  test("runs in the sandbox: a file that a tool wrote, and any in another workspace", async () => {
    const [stateDir, folder] = [temporaryFolder(), worldFolder()];
    const path = join(folder, "server.py");
    const other = await session(stateDir, [["write", { path, content: "x = 1\n" }]]);
    expect(await placed(stateDir, ["python3", path])).toMatchObject({ sandbox: true });
    expect(await placed(stateDir, ["python3", join(other, "p.py")])).toMatchObject({ sandbox: false });
    const wrote = await session(stateDir, [["write", { path: "p.py", content: "x = 1\n" }]]);
    expect(await placed(stateDir, ["python3", join(wrote, "p.py")])).toMatchObject({ sandbox: true });
  });

  test.skipIf(noSandbox !== undefined)("has the state folder in it: no program of the user starts there", async () => {
    const folder = worldFolder();
    const stateDir = join(folder, "state/handrail");
    await session(stateDir, [["bash", { command: "true", write: [folder] }]]);
    const mark = join(temporaryFolder(), "ran");
    const path = await script(join(temporaryFolder(), "plugin.sh"), `touch ${mark}`);
    const notices = await start(await workspace(), plugin({ path, mostFailures: 1 }), stateDir);
    expect(notices).toContain("where a model can write");
    expect(existsSync(mark)).toBe(false);
  });
});

test("a module in the workspace is loaded from a copy, so that it imports nothing that was planted", async () => {
  const mark = join(temporaryFolder(), "ran");
  const plant = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(mark)}, ""); export default 1;`;
  const tool = "export default { name: 'a', description: 'A', input: { type: 'object' }, run: async () => 'a' };";
  const workDir = await workspace({
    "own.mjs": tool,
    "with.mjs": `import './planted.mjs'; ${tool}`,
    "planted.mjs": plant,
  });
  const [store, folder] = [createTrust(temporaryFolder()), join(temporaryFolder(), "modules")];
  const trust = createProgramTrust({ trust: store, workDir });
  for (const name of ["own.mjs", "with.mjs"]) {
    const path = join(workDir, name);
    for (const file of await trust.files([path])) await store.record(file);
    const notices = await start(workDir, moduleSource(path, { copy: () => trust.copyOf(path, folder) }));
    if (name === "own.mjs") expect(notices).toBe("");
    else expect(notices).toContain("planted.mjs");
  }
  expect(existsSync(mark)).toBe(false);
});
