import { posix } from "node:path";
import type { Backend, Command, Process } from "../../../core/contract/backend.ts";
import type { SandboxAccess, SandboxState } from "../../../core/contract/containment.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { randomName } from "../../../core/util/identifier.ts";
import { quoteWord, quoteWords } from "../../../core/util/quote.ts";
import type { RemoteHost } from "../../shell/backend.ts";
import PATHS from "../../shell/path.sh";
import { type Facts, mountsOf } from "../mounts/mounts.ts";
import { ALL_FEATURES, DESCRIPTORS, bubblewrapWords } from "../wrap/bubblewrap.ts";
import { type Probed, missingOf, probe } from "../wrap/probe.ts";
import { seccompFilter } from "../wrap/seccomp/filter.ts";
import { type Machine, NOT_INSTALLED, THROW_AWAY, explained, impossible } from "../wrap/unavailable.ts";
import { farDisk } from "./far-disk.ts";
import { type Running, spawnContained } from "./far-command.ts";
import type { FarSandboxOptions } from "./options.ts";
import { contained, viewsOf } from "./far-views.ts";
import LOOK from "./look.sh";
import PREPARE from "./prepare.sh";

/** Handrail's own folder on the remote system, which file tools cannot reach and commands do not see. */
const OWN = ".local/state/handrail";

/** The names of `process.arch` by uname(1). */
const ARCHITECTURES: { readonly [machine: string]: string | undefined } = { x86_64: "x64", aarch64: "arm64" };

export type Broken = Extract<SandboxState, { works: false }>;

export type Ready =
  | {
      readonly works: true;
      readonly missing: readonly string[];
      spawn(command: Command, access: SandboxAccess): Promise<Process>;
      /** Removes the session's files. Never rejects. */
      close(): Promise<void>;
    }
  | Broken;

/** Finds out what works on the host, and creates what all commands share. Rejects when it cannot be reached. */
export async function prepare(
  inner: Backend,
  host: RemoteHost,
  options: FarSandboxOptions,
  failed: (state: Broken) => void,
  own = `${host.facts.home === "/" ? "" : host.facts.home}/${OWN}`,
): Promise<Ready> {
  const { facts } = host;
  const platform = facts.system === "Linux" ? "linux" : facts.system;
  const hopeless = impossible({ platform, isContainer: false, setting: () => "" }, inner.workDir);
  if (hopeless !== undefined) return broken(host, hopeless.reason, hopeless.fix);
  const [sessions, separator] = [`${own}/sandbox`, `handrail ${randomName(24)}`];
  const folder = `${sessions}/${randomName(12)}`;
  const filter = seccompFilter(ARCHITECTURES[facts.machine] ?? facts.machine) ?? new Uint8Array();
  const first = { ...ALL_FEATURES, filter: filter.length > 0 };
  const code = `${PATHS}\n${LOOK}\nhr_end_of_answer=${quoteWord(separator)}\nhr_workspace=${quoteWord(inner.workDir)}\n`;
  const bare = mountsOf({ ...NOTHING, writable: [inner.workDir] });
  const words = [sessions, folder, code, escaped(filter), ...bubblewrapWords(first, bare, contained(inner.workDir))];
  let found: Findings | undefined;
  let problem: Broken | undefined;
  const disk = farDisk({
    ...{ host, own, workDir: inner.workDir, folder, separator, isProtected: options.isProtected },
    ...(options.searchSeconds !== undefined && { searchSeconds: options.searchSeconds }),
    opening: {
      script: `set -- ${quoteWords(words)}\n${PREPARE}`,
      read(printed) {
        found = findingsIn(printed);
        problem = problemOf(found, host, sessions);
        if (problem !== undefined || found.field("made") !== folder) throw new Error("there is no use in looking");
      },
    },
  });
  const views = viewsOf({ inner, host, disk, own, folder, options });
  const close = async () => void (await host.ask(`rm -rf ${quoteWord(folder)}`).catch(() => undefined));
  const whenTooLarge = (error: unknown): Broken | undefined =>
    error instanceof ToolFailure && [inner.workDir, ...options.writable].some((path) => disk.tooLarge().includes(path))
      ? broken(host, `${error.message.replace(/^the/, "The")}.`, error.hint ?? "")
      : undefined;
  void host.warm(); // opens a shell for the command meanwhile
  const trial = await views.mounts({}).catch((error: unknown) => error);
  if (problem !== undefined) return problem;
  const real = found?.field("made");
  if (real !== undefined && real !== folder) {
    await close();
    return prepare(inner, host, options, failed, posix.dirname(posix.dirname(real)));
  }
  if (found === undefined || typeof trial !== "function") {
    await close();
    const tooLarge = whenTooLarge(trial);
    if (tooLarge !== undefined) return tooLarge;
    throw trial;
  }
  const { field, machine } = found;
  const program = field("bwrap") ?? "bwrap";
  const probed: Probed =
    field("works") === undefined
      ? await probe(
          { spawn: (command) => host.start(command) },
          (features) =>
            trialWords(program, folder, bubblewrapWords(features, trial(features), contained(inner.workDir))),
          first,
        )
      : { works: true, features: first };
  const failing = (output: string): Broken => {
    const { reason, fix } = explained(output, machine);
    return broken(host, reason, fix);
  };
  if (!probed.works) {
    await close();
    return failing(probed.output);
  }
  const running: Running = {
    ...{ inner, host, program, env: field("env"), folder, views, features: probed.features },
    failed: (output) => failed(failing(output)),
    left: [],
    unset: 0,
  };
  return {
    works: true,
    missing: [
      ...missingOf(probed.features),
      "Commands have no network: those that need it run outside the sandbox, after approval.",
      "Processes and memory are not limited.",
    ],
    spawn: (command, access) =>
      spawnContained(command, access, running).catch((error: unknown) => {
        const tooLarge = whenTooLarge(error); // it has become so
        if (tooLarge !== undefined) failed(tooLarge);
        throw error;
      }),
    close,
  };
}

/** What the script for preparing has found. */
interface Findings {
  readonly machine: Machine;
  field(name: string): string | undefined;
}

function findingsIn(printed: Buffer): Findings {
  const parts = printed.toString("utf8").split("\0");
  const fields = new Map<string, string>();
  for (let index = 0; index + 1 < parts.length; index += 2) fields.set(parts[index] ?? "", parts[index + 1] ?? "");
  const field = (name: string) => fields.get(name);
  return {
    field,
    machine: {
      platform: "linux",
      isRemote: true,
      isContainer: fields.has("container"),
      setting: (name) => field(name) ?? "",
    },
  };
}

function problemOf({ field }: Findings, host: RemoteHost, folder: string): Broken | undefined {
  if (field("bwrap") === undefined) {
    const { reason, fix } = NOT_INSTALLED;
    return broken(host, reason, field("container") === undefined ? fix : `${fix} ${IN_CONTAINER}`);
  }
  const missing = ["find", "cmp", "timeout"].filter((program) => field(program) === undefined);
  if (missing.length > 0)
    return broken(host, `It has no ${missing.join(" and no ")}.`, "Install findutils, diffutils and coreutils.");
  return field("made") === undefined
    ? broken(host, `The folder ${folder} could not be created.`, "Make the home writable.")
    : undefined;
}

/** What a sandbox in a container needs besides. */
const IN_CONTAINER = `A container of Docker must also be started with --security-opt seccomp=unconfined. ${THROW_AWAY}`;

/** Bytes as a format of printf(1). */
function escaped(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

/** Facts of a sandbox in which everything is read-only. */
const NOTHING: Facts = {
  ...{ writable: [], readOnly: [], hidden: [], reopened: [], sockets: [], temporary: [], emptied: [], given: [] },
  settings: [],
  ownProcesses: true,
};

export function broken({ place }: Pick<RemoteHost, "place">, reason: string, fix: string): Broken {
  return { works: false, reason: `On ${place}: ${reason}`, fix };
}

function trialWords(program: string, folder: string, words: readonly string[]): readonly string[] {
  const open = `exec ${DESCRIPTORS.filter}<"$1" ${DESCRIPTORS.status}>/dev/null; shift; exec "$@"`;
  return ["/bin/sh", "-c", open, "sh", `${folder}/filter`, program, ...words, "--", "/bin/sh", "-c", ":"];
}
