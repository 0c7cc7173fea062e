// Real container engines for tests. Each is started by the first test file that needs it, is shared by the whole run,
// and ends with the run.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { inject } from "vitest";
import { withLockAsync } from "../../scripts/lib/lock.mjs";
import { type Ended, runToEnd } from "./ended.ts";
import { installed } from "./here.ts";
import { keep, keptFolder } from "./watcher.ts";
import { isAlive, until } from "./until.ts";

export type EngineName = "docker" | "podman";

export interface Engine {
  readonly name: EngineName;
  /** The variables with which the client (`docker`, `podman`) finds this engine, to be added to ours. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs the client to its end: `engine.run(["inspect", name])`. */
  run(args: readonly string[], input?: string | Uint8Array): Promise<Ended>;
}

const isRoot = process.getuid?.() === 0;

/** Returns why an engine cannot be tested on this machine; `undefined` if it can. */
export function engineProblem(name: EngineName): string | undefined {
  if (process.platform !== "linux") return `${name} is only tried on Linux`;
  if (!installed("busybox")) return "busybox (busybox-static), of which the images are made, is not installed";
  if (!installed(name)) return `${name} is not installed`;
  if (name === "podman") return isRoot || installed("newuidmap") ? undefined : "newuidmap (uidmap) is not installed";
  if (isRoot && installed("dockerd")) return undefined;
  if (daemonAnswers()) return undefined;
  return `no Docker daemon answers, and ${isRoot ? "dockerd is not installed" : "only root can start one"}`;
}

/** Returns why its containers cannot be paused on this machine; `undefined` if they can. */
export function pauseProblem(name: EngineName): string | undefined {
  const unified = existsSync("/sys/fs/cgroup/cgroup.controllers");
  return name === "docker" || isRoot || unified
    ? undefined
    : "an ordinary user's podman pauses with cgroups of version 2 only";
}

/** Returns the engine with that name. The first caller starts it. */
export function engineOf(name: EngineName): Promise<Engine> {
  return name === "docker" ? dockerEngine() : podmanEngine();
}

/** The running Docker daemon, or one of our own. */
export function dockerEngine(): Promise<Engine> {
  return shared("docker", async () => {
    if (daemonAnswers()) return keepOthersDaemonTidy();
    return startDaemon();
  });
}

/** podman with its own storage. */
export function podmanEngine(): Promise<Engine> {
  return shared("podman", preparePodman);
}

/** The label of everything that the run creates in an engine. */
export function runLabel(): string {
  return `handrail.run=${basename(inject("runFolder"))}`;
}

/** What finds the engine is created once for the run and stored in its folder. */
async function shared(name: EngineName, make: () => Promise<Record<string, string>>): Promise<Engine> {
  const problem = engineProblem(name);
  if (problem !== undefined) throw new Error(`${name} cannot be tried here: ${problem}`);
  const note = join(inject("runFolder"), `${name}.json`);
  if (!existsSync(note)) {
    await withLockAsync(note, async () => {
      if (!existsSync(note)) writeFileSync(note, JSON.stringify(await make()));
    });
  }
  const env = JSON.parse(readFileSync(note, "utf8")) as Record<string, string>;
  return { name, env, run: (args, input) => runToEnd([name, ...args], { input, env }) };
}

function daemonAnswers(): boolean {
  return spawnSync("docker", ["version"], { stdio: "ignore", timeout: 10_000 }).status === 0;
}

/** The machine's daemon: at the end only our containers and images are removed. */
async function keepOthersDaemonTidy(): Promise<Record<string, string>> {
  await keep({
    folder: keptFolder("docker"),
    end: `docker rm -f $(docker ps -aq --filter "label=$label"); docker rmi -f $(docker images -q --filter "label=$label")`,
    env: { label: runLabel() },
  });
  return {};
}

/**
 * A daemon in its own process namespace, so that containerd, the shims and every container end with it, and in its own
 * mount namespace, so that no mount remains. Its containers have no network.
 */
async function startDaemon(): Promise<Record<string, string>> {
  const folder = keptFolder("docker");
  const group = `handrail-${basename(folder)}`;
  const DOCKER_HOST = `unix://${join(folder, "socket")}`;
  // A shell's background processes ignore these two signals, and so would everything in the containers.
  const heeding = "env --default-signal=INT,QUIT";
  const namespaces = "unshare --mount --propagation slave --pid --fork --kill-child --mount-proc";
  const options = `--iptables=false --bridge=none --data-root="$folder/data" --exec-root="$folder/exec" --pidfile="$folder/pid"`;
  const daemon = `"$dockerd" ${options} --cgroup-parent="/$group" -H "$DOCKER_HOST"`;
  const { pid = 0 } = await keep({
    folder,
    begin: `${heeding} ${namespaces} ${daemon} >"$folder/log" 2>&1 & child=$!`,
    end: [
      `kill -KILL $(cat "/proc/$child/task/$child/children") || kill -KILL "$child"`,
      `wait "$child"`,
      `find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} ";"`,
    ].join("\n"),
    env: { DOCKER_HOST, group, dockerd: installed("dockerd") ?? "dockerd" },
  });
  await until(
    `dockerd answers (its log: ${join(folder, "log")})`,
    async () => {
      if (!(await isAlive(pid))) throw new Error(`dockerd ended at once: ${readFileSync(join(folder, "log"), "utf8")}`);
      return (await runToEnd(["docker", "version"], { env: { DOCKER_HOST } })).status === 0;
    },
    30_000,
  );
  return { DOCKER_HOST };
}

/**
 * Settings with which podman works where the defaults do not: limits that cannot be raised, mixed cgroup versions
 * (which crun rejects), no systemd.
 */
async function preparePodman(): Promise<Record<string, string>> {
  const folder = keptFolder("podman");
  mkdirSync(join(folder, "tmp"));
  const runtime = installed("runc") ? `runtime = "runc"\n` : "";
  const settings = `[containers]
default_ulimits = ["nofile=${limit("n", 20_000)}", "nproc=${limit("u", 4096)}"]
log_driver = "k8s-file"
[engine]
${runtime}cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "${folder}/tmp"
image_copy_tmp_dir = "${folder}/tmp"
[network]
network_config_dir = "${folder}/networks"
`;
  const storage = `[storage]
driver = "overlay"
graphroot = "${folder}/store"
runroot = "${folder}/run"
`;
  const [CONTAINERS_CONF, CONTAINERS_STORAGE_CONF] = [join(folder, "containers.conf"), join(folder, "storage.conf")];
  writeFileSync(CONTAINERS_CONF, settings);
  writeFileSync(CONTAINERS_STORAGE_CONF, storage);
  await keep({ folder, end: PODMAN_END, env: { CONTAINERS_CONF, CONTAINERS_STORAGE_CONF } });
  return { CONTAINERS_CONF, CONTAINERS_STORAGE_CONF };
}

/**
 * Files of an ordinary user's podman may belong to other ids. After each container, a podman cleans up some time later
 * and would recreate its folder, so it is awaited. The name is passed on stdin, so that the search does not find
 * itself.
 */
const PODMAN_END = `podman rm -a -f -t 0
if [ "$(id -u)" != 0 ]; then
  podman unshare rm -rf "$folder/store"
  podman system migrate
fi
tries=0
while echo "$folder/" | grep -qsF -f - /proc/[0-9]*/cmdline && [ "$tries" -lt 100 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
if [ "$(id -u)" = 0 ]; then umount -l "$folder/store/overlay"; fi`;

/** Returns `soft:hard` of one of our own limits (a letter of ulimit), at most `wanted`. */
function limit(letter: "n" | "u", wanted: number): string {
  // dash lacks -u, bash has it.
  const hard = Number(execFileSync("bash", ["-c", `ulimit -H${letter}`], { encoding: "utf8" }));
  const value = Number.isNaN(hard) ? wanted : Math.min(hard, wanted);
  return `${value}:${value}`;
}
