import { randomBytes } from "node:crypto";
import { afterFile } from "./after-file.ts";
import type { Ended } from "./ended.ts";
import { type Engine, type EngineName, engineOf, runLabel } from "./engines.ts";
import { type ImageKind, testImage } from "./images.ts";

/** A real container that sleeps. Removed at the end of the test file. */
export interface TestContainer {
  readonly name: string;
  /** Runs a program in it with the engine's client. */
  exec(argv: readonly string[], options?: ExecOptions): Promise<Ended>;
  stop(): Promise<void>;
  start(): Promise<void>;
  pause(): Promise<void>;
  unpause(): Promise<void>;
  /** Removes it by force, running or not. Ignores a missing one. */
  remove(): Promise<void>;
}

export interface ExecOptions {
  readonly user?: string;
  readonly input?: string | Uint8Array;
}

export interface ContainerOptions {
  /** Default "bash". */
  readonly image?: ImageKind;
  /** Default: a unique name. */
  readonly name?: string;
  /** The user of its programs: "dev" or a number. Default root. */
  readonly user?: string;
  /** More arguments of `run`, such as `["--tmpfs", "/small:size=1m"]`. */
  readonly args?: readonly string[];
  /** Its first process. Default: one that sleeps, reaps every ended child, and exits at once when it is stopped. */
  readonly command?: readonly string[];
}

const containers: TestContainer[] = [];

afterFile(async () => {
  await Promise.all(containers.splice(0).map((one) => one.remove()));
});

/** Starts a container without a network. */
export async function container(engine: Engine, options: ContainerOptions = {}): Promise<TestContainer> {
  const { image = "bash", name = `handrail-test-${randomBytes(4).toString("hex")}`, user, args = [] } = options;
  const { command = image === "bare" ? ["/bin/sleep", "infinity"] : REAPING_SLEEP } = options;
  const client = async (...words: readonly string[]) => {
    const { status, stderr } = await engine.run(words);
    if (status !== 0) throw new Error(`${engine.name} ${words.join(" ")} ended with ${status}: ${stderr.trim()}`);
  };
  const as = user === undefined ? [] : ["--user", user];
  const about = ["--name", name, "--network=none", "--label", runLabel()];
  await client("run", "--detach", ...about, ...as, ...args, await testImage(engine, image), ...command);
  const made: TestContainer = {
    name,
    exec(argv, { user: by, input } = {}) {
      return engine.run(["exec", "-i", ...(by === undefined ? [] : ["--user", by]), name, ...argv], input);
    },
    stop: () => client("stop", "-t", "2", name),
    start: () => client("start", name),
    pause: () => client("pause", name),
    unpause: () => client("unpause", name),
    async remove() {
      // docker kills at once; podman waits ten seconds by default.
      const atOnce = engine.name === "podman" ? ["-t", "0"] : [];
      const { status, stderr } = await engine.run(["rm", "--force", ...atOnce, name]);
      if (status !== 0 && !/no such container/i.test(stderr)) throw new Error(`${name} is not removed: ${stderr}`);
    },
  };
  containers.push(made);
  return made;
}

/** One container for all cases of a file, started by the first user. Local commands then find its engine. */
export function sharedContainer(engineName: EngineName, options: ContainerOptions = {}): () => Promise<TestContainer> {
  const start = async () => {
    const engine = await engineOf(engineName);
    Object.assign(process.env, engine.env);
    return container(engine, options);
  };
  let started: Promise<TestContainer> | undefined;
  return () => (started ??= start());
}

/** Waiting reaps adopted children of the first process; a sleep alone would leave zombies. */
const REAPING_SLEEP = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done"];
