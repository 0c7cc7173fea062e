import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noSandbox } from "../machine/sandbox/world.ts";
import { commandLine } from "./program.ts";
import { SUM, repairingModel } from "./repairing.ts";

test("without a terminal each line is a message: text on stdout, calls on stderr, in one thread", async () => {
  const { here } = await commandLine();
  const input = "Look around\n\n/tools\n/approve all\n/nothing\nAgain\n";
  const { code, stdout, stderr } = await here(["chat", "--model", "demo", "--yes"], {}, { input });
  expect(code).toBe(0);
  expect(stdout).toMatch(/README\.md begins: # Read me[^]*\nread {12}Read file\n[^]*README\.md begins: # Read me/);
  expect(stdout).toContain("/approve needs a terminal. --yes approves every question.");
  expect(stdout).toContain("there is no command /nothing. Commands: /help");
  expect(stderr).toMatch(/^> bash \{"command":"ls"\}$/m);
  expect(stdout + stderr).not.toMatch(/\x1b/);
  expect((await here(["chat", "--resume"])).stdout).toMatch(/^\w+ {2}[\d-]{10} \d\d:\d\d {2}Look around\n$/);
});

test("denies what needs approval without a terminal", async () => {
  const { folder, run } = await commandLine(SUM);
  const { stderr } = await run(["chat", ...(await repairingModel()), "--sandbox", "off"], "Repair it\n");
  expect(stderr).toContain("approve in advance with --yes");
  expect(await readFile(join(folder, "sum.mjs"), "utf8")).toBe(SUM["sum.mjs"]);
});

test("handrail alone starts a chat at a terminal, and prints its help otherwise", async () => {
  const { configHome, here, terminal } = await commandLine();
  await mkdir(join(configHome, "handrail"), { recursive: true });
  await writeFile(join(configHome, "handrail", "config.yaml"), "model: demo\n");
  const { shows, type, ended } = terminal("handrail");
  await shows("on this machine · demo");
  type("/exit\r");
  expect(await ended).toBe(0);
  expect((await here([])).stderr).toContain("Usage: handrail");
});

test.skipIf(noSandbox !== undefined).each([
  ["drawn", ""],
  ["plain", "--plain"],
])("a file that other programs obey is put aside, the chat says so, and asks once about it: %s", async (_, flag) => {
  const { folder, terminal } = await commandLine({
    "make.sh": "mkdir .vscode && echo looked-at >.vscode/tasks.json\n",
  });
  const file = join(folder, ".vscode/tasks.json");
  const { shows, type, ended } = terminal(`handrail chat --model demo --sandbox on ${flag}`);
  await shows("on this machine");
  type("!sh make.sh\r");
  await shows("Put aside, since other programs would run what is in it: .vscode/tasks.json");
  expect(existsSync(file)).toBe(false);
  type("/held-back\r");
  await shows("looked-at");
  await shows("Put it back?");
  type(flag === "" ? "y" : "y\r");
  await shows("Put back .vscode/tasks.json");
  expect(readFileSync(file, "utf8")).toBe("looked-at\n");
  type("/exit\r");
  expect(await ended).toBe(0);
});

test("--show-prompt prints the instructions", async () => {
  const { here } = await commandLine();
  expect((await here(["chat", "--show-prompt"])).stdout).toMatch(/^You are an agent[^]*- Tools: read, bash/);
});

test("tools.disable also omits the tools that an agent adds", async () => {
  const { configHome, here } = await commandLine();
  const tools = async (disabled: string) => {
    const config = `agents: { reviewer: { toolset: readonly } }\ntools: { disable: [${disabled}] }\n`;
    await mkdir(join(configHome, "handrail"), { recursive: true });
    await writeFile(join(configHome, "handrail", "config.yaml"), config);
    const { stdout } = await here(["chat", "--model", "demo"], {}, { input: "/tools\n" });
    return stdout.match(/^(edit|delegate|wake_on_job)/gm);
  };
  expect(await tools("")).toEqual(["edit", "delegate", "wake_on_job"]);
  expect(await tools("delegate, wake_on_job")).toEqual(["edit"]);
});
