import { isAbsolute, relative } from "node:path";
import type { Exit } from "../../../core/contract/backend.ts";
import type { Refusal } from "../../../core/contract/containment.ts";
import { isInside } from "../../../core/util/paths.ts";
import { either } from "../../../core/util/text.ts";
import type { Unread } from "../mounts/protected.ts";

/** Names of system calls and programs that the filter refuses, or that need privileges. */
const PRIVILEGED = either(
  "",
  /\bp?trace|PTRACE_\w+|unshare|setns|namespace|^mount|keyctl|add_key|\bbpf/,
  /perf_event_open|io_uring|userfaultfd|pivot_root/,
);

/** Phrases with which programs report the sandbox's restrictions. No path or host is read from them. */
const PHRASES = {
  write: /read-only file system|device or resource busy|\bEROFS\b/i,
  network: either(
    "i",
    /could(?: not|n't) resolve host|unable to resolve host|(?:in|failure) (?:name resolution|resolving)|unknown ?host/,
    /name or service not known|network is unreachable|failed to lookup address|no address associated/,
    /\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b/,
  ),
  temporary: /\/tmp\/.{0,300}no such file|(?:no such file|cannot find module).{0,80}\/tmp\//i,
  signing: /gpg failed to sign the data|signing failed:|couldn't (?:find|load|sign).{0,40}key|No private key found/i,
  "system-call": either(
    "im",
    /bad system call|\bSIGSYS\b|type=(?:1326|SECCOMP)|no permissions to create new namespace/,
    new RegExp(`(?:${PRIVILEGED.source})\\b.{0,80}(?:not permitted|not implemented|permission denied|superuser)`),
  ),
} as const;

const PROCESSES = either(
  "i",
  /(?:fork|clone|spawn|thread)\b.{0,80}(?:resource temporarily unavailable|errno=11|WouldBlock|EAGAIN)/,
  /cannot fork\b|can't start new thread|unable to create (?:new )?native thread/,
);

const DENIED = /permission denied|no such file or directory|cannot find module|\bE(?:ACCES|NOENT)\b/i;

/** Only the end of the output and the beginning of each line are read: this many characters, characters and lines. */
const MAX_OUTPUT = 65_536;
const MAX_LINE = 2_000;
const MAX_LINES = 300;

export interface FailedCommand {
  readonly exit: Exit;
  /** The end of its output. */
  readonly output: string;
  /** Real paths that the sandbox hides. */
  readonly hidden: readonly string[];
  /** Folders that are read-only or hidden because they have not been searched. */
  readonly unread?: Unread | undefined;
  readonly cwd: string;
  readonly home: string;
}

/**
 * Returns what the sandbox probably refused a failed command: each kind of phrase in its output once, each hidden path
 * that the output reports as missing or denied, and the unread folders in which it could not write (all, where the
 * output does not tell). Empty for exit code 0. Never throws.
 */
export function refusalsIn({ exit, output, hidden, unread, cwd, home }: FailedCommand): readonly Refusal[] {
  if (exit.how === "exited" && exit.code === 0) return [];
  const lines = output
    .slice(-MAX_OUTPUT)
    .split(/[\r\n]+/)
    .slice(-MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE));
  const has = (phrase: RegExp) => lines.some((line) => phrase.test(line));
  const denied = lines.filter((line) => DENIED.test(line));
  const namedIn = (some: readonly string[]) => (path: string) => {
    const spellings = [path, ...below(path, home).map((rest) => `~/${rest}`), ...below(path, cwd)];
    return some.some((line) => spellings.some((spelling) => line.includes(spelling)));
  };
  const { folders, isGoingOn }: Pick<Unread, "folders" | "isGoingOn"> = unread ?? { folders: [], isGoingOn: false };
  const unwritten = lines.filter((line) => PHRASES.write.test(line));
  const meant = folders.filter(
    (path) =>
      (unwritten.length > 0 && (isInside(cwd, path) || namedIn(unwritten)(path))) ||
      (hidden.includes(path) && namedIn(denied)(path)),
  );
  const unsearched = meant.length === 0 && unwritten.length > 0 ? folders : meant;
  const read = hidden.filter((path) => !folders.includes(path) && namedIn(denied)(path));
  return [
    ...read.map((path): Refusal => ({ kind: "read", path })),
    ...unsearched.map((path): Refusal => ({ kind: "unsearched", path, isGoingOn })),
    ...Object.entries(PHRASES).flatMap(([what, phrase]): Refusal[] =>
      has(phrase) && (what !== "write" || meant.length === 0)
        ? [{ kind: "likely", what: what as keyof typeof PHRASES }]
        : [],
    ),
    ...(has(PROCESSES) ? [{ kind: "limit", what: "processes" } as const] : []),
  ];
}

/** The path relative to a folder that contains it; empty if the folder does not. */
function below(path: string, folder: string): readonly string[] {
  const rest = relative(folder, path);
  return rest === "" || rest.startsWith("..") || isAbsolute(rest) ? [] : [rest];
}
