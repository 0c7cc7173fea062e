import { existsSync, readFileSync } from "node:fs";
import { release } from "node:os";
import type { SandboxState } from "../../../contract/containment.ts";
import { tried } from "../../../util/errors.ts";
import { systemProgram } from "../programs.ts";

type Broken = Extract<SandboxState, { works: false }>;

/** The properties of a machine that decide whether a sandbox can work. */
export interface Machine {
  /** As in `process.platform`. */
  readonly platform: string;
  /** The kernel's release, as printed by `uname -r`. */
  readonly kernel: string;
  readonly isContainer: boolean;
  /** A value in /proc/sys by name; `undefined` if there is none. */
  setting(name: string): string | undefined;
  /** The installed package manager. */
  readonly packages: keyof typeof INSTALL | undefined;
}

const INSTALL = {
  "apt-get": "sudo apt-get install bubblewrap",
  dnf: "sudo dnf install bubblewrap",
  yum: "sudo yum install bubblewrap",
  apk: "sudo apk add bubblewrap",
  pacman: "sudo pacman -S bubblewrap",
  zypper: "sudo zypper install bubblewrap",
} as const;

const WITHOUT = "Without a sandbox commands run with all your rights, and more of them need approval.";

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    kernel: release(),
    isContainer:
      ["/.dockerenv", "/run/.containerenv"].some((path) => existsSync(path)) || process.env["container"] !== undefined,
    setting: (name) => tried(() => readFileSync(`/proc/sys/${name.replaceAll(".", "/")}`, "latin1").trim()),
    packages: (Object.keys(INSTALL) as (keyof typeof INSTALL)[]).find((name) => systemProgram(name) !== undefined),
  };
}

/** Explains why no sandbox can work here, whatever is installed. `undefined`: no known reason. Pure. */
export function impossible({ platform, kernel }: Machine, workDir: string): Broken | undefined {
  if (platform !== "linux") {
    const system = platform === "darwin" ? "macOS" : platform;
    return broken(
      `The sandbox needs Linux, and this is ${system}.`,
      `Run Handrail in a Linux container or virtual machine. ${WITHOUT}`,
    );
  }
  if (/microsoft/i.test(kernel) && !/WSL2/i.test(kernel) && /^[1-4]\./.test(kernel)) {
    return broken(
      "The sandbox needs namespaces of the Linux kernel, and WSL 1 has none.",
      "Move the distribution to WSL 2, in Windows: wsl --set-version DISTRIBUTION 2.",
    );
  }
  if (workDir === "/") {
    return broken(
      "The working directory is / (the whole machine), so a sandbox would not restrict anything.",
      "Start in the folder of a project.",
    );
  }
  return undefined;
}

export function notInstalled({ packages }: Machine): Broken {
  return broken(
    "bubblewrap (bwrap) is not installed. The sandbox needs it.",
    packages === undefined ? "Install the package bubblewrap." : `Install it: ${INSTALL[packages]}.`,
  );
}

/** Explains why bwrap failed, from its output. Pure. */
export function explained(output: string, machine: Machine): Broken {
  const line = lastLine(output);
  const isNamespace = /namespace|uid map|gid map|RTM_NEWADDR|loopback/i.test(output);
  const isDenied = /permission|not permitted|denied/i.test(output);
  if (isNamespace && machine.setting("kernel.unprivileged_userns_clone") === "0")
    return sysctl("kernel.unprivileged_userns_clone", "1", line);
  if (isNamespace && machine.setting("user.max_user_namespaces") === "0")
    return sysctl("user.max_user_namespaces", "15000", line);
  if (machine.isContainer && (isNamespace || isDenied)) {
    return broken(
      `Handrail runs in a container that does not allow a sandbox in it (${line}).`,
      "Start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
        "--security-opt systempaths=unconfined (Docker; Podman: --security-opt unmask=ALL for the last), " +
        "or leave the sandbox off: the container already isolates commands.",
    );
  }
  if (isNamespace && isDenied && machine.setting("kernel.apparmor_restrict_unprivileged_userns") === "1") {
    return broken(
      `AppArmor forbids unprivileged user namespaces, as in Ubuntu since 23.10 (${line}).`,
      "Give bubblewrap a profile that allows them: write to /etc/apparmor.d/bwrap `abi <abi/4.0>, " +
        "include <tunables/global> profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`, then sudo systemctl " +
        "reload apparmor. Or allow them for every program: sudo sysctl -w " +
        "kernel.apparmor_restrict_unprivileged_userns=0.",
    );
  }
  if (/namespace/i.test(output) && /ENOSPC|exceeded|No space/i.test(output))
    return sysctl("user.max_user_namespaces", "15000", line);
  if (isNamespace || isDenied) {
    return broken(
      `The system does not let bubblewrap create namespaces (${line}).`,
      "If Handrail runs in a container or another sandbox, allow user namespaces there; otherwise check " +
        "kernel.unprivileged_userns_clone, user.max_user_namespaces and " +
        "kernel.apparmor_restrict_unprivileged_userns in sysctl.",
    );
  }
  return broken(
    `bubblewrap does not work here: ${line}.`,
    "Run `bwrap --ro-bind / / true` to see more, and install a newer bubblewrap (0.6 or later).",
  );
}

function sysctl(name: string, value: string, line: string): Broken {
  return broken(
    `User namespaces are turned off on this system: ${name} (${line}).`,
    `Turn them on: sudo sysctl -w ${name}=${value} (and a line ${name} = ${value} in /etc/sysctl.d to keep it).`,
  );
}

function lastLine(output: string): string {
  return output.trimEnd().split("\n").at(-1)?.trim().replace(/\.$/, "") || "it printed nothing";
}

function broken(reason: string, fix: string): Broken {
  return { works: false, reason, fix };
}
