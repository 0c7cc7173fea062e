// Writes the entry of `handrail mcp` to real files of other programs, and starts what was written.
import { mkdir, readFile, readdir, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../support/workspace.ts";
import { PROGRAM, commandLine } from "./program.ts";

/** The program in a home folder with these files. */
async function place(files: { readonly [path: string]: string } = {}) {
  const home = temporaryFolder();
  const line = await commandLine();
  for (const [path, text] of Object.entries(files)) {
    const file = join(home, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { mode: 0o640 });
  }
  return {
    ...line,
    home,
    file: (path: string) => join(home, path),
    text: (path: string) => readFile(join(home, path), "utf8"),
    /** Runs `handrail mcp install` with these words. */
    install: (words: string) =>
      line.here(["mcp", "install", ...words.split(" ")], {
        HOME: home,
        CLAUDE_CONFIG_DIR: undefined,
        XDG_CONFIG_HOME: join(home, ".config"),
      }),
  };
}

const START = { command: process.execPath, args: [PROGRAM, "mcp"] };
const AT_FOLDER = { ...START, args: [...START.args, "--work-dir", "${workspaceFolder}"] };
const LOCAL = { type: "local", command: [process.execPath, PROGRAM, "mcp"] };

/** Each client: its file, what it has before, what stays in the text, and the whole of it afterwards. */
const CLIENTS = [
  {
    client: "claude-code",
    path: ".claude.json",
    before: '{"numStartups":3,"mcpServers":{"other":{"command":"x"}}}',
    stays: '{"numStartups":3,"mcpServers":{"handrail": {"type":"stdio",',
    after: { numStartups: 3, mcpServers: { other: { command: "x" }, handrail: { type: "stdio", ...START } } },
  },
  {
    client: "cursor",
    path: ".cursor/mcp.json",
    before: '{\r\n    "mcpServers": {}\r\n}\r\n',
    stays: '{\r\n    "mcpServers": {\r\n        "handrail": {\r\n',
    after: { mcpServers: { handrail: AT_FOLDER } },
  },
  {
    client: "vscode",
    path: ".config/Code/User/mcp.json",
    before:
      '{\n  // mine\n  "inputs": [],\n  "servers": {\n    "a": { "url": "https://a.example/" }, // kept\n  },\n}\n',
    stays: '\n    },\n    "a": { "url": "https://a.example/" }, // kept\n  },\n}\n',
    after: { inputs: [], servers: { a: { url: "https://a.example/" }, handrail: { type: "stdio", ...AT_FOLDER } } },
  },
  {
    client: "zed",
    path: ".config/zed/settings.json",
    before: '// Zed\n{ // all\n\t// the theme\n\t"theme": "One Dark", /* dark */\n}\n',
    stays: '\n\t}, // all\n\t// the theme\n\t"theme": "One Dark", /* dark */\n}\n',
    after: { theme: "One Dark", context_servers: { handrail: { ...START, env: {} } } },
  },
  {
    client: "goose",
    path: ".config/goose/config.yaml",
    before: 'GOOSE_MODE: "auto" # asks nobody\n\nextensions:\n  # files\n  files:\n    args: ["-y", "files"]\n',
    stays:
      'GOOSE_MODE: "auto" # asks nobody\n\nextensions:\n  # files\n  files:\n    args: ["-y", "files"]\n  handrail:\n',
    after: {
      GOOSE_MODE: "auto",
      extensions: {
        files: { args: ["-y", "files"] },
        handrail: {
          ...{ name: "handrail", type: "stdio", enabled: true, cmd: START.command, args: START.args },
          ...{ envs: {}, timeout: 900 },
        },
      },
    },
  },
  {
    client: "opencode",
    path: ".config/opencode/opencode.jsonc",
    before: '{\n  "model": "a/b", // the model\n  "mcp": {\n    // none yet\n  }\n}\n',
    stays: "\n    }\n    // none yet\n  }\n}\n",
    after: { model: "a/b", mcp: { servers: { handrail: LOCAL } } },
  },
  {
    client: "opencode-1",
    path: ".config/opencode/opencode.json",
    before: '{ "mcp": { "a": { "type": "remote", "url": "https://a.example/" } } }\n',
    stays: '"enabled":true}, "a": { "type": "remote", "url": "https://a.example/" } } }\n',
    after: { mcp: { a: { type: "remote", url: "https://a.example/" }, handrail: { ...LOCAL, enabled: true } } },
  },
];

/** Reads the file as data: without its comments, JSON with trailing commas is YAML. */
function dataIn(text: string): unknown {
  const isJson = /^\s*(?:\/\/.*\s*)?\{/.test(text);
  return parse(isJson ? text.replaceAll(/(?<![:"])\/\/.*|\/\*.*?\*\//g, "").replaceAll("\t", " ") : text);
}

describe.each(CLIENTS)("$client", ({ client, path, before, stays, after }) => {
  test("gets the entry beside what it has; a copy of the old file is kept; a second time changes nothing", async () => {
    const { install, text, file } = await place({ [path]: before });
    const first = await install(`${client} --yes`);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    const written = await text(path);
    expect(dataIn(written)).toEqual(after);
    expect(written).toContain(stays);
    expect((await stat(file(path))).mode & 0o777).toBe(0o640);
    const [, copy = ""] = /The file as it was: (.*)$/m.exec(first.stdout) ?? [];
    expect(await readFile(copy, "utf8")).toBe(before);

    expect((await install(`${client} --yes`)).stdout).toBe(
      `${file(path)} has this entry already; nothing has changed.\n`,
    );
    expect(await text(path)).toBe(written);
    expect(await readdir(dirname(file(path)))).toHaveLength(2);
  });

  test("gets a file of its own when it has none, with the words that start a server", async () => {
    const { install, home, folder } = await place();
    const { stdout } = await install(`${client} --yes --work-dir .`);
    const [, written = ""] = /the new file (\S+) gets/.exec(stdout) ?? [];
    expect(written.startsWith(home)).toBe(true);
    expect((await stat(written)).mode & 0o777).toBe(0o600);
    const [program = "", ...args] = startIn(dataIn(await readFile(written, "utf8"))) ?? [];
    expect([program, ...args]).toEqual([process.execPath, PROGRAM, "mcp", "--work-dir", folder]);
    if (client !== "claude-code") return; // the same words start the same server
    const server = new Client({ name: "test", version: "1.0.0" });
    const env = { PATH: process.env["PATH"] ?? "", HOME: home, XDG_STATE_HOME: temporaryFolder() };
    await server.connect(new StdioClientTransport({ command: program, args, env }));
    expect(server.getInstructions()).toContain(folder);
    await server.close();
  });
});

/** Returns the program and its arguments, in any client's format. */
function startIn(value: unknown): readonly string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { command, cmd = command, args = [] } = value as { command?: unknown; cmd?: unknown; args?: string[] };
  if (Array.isArray(cmd)) return cmd as string[];
  if (typeof cmd === "string") return [cmd, ...args];
  return Object.values(value)
    .map(startIn)
    .find((found) => found !== undefined);
}

test("--project writes the project's file, which Handrail itself does not take for a server of others", async () => {
  const { install, folder, here } = await place();
  await install("claude-code --project --yes -- --preset readonly");
  expect(JSON.parse(await readFile(join(folder, ".mcp.json"), "utf8"))).toEqual({
    mcpServers: { handrail: { type: "stdio", ...START, args: [...START.args, "--preset", "readonly"] } },
  });
  expect((await here(["mcp", "list"])).stdout).toBe("No MCP servers are configured.\n");
  expect(await install("goose --project --yes")).toMatchObject({
    code: 2,
    stderr: "handrail: Goose has no file for a project; omit --project\n",
  });
});

test("a program on the PATH is started by its name", async () => {
  const { here, home } = await place();
  await symlink(PROGRAM, join(home, "handrail"));
  const PATH = `${home}:${process.env["PATH"]}`;
  const { stdout } = await here(["mcp", "install", "cursor", "--print"], { PATH });
  expect(stdout).toContain('"command": "handrail"');
});

test("--print prints the entry and writes nothing", async () => {
  const { install, home } = await place();
  const { stdout, stderr } = await install("zed --print");
  expect(JSON.parse(stdout)).toEqual({ context_servers: { handrail: { ...START, env: {} } } });
  expect(stderr).toBe(`handrail: for ${home}/.config/zed/settings.json\n`);
  expect(await readdir(home)).toEqual([]);
});

test.each([
  ["broken JSON", ".cursor/mcp.json", "cursor", '{\n  "mcpServers": {\n', /mcp\.json: line 3 is not JSON/],
  ["a list for a map", ".cursor/mcp.json", "cursor", '{ "mcpServers": [] }', /mcp\.json: mcpServers is not a map/],
  ["broken YAML", ".config/goose/config.yaml", "goose", "a: [\n", /config\.yaml: it is not YAML/],
  ["a text for a map", ".config/goose/config.yaml", "goose", "extensions: none\n", /extensions is not a map/],
])("a file with %s is refused and stays as it is", async (_, path, client, before, message) => {
  const { install, text } = await place({ [path]: before });
  expect(await install(`${client} --yes`)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  expect(await text(path)).toBe(before);
});

test("an empty map of YAML, and a link to a file, stay what they are", async () => {
  const { install, file, text } = await place({ "dotfiles/goose.yaml": "extensions:\n" });
  await mkdir(file(".config/goose"), { recursive: true });
  await symlink("../../dotfiles/goose.yaml", file(".config/goose/config.yaml"));
  expect((await install("goose --yes")).stdout).toContain(
    `The file as it was: ${file("dotfiles/goose.yaml.handrail-")}`,
  );
  expect(await readlink(file(".config/goose/config.yaml"))).toBe("../../dotfiles/goose.yaml");
  expect(await text("dotfiles/goose.yaml")).toMatch(/^extensions:\n {2}handrail:\n/);
});

test("a person sees the entry and what it replaces, and is asked", async () => {
  const old = '{ "mcpServers": { "handrail": { "command": "old" } } }\n';
  const { home, install, terminal, text } = await place({ ".cursor/mcp.json": old });
  expect(await install("cursor")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nobody can be asked here"),
  });
  const answered = async (answer: string) => {
    const { shows, type, screen, ended } = terminal(`HOME='${home}' handrail mcp install cursor`);
    await shows("Write it? [y/N] ");
    type(`${answer}\r`);
    expect(await ended).toBe(0);
    return screen();
  };
  expect(await answered("n")).toMatch(/--work-dir[^]*in place of\n[^]*"command": "old"[^]*Nothing has changed\.\n$/);
  expect(await text(".cursor/mcp.json")).toBe(old);
  expect(await answered("y")).toContain("Written.");
  expect(dataIn(await text(".cursor/mcp.json"))).toEqual({ mcpServers: { handrail: AT_FOLDER } });
});
