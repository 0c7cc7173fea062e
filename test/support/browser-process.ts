import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { afterFile } from "./after-file.ts";

const children = new Set<ChildProcess>();

afterFile(() => {
  for (const child of children) child.kill("SIGKILL");
});

export interface BrowserProcess {
  readonly pid: number;
  /** Makes a call of the tool `browser`. Resolves to its text. Rejects if the process ends first. */
  act(action: string, input?: { readonly [name: string]: unknown }): Promise<string>;
  /** Ends it, with the toolkit closed; with KILL at once. */
  end(how?: "KILL"): Promise<void>;
}

export interface BrowserProcessOptions {
  /** Options of the toolkit; it asks nobody and approves everything. */
  readonly toolkit: object;
  /** Words before the program: another user, other namespaces. */
  readonly prefix?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly user?: number;
}

/** Starts a process that has a toolkit of the built package. */
export function browserProcess({
  toolkit,
  prefix = [],
  env = process.env,
  user,
}: BrowserProcessOptions): BrowserProcess {
  const own = [process.execPath, "--input-type=module", "-e", SOURCE, JSON.stringify(toolkit)];
  const [program = "", ...args] = [...prefix, ...own];
  const identity = user === undefined ? {} : { uid: user, gid: user };
  const child = spawn(program, args, { cwd: projectRoot, env, stdio: ["pipe", "pipe", "pipe"], ...identity });
  children.add(child);
  const errors: string[] = [];
  createInterface(child.stderr).on("line", (line) => errors.push(line));
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  child.stdin.on("error", () => undefined); // it has ended
  const ended = once(child, "close");
  return {
    pid: child.pid ?? 0,
    async act(action, input = {}) {
      child.stdin.write(`${JSON.stringify({ action, ...input })}\n`);
      const answer = await answers.next();
      if (answer.done === true) throw new Error(`the process ended: ${errors.join("\n")}`);
      return JSON.parse(answer.value) as string;
    },
    async end(how) {
      if (how === "KILL") child.kill("SIGKILL");
      else child.stdin.end();
      await ended;
    },
  };
}

const SOURCE = `
import { createInterface } from "node:readline";
import { asText, createToolkit } from "handrail";
const options = JSON.parse(process.argv[1]);
const toolkit = await createToolkit({ preset: "assistant", ...options, approver: async () => ({ answer: "once" }) });
for await (const line of createInterface(process.stdin)) {
  const result = await toolkit.call({ name: "browser", input: JSON.parse(line) });
  console.log(JSON.stringify(asText(result)));
}
await toolkit.close();
`;
