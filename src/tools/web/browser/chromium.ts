import { accessSync, readdirSync, constants } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserType } from "playwright-core";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { ProgramMissing, findProgram, foundProgram, programPath } from "../../../machine/programs/programs.ts";
import { messageOf } from "../../../core/util/errors.ts";
import { quoteWords } from "../../../core/util/quote.ts";
import type { BrowserNetwork } from "./network.ts";
import type { BrowserSettings } from "./protocol.ts";
import containedScript from "./contained.sh";

const INSTALLED = [
  ...["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome-stable", "/usr/bin/google-chrome"],
  ...["/opt/google/chrome/chrome", "/snap/bin/chromium"],
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** Variables that a browser gets: the place of its files and its display. */
const PASSED = [
  ...["HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"],
  ...["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"],
];

/**
 * Starts a Chromium with these arguments, or joins the one that `cdp` names. Started by root it runs in bubblewrap,
 * because its own sandbox refuses root; in a network of its own it is another user there, and has both.
 *
 * @param folder A private folder of this browser.
 * @param network The network in which it runs. Default: this machine's.
 * @throws ToolFailure when there is no Chromium, playwright-core or bubblewrap, with the command that installs it.
 */
export async function startChromium(
  { headed = false, executablePath, cdp }: BrowserSettings,
  args: readonly string[],
  folder: string,
  network?: BrowserNetwork,
): Promise<Browser> {
  const chromium = await loadPlaywright();
  try {
    if (cdp !== undefined) return await chromium.connectOverCDP(cdp);
    const executable = findChromium(chromium, executablePath);
    const isRoot = process.getuid?.() === 0 && process.platform === "linux";
    const inNetwork = network === undefined ? "" : quoteWords(network.prefix);
    const script = isRoot ? contained() : `exec ${inNetwork} "$HANDRAIL_CHROMIUM" "$@"`;
    const program = join(folder, "chromium");
    await writeFile(program, `#!/bin/sh\n${script}`, { mode: 0o700 });
    const downloads = join(folder, "downloads");
    await mkdir(downloads, { recursive: true, mode: 0o700 });
    const passed = PASSED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
    return await chromium.launch({
      executablePath: program,
      chromiumSandbox: !isRoot || network !== undefined,
      headless: !headed,
      args: [...args],
      downloadsPath: downloads,
      env: {
        ...Object.fromEntries(passed),
        PATH: programPath(),
        ...{ HANDRAIL_CHROMIUM: executable, HANDRAIL_DOWNLOADS: downloads },
        ...(network !== undefined && { HANDRAIL_NETWORK: inNetwork }),
      },
      ...{ handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
    });
  } catch (error) {
    if (error instanceof ToolFailure) throw error;
    const what = cdp === undefined ? "The browser did not start" : `No browser answers at ${cdp}`;
    throw new ToolFailure(`${what}: ${messageOf(error).split("\n", 4).join(" ")}`, { cause: error });
  }
}

async function loadPlaywright(): Promise<BrowserType> {
  try {
    return (await import("playwright-core")).chromium;
  } catch (error) {
    throw new ToolFailure("The browser needs the package playwright-core, which is not installed", {
      hint: "A person can install it where Handrail is installed: npm install playwright-core",
      cause: error,
    });
  }
}

function findChromium(chromium: BrowserType, given: string | undefined): string {
  if (given !== undefined) return programAt(given);
  const found = [chromium.executablePath(), ...INSTALLED, ...ofPlaywright()].find((path) => foundProgram(path));
  if (found !== undefined) return found;
  const install = process.platform === "linux" ? "sudo apt-get install chromium, or " : "";
  throw new ToolFailure("No Chromium or Chrome was found on this machine", {
    hint:
      `A person can install it: ${install}npx playwright-core install chromium. ` +
      "Or browser.executable_path names it.",
  });
}

/** @throws ToolFailure if the configured browser is no program, or a tool could write it. */
function programAt(path: string): string {
  try {
    return findProgram(path).path;
  } catch (error) {
    if (!(error instanceof ProgramMissing)) throw error;
    if (error.onlyIn !== undefined)
      throw new ToolFailure(`browser.executable_path: ${error.message}`, { cause: error });
    throw new ToolFailure(`browser.executable_path is ${path}, which is not a program`, { cause: error });
  }
}

/** Chromiums that other versions of Playwright have downloaded, the newest first. */
function ofPlaywright(): readonly string[] {
  const cache = process.env["PLAYWRIGHT_BROWSERS_PATH"] ?? join(homedir(), ".cache", "ms-playwright");
  try {
    const versions = readdirSync(cache).filter((name) => /^chromium-\d+$/.test(name));
    const newest = versions.toSorted((one, other) => Number(other.slice(9)) - Number(one.slice(9)));
    return newest.flatMap((name) => ["chrome-linux64", "chrome-linux"].map((at) => join(cache, name, at, "chrome")));
  } catch {
    return [];
  }
}

/** A shell program that starts Chromium in bubblewrap. Chromium cannot write to this program. */
function contained(): string {
  try {
    accessSync("/usr/bin/bwrap", constants.X_OK);
  } catch (error) {
    throw new ToolFailure("As root, the browser runs only in bubblewrap, which is not installed", {
      hint: "A person can install it (apt-get install bubblewrap), or start Handrail as another user.",
      cause: error,
    });
  }
  return containedScript;
}
