import { basename, resolve } from "node:path";
import type { Ask } from "../../config/asking.ts";
import { PROJECT_FILE, findConfig, findProjectFile } from "../../config/find.ts";
import { inRealFolder } from "../../config/read-file.ts";
import { readSettings } from "../../config/read-settings.ts";
import { readSource } from "../../config/source.ts";
import { stateFolder } from "../../config/state.ts";
import { type Trust, createTrust } from "../../config/trust.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { untilStopped } from "../signals.ts";
import { askOnTerminal, hasTerminal } from "../terminal.ts";

/**
 * Shows what a project's file asks for that only the user can give, and asks them at their terminal; no option answers this. With
 * `list` what is trusted, with `revoke` no longer. Exit code 1 when the file is not trusted in the end.
 */
export async function trust(
  file: string | undefined,
  { list, revoke, workDir = "." }: GlobalOptions & { list?: true; revoke?: true },
): Promise<void> {
  const trusted = createTrust(stateFolder());
  if (list) return await showTrusted(trusted);
  const path = file === undefined ? findProjectFile(workDir) : resolve(file);
  if (path === undefined) return say(`There is no ${PROJECT_FILE} here or above: nothing to trust.`);
  if (basename(path) !== PROJECT_FILE) {
    throw new Error(
      `trust: expected a project's ${PROJECT_FILE}, got ${oneLine(path, 500)}; a file named with --config is your own and needs no trust`,
    );
  }
  if (revoke) return await takeBack(path, trusted);
  await offer(path, trusted);
}

async function offer(path: string, trusted: Trust): Promise<void> {
  // As if it were not trusted, so that everything it asks for is shown.
  const { user } = findConfig();
  const read = await readSettings(
    { ...(user !== undefined && { user }), project: path },
    { trust: { standing: async () => "never trusted" } },
  );
  const { project } = read;
  if (project === undefined || project.asks.length === 0)
    return say(`${shown(path)} asks for nothing that needs trust.`);
  if ((await trusted.standing(project.file)) === "trusted") return say(`${shown(path)} is trusted already.`);
  const asked = `${shown(path)} asks for what only you can give it:\n${project.asks.map(askLine).join("\n")}`;
  if (!hasTerminal()) {
    say(asked);
    process.stderr.write(
      "handrail: only a person can answer this: run handrail trust in a terminal (--yes is no answer)\n",
    );
    process.exitCode = EXIT.notSucceeded;
    return;
  }
  if (!(await isAgreed(`${asked}\nTrust it, as it is now? [y/N] `))) {
    process.exitCode = EXIT.notSucceeded;
    return say(`${shown(path)} is not trusted: this has no effect.`);
  }
  await trusted.record(project.file);
  say(`${shown(path)} is trusted until it changes.`);
}

async function isAgreed(question: string): Promise<boolean> {
  const stopped = untilStopped();
  try {
    return (await askOnTerminal(question, stopped.signal)) === "yes";
  } catch (error) {
    if (stopped.signal.aborted) return false;
    throw error;
  } finally {
    stopped.release();
  }
}

async function showTrusted(trusted: Trust): Promise<void> {
  const files = await trusted.list();
  if (files.length === 0) return say("No file is trusted.");
  for (const { path, sha256 } of files) {
    const read = await readSource(path);
    const now = read.ok && read.source.sha256 === sha256 ? "trusted" : read.ok ? "changed" : "gone";
    say(`${now.padEnd(7)}  ${shown(path)}`);
  }
}

async function takeBack(path: string, trusted: Trust): Promise<void> {
  const was = await trusted.revoke(inRealFolder(path));
  say(was ? `${shown(path)} is not trusted any more.` : `${shown(path)} was not trusted.`);
}

function askLine({ key, place, gives }: Ask): string {
  return `  line ${place.line}: ${oneLine(`${key}: ${gives}`, Infinity)}`;
}

function shown(path: string): string {
  return oneLine(path, 1_000);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
