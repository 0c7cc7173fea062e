import { spawn, spawnSync } from "node:child_process";
import { chownSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { afterFile } from "../support/after-file.ts";
import { mustHaveChromium } from "../support/browser.ts";
import { browserProcess } from "../support/browser-process.ts";
import { browserSite, refOf } from "../support/browser-site.ts";
import { installed, mustBeHere, programProblem, secondUserProblem } from "../support/here.ts";
import { plainText } from "../support/plain-text.ts";
import { temporaryFolder, toolkitWith } from "../support/workspace.ts";

const problem = mustHaveChromium();
const bwrapProblem = programProblem("bwrap");
mustBeHere("bubblewrap", bwrapProblem);
const userProblem = secondUserProblem();
mustBeHere("a browser of another user", userProblem);

/** Options of a toolkit that may open the site. */
function options(at: string, more: object = {}) {
  const network = { allowHosts: [at], allowPrivate: [at] };
  return { stateDir: temporaryFolder(), workDir: temporaryFolder(), sandbox: "off", policy: { network }, ...more };
}

/** The processes below one, by id. */
function below(pid: number): readonly number[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" });
  const own = stdout.split("\n").filter(Boolean).map(Number);
  return [...own, ...own.flatMap(below)];
}

const isThere = (pid: number) => spawnSync("ps", ["-p", String(pid)]).status === 0;

describe.skipIf(problem !== undefined)("the browser of a process", () => {
  test("keeps the logins of a profile, which one process uses at a time, until it is killed", async () => {
    const at = await browserSite();
    const toolkit = options(at, { browser: { profile: "work" } });
    const login = `http://${at}/remember`;
    const first = browserProcess({ toolkit });
    expect(await first.act("open", { url: login })).toContain("Hello, stranger");
    await first.act("close");
    const second = browserProcess({ toolkit });
    expect(await second.act("open", { url: login })).toContain(
      "another process of Handrail uses the browser profile work",
    );
    const browser = below(first.pid);
    await first.end("KILL");
    await expect.poll(() => browser.filter(isThere)).toEqual([]);
    expect(await second.act("open", { url: login })).toContain("Hello, friend");
    await second.end();
  });

  test.skipIf(bwrapProblem !== undefined).each([
    ["Chromium", ["--ro-bind", "/dev/null", "CHROMIUM"], "npx playwright-core install chromium"],
    ["playwright-core", ["--tmpfs", "PLAYWRIGHT"], "npm install playwright-core"],
  ] as const)("names the command that installs %s, if it is missing", async (_, hidden, command) => {
    const places = {
      CHROMIUM: installed("chromium") ?? "",
      PLAYWRIGHT: join(projectRoot, "node_modules/playwright-core"),
    };
    const words = hidden.map((word) => (word in places ? places[word as keyof typeof places] : word));
    const env = { ...process.env, PLAYWRIGHT_BROWSERS_PATH: temporaryFolder() };
    const own = browserProcess({
      toolkit: options("example.org"),
      prefix: ["bwrap", "--dev-bind", "/", "/", ...words, "--"],
      env,
    });
    expect(await own.act("open", { url: "https://example.org/" })).toContain(command);
    await own.end();
  });

  test.skipIf(bwrapProblem !== undefined || userProblem !== undefined).each([
    ["root", undefined],
    ["an ordinary user", 65_534],
  ])("runs in Chromium's own sandbox, in a network that has only a loopback, for %s", async (_, user) => {
    const at = await browserSite();
    const toolkit = options(at);
    for (const folder of [toolkit.stateDir, toolkit.workDir]) chownSync(folder, user ?? 0, user ?? 0);
    const env = { ...process.env, HOME: toolkit.workDir };
    const own = browserProcess({ toolkit, env, ...(user !== undefined && { user }) });
    expect(await own.act("open", { url: `http://${at}/login` })).toContain("Log in");
    const all = below(own.pid).map((pid) => ({ pid, words: textOf(pid, "cmdline").split("\0") }));
    const chromium = all.filter(({ words }) => words.some((word) => word.startsWith("--user-data-dir=")));
    expect(chromium.length).toBeGreaterThan(0);
    expect(chromium.filter(({ words }) => words.includes("--no-sandbox"))).toEqual([]);
    const networks = chromium.map(({ pid }) =>
      textOf(pid, "net/dev")
        .match(/^ *\w+(?=:)/gm)
        ?.map((name) => name.trim()),
    );
    expect(new Set(networks.flat())).toEqual(new Set(["lo"]));
    await own.end();
    await expect.poll(() => chromium.filter(({ pid }) => isThere(pid))).toEqual([]);
  });
});

/** A file of a process in /proc. */
function textOf(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, "utf8");
}

const xvfbProblem = programProblem("Xvfb");
mustBeHere("a browser with a window", xvfbProblem);

describe.skipIf(problem !== undefined || xvfbProblem !== undefined)("a browser with a window", () => {
  test("is a person's from taking it over to handing it back, and what they typed is not shown", async () => {
    const at = await browserSite();
    process.env["DISPLAY"] = await virtualDisplay();
    const network = { allowHosts: [at], allowPrivate: [at] };
    const toolkit = await toolkitWith({
      preset: "assistant",
      browser: { headed: true },
      policy: { network },
      approver: async () => ({ answer: "once" }),
    });
    const act = async (action: string, more: object = {}) =>
      plainText(await toolkit.call({ name: "browser", input: { action, ...more } }));
    const field = refOf(await act("open", { url: `http://${at}/login` }), '"User"');
    const { stdout } = spawnSync("ps", ["-o", "args=", "-p", below(process.pid).join(",")], { encoding: "utf8" });
    expect(stdout).toContain("--remote-debugging-pipe");
    expect(stdout).not.toContain("--headless");
    await act("click", { ref: field });
    toolkit.pages.takeOver("main");
    const question = await expectQuestion(toolkit.store);
    const next = act("snapshot");
    await toolkit.pages.use("main", [{ type: "text", text: "ada-4711" }]);
    expect(await toolkit.store.answer(question, { answer: "once" }, "test")).toEqual({ status: "answered" });
    const seen = await next;
    expect(seen).toContain("[A person had taken over the page, and has handed it back]");
    expect(seen).toMatch(/textbox "User" .*: ••••/);
    await toolkit.close();
  });
});

/** Waits for the question of a store, and returns its id. */
async function expectQuestion(store: Toolkit["store"]): Promise<string> {
  await expect.poll(async () => (await store.questions()).length).toBe(1);
  return (await store.questions())[0]?.question ?? "";
}

/** Starts an X server without a screen. Resolves to its name. */
async function virtualDisplay(): Promise<string> {
  const server = spawn(installed("Xvfb") ?? "Xvfb", ["-displayfd", "3", "-screen", "0", "1280x900x24"], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  afterFile(() => void server.kill());
  const [, , , output] = server.stdio;
  for await (const line of createInterface(output as NodeJS.ReadableStream)) return `:${line}`;
  throw new Error("Xvfb did not start");
}
