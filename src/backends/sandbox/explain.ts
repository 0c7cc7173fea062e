import { existsSync, readFileSync } from "node:fs";
import { release } from "node:os";
import type { SandboxState } from "../../contract/containment.ts";
import { systemProgram } from "./programs.ts";

type Broken = Extract<SandboxState, { works: false }>;

/** What of a machine decides whether there can be a sandbox. */
export interface Machine {
  /** As `process.platform` has it. */
  readonly platform: string;
  /** The kernel's release, as uname(1) tells it. */
  readonly kernel: string;
  readonly isContainer: boolean;
  /** Numbers of /proc/sys by name; `undefined` where there is none. */
  setting(name: string): string | undefined;
  /** The package manager that is there. */
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

const WITHOUT = "Without a sandbox commands run like any program of yours, and more is asked about.";

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    kernel: release(),
    isContainer:
      ["/.dockerenv", "/run/.containerenv"].some((path) => existsSync(path)) || process.env["container"] !== undefined,
    setting: (name) => {
      try {
        return readFileSync(`/proc/sys/${name.replaceAll(".", "/")}`, "latin1").trim();
      } catch {
        return undefined;
      }
    },
    packages: (Object.keys(INSTALL) as (keyof typeof INSTALL)[]).find((name) => systemProgram(name) !== undefined),
  };
}

/** Why there can be none whatever is installed; `undefined`: nothing is known against it. Pure. */
export function impossible({ platform, kernel }: Machine, workDir: string): Broken | undefined {
  if (platform !== "linux") {
    const system = platform === "darwin" ? "macOS" : platform;
    return broken(
      `The sandbox is made of parts of Linux, and this is ${system}.`,
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
      "The working directory is /, the whole machine, so there is nothing that a sandbox would keep commands from.",
      "Start in the folder of a project.",
    );
  }
  return undefined;
}

export function notInstalled({ packages }: Machine): Broken {
  return broken(
    "bubblewrap (bwrap), which makes the sandbox, is not installed.",
    packages === undefined ? "Install the package bubblewrap." : `Install it: ${INSTALL[packages]}.`,
  );
}

/** Why bwrap failed, from what it wrote. Pure. */
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
      `The container around Handrail does not let it make a sandbox of its own (${line}).`,
      "Start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined (Docker; Podman: --security-opt unmask=ALL for the last), or leave the sandbox off: the container is one.",
    );
  }
  if (isNamespace && isDenied && machine.setting("kernel.apparmor_restrict_unprivileged_userns") === "1") {
    return broken(
      `AppArmor keeps programs from making namespaces of users, as in Ubuntu since 23.10 (${line}).`,
      "Give bubblewrap a profile that allows it: write into /etc/apparmor.d/bwrap `abi <abi/4.0>, include <tunables/global> profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`, then sudo systemctl reload apparmor. Or allow it to every program: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0.",
    );
  }
  if (/namespace/i.test(output) && /ENOSPC|exceeded|No space/i.test(output))
    return sysctl("user.max_user_namespaces", "15000", line);
  if (isNamespace || isDenied) {
    return broken(
      `The system does not let bubblewrap make namespaces (${line}).`,
      "Where a container or another sandbox is around Handrail, allow namespaces of users there; else look at kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns in sysctl.",
    );
  }
  return broken(
    `bubblewrap does not work here: ${line}.`,
    "Run `bwrap --ro-bind / / true` to see more, and install a newer bubblewrap (0.6 or later).",
  );
}

function sysctl(name: string, value: string, line: string): Broken {
  return broken(
    `Namespaces of users are turned off on this system: ${name} (${line}).`,
    `Turn them on: sudo sysctl -w ${name}=${value} (and a line ${name} = ${value} in /etc/sysctl.d to keep it).`,
  );
}

function lastLine(output: string): string {
  return output.trimEnd().split("\n").at(-1)?.trim().replace(/\.$/, "") || "it said nothing";
}

function broken(reason: string, fix: string): Broken {
  return { works: false, reason, fix };
}
