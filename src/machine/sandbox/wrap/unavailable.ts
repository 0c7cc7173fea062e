import { existsSync } from "node:fs";
import type { SandboxState } from "../../../core/contract/containment.ts";
import { textOf } from "../read-files.ts";

type Broken = Extract<SandboxState, { works: false }>;

/** The properties of a machine that decide whether a sandbox can work. */
export interface Machine {
  /** As in `process.platform`. */
  readonly platform: string;
  readonly isContainer: boolean;
  /** Whether Handrail reaches it from another machine. Default false. */
  readonly isRemote?: boolean;
  /** A value in /proc/sys by name; "" if there is none. */
  setting(name: string): string;
}

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    isContainer:
      ["/.dockerenv", "/run/.containerenv"].some((path) => existsSync(path)) || process.env["container"] !== undefined,
    setting: (name) => textOf(`/proc/sys/${name.replaceAll(".", "/")}`).trim(),
  };
}

/** Explains why no sandbox can work here, whatever is installed. `undefined`: no known reason. Pure. */
export function impossible({ platform }: Machine, workDir: string): Broken | undefined {
  if (platform !== "linux") {
    return broken(
      `The sandbox needs Linux, and this is ${platform === "darwin" ? "macOS" : platform}.`,
      "Run Handrail in a Linux container or virtual machine. " +
        "Without a sandbox commands run with all your rights, and more of them need approval.",
    );
  }
  if (workDir !== "/") return undefined;
  return broken(
    "The working directory is / (the whole machine), so a sandbox would not restrict anything.",
    "Start in the folder of a project.",
  );
}

export const NOT_INSTALLED = broken(
  "bubblewrap (bwrap) is not installed. The sandbox needs it.",
  "Install the package bubblewrap with the system's package manager, such as: sudo apt-get install bubblewrap.",
);

/** Explains why bwrap failed, from its output. Pure. */
export function explained(output: string, { isContainer, isRemote = false, setting }: Machine): Broken {
  const line = output.trimEnd().split("\n").at(-1)?.trim().replace(/\.$/, "") || "it printed nothing";
  const isNamespace = /namespace|uid map|gid map|RTM_NEWADDR|loopback/i.test(output);
  const isDenied = /permission|not permitted|denied/i.test(output);
  const turnedOff = (name: string, value: string) =>
    broken(
      `User namespaces are turned off on this system: ${name} (${line}).`,
      `Turn them on: sudo sysctl -w ${name}=${value} (and a line ${name} = ${value} in /etc/sysctl.d to keep it).`,
    );
  if (isNamespace && setting("kernel.unprivileged_userns_clone") === "0")
    return turnedOff("kernel.unprivileged_userns_clone", "1");
  if (isNamespace && (setting("user.max_user_namespaces") === "0" || /ENOSPC|exceeded|No space/i.test(output)))
    return turnedOff("user.max_user_namespaces", "15000");
  if (isContainer && (isNamespace || isDenied)) {
    return broken(
      `${isRemote ? "The container" : "Handrail runs in a container that"} does not allow a sandbox in it (${line}).`,
      "Start the container with --security-opt seccomp=unconfined, and where AppArmor is active with --security-opt " +
        "apparmor=unconfined. With --security-opt systempaths=unconfined (Podman: unmask=ALL) commands also do not see " +
        `the container's other processes. ${THROW_AWAY}`,
    );
  }
  if (isNamespace && isDenied && setting("kernel.apparmor_restrict_unprivileged_userns") === "1") {
    return broken(
      `AppArmor forbids unprivileged user namespaces, as in Ubuntu since 23.10 (${line}).`,
      "Give bubblewrap a profile that allows them: write to /etc/apparmor.d/bwrap `abi <abi/4.0>, " +
        "include <tunables/global> profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`, then sudo systemctl " +
        "reload apparmor. Or allow them for every program: sudo sysctl -w " +
        "kernel.apparmor_restrict_unprivileged_userns=0.",
    );
  }
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

/** What else makes commands run unasked in a container. */
export const THROW_AWAY =
  "If nothing in the container matters and it reaches nothing that does, --autonomy full runs commands unasked.";

function broken(reason: string, fix: string): Broken {
  return { works: false, reason, fix };
}
