import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { served } from "./served.ts";

interface Listed {
  readonly files: readonly {
    readonly path: string;
    readonly original: string;
    readonly files: readonly { readonly path: string; readonly text: string }[];
    readonly digest: string;
  }[];
}

test("a person sees what was put aside with its content, and puts it back or removes it", async () => {
  const { ask, json, toolkit } = await served({ preset: "coding", sandbox: "off" });
  const { workDir } = toolkit.backend;
  const at = (name: string) => join(workDir, name);
  mkdirSync(at(".claude"));
  writeFileSync(at(".claude/settings.json.held-back"), "{}\n");
  writeFileSync(at(".mcp.json.held-back"), '{"mcpServers":{}}\n');
  const { files } = await json<Listed>("GET", "/api/held-back");
  expect(files.map(({ path, original, files: inside }) => [path, original, inside[0]?.text])).toEqual([
    [".claude/settings.json.held-back", ".claude/settings.json", "{}\n"],
    [".mcp.json.held-back", ".mcp.json", '{"mcpServers":{}}\n'],
  ]);
  const [settings, servers] = files;
  writeFileSync(at(".mcp.json.held-back"), "changed\n");
  const changed = await ask("POST", "/api/held-back/put-back", { path: servers?.path, digest: servers?.digest });
  expect([changed.status, existsSync(at(".mcp.json"))]).toEqual([409, false]);
  await json("POST", "/api/held-back/put-back", { path: settings?.path, digest: settings?.digest });
  expect(readFileSync(at(".claude/settings.json"), "utf8")).toBe("{}\n");
  await json("POST", "/api/held-back/remove", { path: ".mcp.json.held-back" });
  expect((await json<Listed>("GET", "/api/held-back")).files).toEqual([]);
  expect((await ask("POST", "/api/held-back/remove", { path: "../ws" })).status).toBe(404);
});
