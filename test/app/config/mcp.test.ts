import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readMcpFile } from "../../../src/app/config/mcp-file.ts";
import { place } from "./config.ts";

const PROJECT = [
  "tools:",
  "  mcp:",
  "    near: { command: npx, args: [-y, some server], env: [KEY] }",
  "    loose: { command: ./loose, sandbox: false }",
  "    far: { url: 'https://x.example/mcp', headers: { authorization: x } }",
].join("\n");

test("a trusted project's servers start, in the sandbox by default, and do not replace yours", async () => {
  const { read, folder, trust } = await place();
  const user = "tools: { mcp: { far: { url: 'https://mine.example/mcp' } } }";
  const { project, settings } = await read({ user, project: PROJECT });
  const { near, loose, far } = settings.tools.mcp;
  expect([near?.isHeld, loose?.isHeld, far?.url]).toEqual([true, true, "https://mine.example/mcp"]);
  expect(project?.asks).toMatchObject([
    {
      key: "tools.mcp",
      gives:
        "MCP servers: near starts npx -y 'some server', in the sandbox, with KEY; " +
        `loose starts ${folder}/loose, NOT in the sandbox; ` +
        "far tools of https://x.example/mcp, with the headers authorization",
    },
  ]);
  await trust.record(project?.file ?? { path: "", sha256: "" });
  expect((await read({ user, project: PROJECT })).settings.tools.mcp).toEqual({
    near: { command: "npx", args: ["-y", "some server"], env: ["KEY"], isOfProject: true, sandbox: true },
    loose: { command: join(folder, "loose"), isOfProject: true, sandbox: false },
    far: { url: "https://mine.example/mcp" },
  });
});

test.for([
  [
    "both",
    "x: { command: a, url: 'https://b' }",
    /x: expected a map with command or url\. It has both; give it one of them/,
  ],
  ["neither", "x: { args: [a] }", /It has neither; give it one of them/],
  ["a key of the other kind", "x: { command: a, headers: { a: b } }", /headers does not go with command/],
  ["a name that could be another server's tool", "x__y: { command: a }", /expected a name of at most 32/],
  ["another scheme", "x: { url: 'file:///etc/passwd' }", /begins with https/],
] as const)("a server with %s is an error", async ([, server, line]) => {
  expect((await (await place()).problems({ user: `tools: { mcp: { ${server} } }` })).join()).toMatch(line);
});

test("of .mcp.json the known parts are read, once it is trusted, and variables only then", async () => {
  const { folder, trust } = await place();
  const path = join(folder, ".mcp.json");
  const servers = {
    near: { type: "stdio", command: "./near", args: ["${HOME}"], env: { KEY: "${KEY}" }, disabled: false },
    far: { type: "http", url: "${BASE:-https://x.example}/mcp", headers: { authorization: "Bearer ${KEY}" } },
    bad__name: { command: "x" },
    old: { type: "sse", url: "https://x.example/sse" },
  };
  await writeFile(path, JSON.stringify({ mcpServers: servers, other: 1 }, undefined, "\t"));
  const before = await readMcpFile(path, trust, { KEY: "secret", HOME: "/home/me" });
  expect(before).toMatchObject({ standing: "never trusted", servers: {} });
  expect(before.asks.map(({ key, gives }) => `${key} ${gives}`)).toEqual([
    `near starts ${folder}/near '\${HOME}', in the sandbox, with KEY`,
    "far tools of ${BASE:-https://x.example}/mcp, with the headers authorization",
  ]);
  expect(before.problems.join()).toMatch(
    /bad__name: expected a name.*old: the older HTTP\+SSE transport is not supported/,
  );
  await trust.record(before.file);
  expect((await readMcpFile(path, trust, { KEY: "secret", HOME: "/home/me" })).servers).toEqual({
    near: {
      command: join(folder, "near"),
      args: ["/home/me"],
      setEnv: { KEY: "secret" },
      isOfProject: true,
      sandbox: true,
    },
    far: { url: "https://x.example/mcp", headers: { authorization: "Bearer secret" }, isOfProject: true },
  });
  await writeFile(path, JSON.stringify({ mcpServers: { near: { command: "rm" } } }));
  expect(await readMcpFile(path, trust, {})).toMatchObject({ standing: "changed", servers: {} });
});
