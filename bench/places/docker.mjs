import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { isThere, until } from "./sshd.mjs";

/** Returns why no container can be started on this machine; `undefined` if one can. */
export function dockerProblem() {
  if (!isThere("docker")) return "docker is not installed";
  if (answers(process.env)) return undefined;
  if (process.getuid?.() !== 0 || !isThere("dockerd")) return "no docker daemon answers, and none can be started";
  return isThere("busybox") ? undefined : "busybox, of which the image is made, is not installed";
}

/**
 * Returns Docker's client and the variables with which it finds its daemon: the one that answers, or our own, which has
 * its files in `own` and is ended by `stop`.
 *
 * @param {string} own
 */
export async function reachDocker(own) {
  mkdirSync(own, { recursive: true });
  const started = answers(process.env) ? undefined : startDaemon(own);
  const env = started === undefined ? process.env : { ...process.env, DOCKER_HOST: `unix://${own}/sock` };
  await until(() => execFileSync("docker", ["version"], { env, stdio: "ignore" }));
  return {
    env,
    docker: (/** @type {readonly string[]} */ ...args) =>
      execFileSync("docker", args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim(),
    /** Resolves when the daemon has ended. */
    stop: async () => {
      if (started === undefined || started.exitCode !== null) return;
      started.kill();
      await once(started, "exit");
    },
  };
}

/**
 * Creates in `root` the root folder of a system that has only busybox.
 *
 * @param {string} root
 */
export function fillWithBusybox(root) {
  mkdirSync(join(root, "bin"), { recursive: true });
  mkdirSync(join(root, "tmp"), { recursive: true });
  execFileSync("sh", [
    "-c",
    `cp "$(command -v busybox)" ${root}/bin/busybox && for a in $(busybox --list); do [ $a = busybox ] || ln -sf busybox ${root}/bin/$a; done`,
  ]);
}

/** @param {string} own */
function startDaemon(own) {
  const flags = [
    "--storage-driver=vfs",
    "--iptables=false",
    "--bridge=none",
    `--data-root=${own}/data`,
    `--exec-root=${own}/exec`,
  ];
  return spawn("dockerd", [...flags, `--pidfile=${own}/pid`, "-H", `unix://${own}/sock`], { stdio: "ignore" });
}

/** @param {NodeJS.ProcessEnv} env */
function answers(env) {
  try {
    execFileSync("docker", ["info"], { env, stdio: "ignore", timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}
