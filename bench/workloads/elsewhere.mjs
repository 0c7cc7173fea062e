import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import { createToolkit, grep } from "handrail";
import { container } from "handrail/container";
import { ssh } from "handrail/ssh";
import { dockerProblem, startContainer } from "../places/docker.mjs";
import { sshdProblem, startSshd } from "../places/sshd.mjs";
import { atMost, ok } from "./shared.mjs";

const run = promisify(execFile);

const TIMES = 10;
const READ = 100_000_000;
const FILES = 20_000;

/** None where there is nothing to work in. */
/** @type {readonly import("./shared.mjs").Workload[]} */
export const ELSEWHERE = [
  ...(sshdProblem() === undefined ? overSsh() : []),
  ...(dockerProblem() === undefined ? [inDocker()] : []),
];

/** @returns {readonly import("./shared.mjs").Workload[]} */
function overSsh() {
  return [
    {
      name: "ssh-true",
      what: "true on a host over ssh; ceiling ssh on a connection that is open",
      scale: 1 / TIMES,
      target: atMost(1),
      async prepare(folder) {
        const server = await startSshd(folder);
        const backend = await ssh({ ...server, outputFolder: join(folder, "outputs") });
        return {
          ours: () => times(() => trivial(backend)),
          ceiling: () => times(() => run("ssh", [...server.shared, server.target, "true"])),
          cleanUp: () => closed(backend, server),
        };
      },
    },
    reading({ name: "ssh-read", mebibytes: 32 }),
    reading({ name: "ssh-read-4", mebibytes: 4 }),
    searching({
      name: "ssh-grep",
      what: "a word that stands once in 20,000 files over ssh; ceiling ssh host rg on a connection that is open",
      pattern: "xylophone_needle",
      ceiling: (rg, tree) => `${rg} --no-config -n -i xylophone_needle ${tree}`,
      target: atMost(1.3),
    }),
    searching({
      name: "ssh-grep-100",
      what: "a word in all of 20,000 files over ssh, stopped at 100; ceiling ssh host rg --sort path | head on a connection that is open",
      pattern: "ordinary",
      ceiling: (rg, tree) => `${rg} --no-config -n -i --sort path ordinary ${tree} | head -n 100`,
      target: atMost(3),
    }),
  ];
}

/**
 * @param {{ readonly name: string, readonly mebibytes: number }} how
 * @returns {import("./shared.mjs").Workload}
 */
function reading({ name, mebibytes }) {
  const length = mebibytes * 1_048_576;
  return {
    name,
    what: `100 MB read over ssh, ${mebibytes} MiB at a time; ceiling scp of it on a connection that is open`,
    rounds: 3,
    target: atMost(1.5),
    async prepare(folder) {
      const server = await startSshd(folder);
      const backend = await ssh({ ...server, outputFolder: join(folder, "outputs") });
      const there = join(folder, "big");
      writeFileSync(there, Buffer.alloc(READ, "handrail "), { mode: 0o644 });
      return {
        async ours() {
          const file = await backend.files.open(there);
          let read = 0;
          for (let at = 0; at < READ; at += length) read += (await file.read(at, length)).length;
          await file.close();
          if (read !== READ) throw new Error(`${read} bytes were read`);
        },
        ceiling: () => run("scp", ["-q", ...server.shared, `${server.target}:${there}`, join(folder, "copy")]),
        cleanUp: () => closed(backend, server),
      };
    },
  };
}

/**
 * @param {Pick<import("./shared.mjs").Workload, "name" | "what" | "target"> & {
 *   readonly pattern: string, readonly ceiling: (rg: string, tree: string) => string
 * }} how
 * @returns {import("./shared.mjs").Workload}
 */
function searching({ pattern, ceiling, ...about }) {
  return {
    ...about,
    async prepare(folder) {
      const server = await startSshd(folder);
      const tree = join(folder, "tree-elsewhere");
      for (let number = 0; number < FILES; number++) {
        if (number % 100 === 0) mkdirSync(join(tree, String(number / 100)), { recursive: true });
        const word = number === 12_345 ? "xylophone_needle" : "ordinary";
        writeFileSync(
          join(tree, String(Math.floor(number / 100)), `${number}.txt`),
          `line of ${word} text\n`.repeat(40),
        );
      }
      const program = join(folder, "rg");
      copyFileSync(rgPath, program);
      const backend = await ssh({ ...server, workDir: tree, outputFolder: join(folder, "outputs") });
      const toolkit = await createToolkit({
        target: backend,
        tools: [grep()],
        policy: { autonomy: "full" },
        stateDir: join(folder, "state"),
      });
      return {
        ours: () => ok(toolkit.call({ name: "grep", input: { pattern } })),
        ceiling: () => run("ssh", [...server.shared, server.target, ceiling(program, tree)]),
        cleanUp: () => closed(toolkit, server),
      };
    },
  };
}

/** @returns {import("./shared.mjs").Workload} */
function inDocker() {
  return {
    name: "docker-true",
    what: "true in a container; ceiling docker exec",
    scale: 1 / TIMES,
    target: atMost(0.2),
    async prepare(folder) {
      const place = await startContainer(folder);
      Object.assign(process.env, place.env); // the backend runs docker with this environment
      const backend = await container({ container: `docker:${place.name}`, outputFolder: join(folder, "outputs") });
      return {
        ours: () => times(() => trivial(backend)),
        ceiling: () => times(() => run("docker", ["exec", place.name, "true"])),
        cleanUp: () => closed(backend, place),
      };
    },
  };
}

/** @param {import("handrail").Backend} backend */
async function trivial(backend) {
  const child = await backend.spawn({ argv: ["true"] });
  const exit = await child.exit;
  if (exit.how !== "exited" || exit.code !== 0) throw new Error(`true ended as ${JSON.stringify(exit)}`);
  await child.output.dispose();
}

/** @param {() => Promise<unknown>} work */
async function times(work) {
  for (let number = 0; number < TIMES; number++) await work();
}

/**
 * @param {{ close(): Promise<void> }} backend
 * @param {{ stop(): unknown }} place
 */
async function closed(backend, place) {
  await backend.close();
  await place.stop();
}
