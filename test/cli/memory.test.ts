import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SHARED_BY } from "../../src/tools/shared/memory-scope.ts";
import { commandLine } from "./program.ts";

const line = (key: string, content: string, stored: string) =>
  `${JSON.stringify({ key, content, category: "core", stored })}\n`;
const TEA = line("drink", "Prefers tea.\nNo sugar.", "2026-01-02T00:00:00.000Z");
const TOWN = line("town", "Lives in Kraków.", "2026-01-01T00:00:00.000Z");

describe("handrail memory", () => {
  test("lists, searches, shows and forgets what a tool has stored", async () => {
    const { here } = await commandLine();
    expect(await here(["memory"])).toMatchObject({ code: 0, stdout: "(no memories)\n" });
    const input = '{"key":"drink","content":"Prefers tea.\\nNo sugar.","category":"daily"}';
    await here(["call", "memory_store", input, "--preset", "assistant"]);
    const listed = expect.stringMatching(/^drink {2}daily {2}\d{4}-\d\d-\d\d {2}Prefers tea\.\\nNo sugar\.\n$/);
    expect(await here(["memory", "list"])).toMatchObject({ code: 0, stdout: listed });
    expect(await here(["memory", "search", "te sugar"])).toMatchObject({ code: 0, stdout: listed });
    expect(await here(["memory", "search", "coffee"])).toMatchObject({ code: 0, stdout: "(no matching memories)\n" });
    expect(await here(["memory", "show", "drink"])).toMatchObject({ code: 0, stdout: "Prefers tea.\nNo sugar.\n" });
    expect(await here(["memory", "forget", "drink"])).toMatchObject({ code: 0, stdout: "Forgot memory: drink\n" });
    for (const action of ["show", "forget"]) {
      expect(await here(["memory", action, "drink"])).toMatchObject({
        code: 2,
        stderr: "handrail: No memory found with key: drink. `handrail memory list` lists the keys.\n",
      });
    }
  });

  test("exports what it imports, from a file and from stdin", async () => {
    const { here, folder } = await commandLine();
    await writeFile(join(folder, "notes.jsonl"), `${TEA}\n${TOWN}`);
    expect(await here(["memory", "import", "notes.jsonl"])).toMatchObject({ code: 0, stdout: "Imported 2 memories\n" });
    expect(await here(["memory", "import", "-"], {}, { input: TOWN })).toMatchObject({
      code: 0,
      stdout: "Imported 1 memory\n",
    });
    expect(await here(["memory", "export"])).toMatchObject({ code: 0, stdout: TOWN + TEA });
  });

  test("imports nothing from a file with an error, and names the line", async () => {
    const { here, folder } = await commandLine();
    await writeFile(join(folder, "notes.jsonl"), `${TEA}{"key":"town"}\n`);
    const { code, stderr } = await here(["memory", "import", "notes.jsonl"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^handrail: notes\.jsonl:2: expected \{"key": .* Nothing was imported\.\n$/);
    expect(await here(["memory"])).toMatchObject({ stdout: "(no memories)\n" });
  });

  test("manages this folder's memories if the configuration sets that scope", async () => {
    const { here, configHome } = await commandLine();
    await here(["call", "memory_store", '{"key":"a","content":"for all"}', "--preset", "assistant"]);
    const config = join(configHome, "workspace.yaml");
    await writeFile(config, "memory: { scope: workspace }\n");
    expect(await here(["memory", "--config", config])).toMatchObject({ code: 0, stdout: "(no memories)\n" });
    expect((await here(["memory"])).stdout).toContain("for all");
    const { stdout } = await here(["tools", "--preset", "assistant", "--format", "json", "--config", config]);
    expect(stdout).toContain(SHARED_BY.workspace);
  });
});
