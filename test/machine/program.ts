import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterFile } from "../support/after-file.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

/** The built library, as programs import it. */
export const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;

/** A program that uses the built library, in its own process group. */
export interface Program {
  readonly pid: number;
  /** Its working directory, which is its toolkit's too. */
  readonly folder: string;
  /** Its own temporary folder. */
  readonly temporary: string;
  readonly stateDir: string;
  stdout(): string;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly signal: string | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

export interface ProgramOptions {
  /** Default: a new one. */
  readonly folder?: string;
  /** Default: a new one. */
  readonly stateDir?: string;
  readonly env?: NodeJS.ProcessEnv;
}

const running = new Set<ChildProcess>();
afterFile(() => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Runs `body` as a module after definitions of `toolkit` with every tool and full approval; `bash(input, options)`,
 * which calls that tool; `say(value)`, which prints a line of JSON; `there(name)`, which waits for a file.
 */
export function program(
  body: string,
  { folder = temporaryFolder(), stateDir = temporaryFolder(), env }: ProgramOptions = {},
): Program {
  const temporary = join(temporaryFolder(), "tmp");
  mkdirSync(temporary);
  const script = `
    import { existsSync } from "node:fs";
    import { createToolkit } from ${JSON.stringify(LIBRARY)};
    const toolkit = await createToolkit({
      preset: "all", sandbox: "off", policy: { autonomy: "full", forbiddenPaths: [], allowedRoots: ["/proc"] }, stateDir: ${JSON.stringify(stateDir)}, outputOwner: "tests",
    });
    const bash = (input, options) => toolkit.call({ name: "bash", input }, options);
    const say = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
    const there = async (name) => {
      while (!existsSync(name)) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    ${body}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: folder,
    detached: true,
    env: { ...process.env, ...env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return {
    pid: child.pid ?? 0,
    folder,
    temporary,
    stateDir,
    stdout: () => stdout,
    ended: new Promise((resolve) => {
      child.once("close", (code, signal) => {
        running.delete(child);
        resolve({ code, signal, stdout, stderr });
      });
    }),
  };
}

/** Parses the lines that a program has printed. */
export function said(stdout: string): readonly unknown[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

interface Status {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
}

/** Returns every process of the machine. */
export function processes(): readonly Status[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const line = readFileSync(`/proc/${name}/stat`, "latin1");
      const [state = "", parent] = line.slice(line.lastIndexOf(")") + 2).split(" ");
      return [{ pid: Number(name), state, parent: Number(parent) }];
    } catch {
      return [];
    }
  });
}

/** Returns the spawner of a process, once there is one. */
export async function spawnerOf(owner: number): Promise<number> {
  const found = () =>
    processes().find(({ pid, parent, state }) => parent === owner && state !== "Z" && isSpawner(pid))?.pid;
  await until(`process ${owner} has a spawner`, found);
  return found() ?? 0;
}

function isSpawner(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("spawner.js");
  } catch {
    return false;
  }
}

/** Returns the folders of pipes in a temporary folder. */
export function pipesFolders(temporary: string): readonly string[] {
  return readdirSync(temporary).filter((name) => name.startsWith("handrail-pipes-"));
}

/** Returns the process id in the file `NAME.pid`, and checks that the process is running. */
export async function runningPid(folder: string, name: string): Promise<number> {
  const read = () => {
    try {
      return Number(/^(\d+)\n$/.exec(readFileSync(join(folder, `${name}.pid`), "latin1"))?.[1] ?? 0);
    } catch {
      return 0;
    }
  };
  await until(`"${name}" says that it runs`, read, 20_000);
  if (!(await isAlive(read()))) throw new Error(`"${name}" does not run any more`);
  return read();
}
