import { readFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { local } from "../../machine/local/backend.ts";
import { ripgrepPath } from "../../machine/local/ripgrep.ts";
import { sandbox } from "../../machine/sandbox/sandbox.ts";
import { TARGETS } from "../../machine/targets.ts";
import type { TargetKind } from "../../core/contract/target.ts";
import { ProgramMissing, findProgram } from "../../machine/programs/programs.ts";
import { tried } from "../../core/util/errors.ts";
import { quoteWord } from "../../core/util/quote.ts";
import type { GlobalOptions } from "../options.ts";
import { type Check, type Finding, inTemporaryFolder } from "./check.ts";
import { mountPoints } from "./mount-points.ts";
import { outputOf } from "./output-of.ts";
import { firstLineOf, installCommand } from "./program.ts";

// The minimum version. Same as "engines" in package.json.
const LEAST_NODE = [20, 19] as const;
const NEWER_NODE = "nvm install --lts";
const MOUNT_PROC = "mount -t proc proc /proc";
const INSTALL_SHARP = "npm install sharp";

/** Checks Node.js, the programs that Handrail starts, and that commands run, also in the sandbox. */
export const machine = ({ io: { env }, targets = [] }: GlobalOptions): readonly Check[] =>
  [
    { name: "Node.js", required: true, fix: NEWER_NODE, run: async () => nodeVersion() },
    {
      name: "ripgrep",
      required: true,
      fix: "npm install @vscode/ripgrep",
      run: (signal: AbortSignal) => ripgrep(env, signal),
    },
    program(env, { name: "bash", required: true }),
    program(env, { name: "git" }),
    {
      name: "commands",
      required: true,
      fix: `df -h ${quoteWord(tmpdir())} && ls -ld ${quoteWord(tmpdir())}`,
      run: (signal: AbortSignal) => inTemporaryFolder((folder) => command(env, folder, signal)),
    },
    // /proc is used to find and stop children that have left their process group.
    { name: "/proc", required: process.platform === "linux", fix: MOUNT_PROC, run: processes },
    {
      name: "sandbox",
      required: false,
      fix: "bwrap --unshare-all --ro-bind / / true",
      run: (signal: AbortSignal) => inTemporaryFolder((folder) => sandboxed(folder, signal)),
    },
    { name: "mount points", required: false, fix: "bwrap --version", run: mountPoints },
    ...[...TARGETS, ...targets].flatMap((kind) => programOfTarget(env, kind)),
    program(env, { name: "tmux", version: "-V", use: "run commands where you can watch with --tmux" }),
    // sharp scales pictures that are too large for a model.
    { name: "pictures", required: false, fix: INSTALL_SHARP, run: pictures },
  ].map((check) => ({ ...check, group: "machine" }));

function nodeVersion(): Finding {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const isEnough = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  if (isEnough) return { status: "ok", detail: node };
  return { status: "broken", detail: `${node}, expected ${LEAST_NODE.join(".")} or newer`, fix: NEWER_NODE };
}

/** Runs the same binary that grep and find use. */
async function ripgrep(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Finding> {
  const path = tried(ripgrepPath);
  if (path === undefined)
    return { status: "missing", detail: "neither in its package nor on the PATH", fix: installCommand("ripgrep", env) };
  return { status: "ok", detail: `${await firstLineOf([path, "--version"], signal)} (${path})` };
}

interface Program {
  /** The name of the program and of its package. */
  readonly name: string;
  readonly required?: boolean;
  /** The option with which the program prints its version. */
  readonly version?: string;
  /** What it is used for, if that is not obvious. */
  readonly use?: string;
}

function program(
  env: NodeJS.ProcessEnv,
  { name, required = false, version = "--version", use }: Program,
): Omit<Check, "group"> {
  const fix = installCommand(name, env);
  const run = async (signal: AbortSignal): Promise<Finding> => {
    const path = closedPathOf(name, env);
    if (typeof path === "object") return { status: "missing", detail: path.why, fix };
    const found = `${await firstLineOf([path, version], signal)} (${path})`;
    return { status: "ok", detail: use === undefined ? found : `${found}: ${use}` };
  };
  return { name, required, fix, run };
}

function closedPathOf(name: string, { PATH: path }: NodeJS.ProcessEnv): string | { readonly why: string } {
  try {
    return findProgram(name, { path }).path;
  } catch (error) {
    if (!(error instanceof ProgramMissing)) throw error;
    return { why: error.onlyIn === undefined ? "not on the PATH" : error.message };
  }
}

/** Returns a check of the programs that reach a kind of target, if it has a flag. */
function programOfTarget(env: NodeJS.ProcessEnv, { commandLine }: TargetKind): readonly Omit<Check, "group">[] {
  if (commandLine === undefined) return [];
  const install = installCommand(commandLine.package, env);
  const run = async (): Promise<Finding> => {
    const { works, detail, fix = install } = await commandLine.look();
    return works ? { status: "ok", detail: `${detail}: ${commandLine.use}` } : { status: "missing", detail, fix };
  };
  return [{ name: commandLine.program, required: false, fix: install, run }];
}

async function command(env: NodeJS.ProcessEnv, folder: string, signal: AbortSignal): Promise<Finding> {
  const backend = await local({ env, workDir: folder, outputFolder: join(folder, "outputs") });
  try {
    const { exit, written } = await outputOf(backend, ["sh", "-c", "echo out; echo error >/dev/stderr"], signal);
    if (exit.how === "exited" && exit.code === 0 && written === "out\nerror\n")
      return { status: "ok", detail: "a command ran and its output was read" };
    throw new Error(`a command ended as ${JSON.stringify(exit)} and wrote ${JSON.stringify(written)}`);
  } finally {
    await backend.close();
  }
}

async function processes(): Promise<Finding> {
  if (process.platform !== "linux")
    return { status: "ok", detail: "not on this system: child processes are found by their process group" };
  const entries = await readdir("/proc").catch((): string[] => []);
  if (!entries.includes(String(process.pid))) {
    return { status: "missing", detail: "this process is not listed in it", fix: MOUNT_PROC };
  }
  const environment = await readFile(`/proc/${process.pid}/environ`);
  const status = await readFile(`/proc/${process.pid}/stat`, "utf8");
  if (environment.length > 0 && status.startsWith(`${process.pid} (`)) return { status: "ok", detail: "readable" };
  return { status: "broken", detail: "it has no environment or status of this process", fix: MOUNT_PROC };
}

/** Runs a command in the sandbox, and checks that what it may not write stays unchanged. */
async function sandboxed(folder: string, signal: AbortSignal): Promise<Finding> {
  const inner = await local({ workDir: folder, outputFolder: join(folder, "outputs") });
  const backend = await sandbox(inner, { required: true, folder: join(folder, "sandbox") });
  try {
    const standing = await backend.sandbox?.state();
    if (standing?.works !== true) {
      const reason = standing?.reason ?? "it is not installed.";
      const detail = `${reason} Commands run without it, and more of them need approval`;
      return { status: "missing", detail, fix: standing?.fix ?? "" };
    }
    const outside = join(inner.home, `.handrail-doctor-${process.pid}`);
    const script = 'touch "$0" 2>/dev/null && echo written || echo held';
    const { written } = await outputOf(backend, ["sh", "-c", script, outside], signal);
    if (written !== "held\n")
      throw new Error(`a command in it could write ${outside} (it wrote ${JSON.stringify(written)})`);
    const missing = standing.missing.length === 0 ? "" : `. Limits on this machine: ${standing.missing.join(" ")}`;
    return { status: "ok", detail: `commands run without network and write only the workspace${missing}` };
  } finally {
    await backend.close();
  }
}

async function pictures(): Promise<Finding> {
  const loaded = await import("sharp").catch(() => undefined);
  if (loaded === undefined) {
    return { status: "missing", detail: "sharp is not installed: large pictures cannot be shown", fix: INSTALL_SHARP };
  }
  const { default: sharp } = loaded;
  const big = { create: { width: 8, height: 8, channels: 3 as const, background: "white" } };
  const { info } = await sharp(big).resize(4, 4).png().toBuffer({ resolveWithObject: true });
  if (info.width !== 4) return { status: "broken", detail: "sharp does not scale a picture", fix: INSTALL_SHARP };
  return { status: "ok", detail: `sharp ${sharp.versions.sharp ?? ""}`.trimEnd() };
}
