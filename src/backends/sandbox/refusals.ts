import { resolve } from "node:path";
import type { Exit } from "../../contract/backend.ts";
import type { Refusal } from "../../contract/containment.ts";
import { clip } from "../../util/text.ts";
import { pathsBeside } from "./refusal-paths.ts";
import {
  DISK,
  HOSTS,
  HOSTS_TELLING,
  NETWORK,
  PROCESSES,
  PROXY,
  READ,
  SYSTEM_CALL,
  TELLING,
  WRITE,
} from "./refusal-wordings.ts";

/** Where a command ran, as far as it says what a line of its output means. */
export interface CommandContext {
  readonly exit: Exit;
  /** It had a proxy to the network. */
  readonly networked: boolean;
  /** Whether the sandbox let it write an absolute path. */
  readonly isWritable: (path: string) => boolean;
  /** Whether the sandbox hid an absolute path. */
  readonly isHidden: (path: string) => boolean;
  readonly workDir: string;
  readonly home: string;
}

/** More than this nobody reads. */
const MOST = 10;

/** Of the output the end counts, and of a line the beginning. In characters. */
const LONGEST_OUTPUT = 65_536;
const LONGEST_LINE = 2_000;

/** So many lines that may tell something are looked at, the last ones. */
const MOST_LINES = 300;

/** An error without its path, as Rust's, has it so many lines before at the most. */
const LINES_BEFORE = 4;

/** A resolver that cannot be reached is on the way to the host that is meant. */
const DNS_PORT = "53";

const NO_PROXY_USED = "the program did not go through the sandbox's proxy (HTTPS_PROXY), the only way out";

/**
 * What the sandbox kept a command from, read off its output and its end: each once, the first ten, the more specific in place of the less.
 * Nothing for a command that succeeded, and nothing for what fails outside a sandbox too: a path that it may write, a server of this
 * machine that does not answer. Memory is not told here: only the limits know whether it was theirs. Never throws; linear in the output.
 */
export function refusalsIn(output: string, at: CommandContext): readonly Refusal[] {
  if (at.exit.how === "exited" && at.exit.code === 0) return [];
  const lines = output
    .slice(-LONGEST_OUTPUT)
    .replaceAll(/\x1b\[[\d;]{0,20}[A-Za-z]/g, "")
    .split(/[\r\n]+/);
  const telling = lines.flatMap((line, index) => (TELLING.test(line) ? [index] : [])).slice(-MOST_LINES);
  const read = pathReader(lines, at);
  const found = telling.flatMap((index) => {
    const line = (lines[index] ?? "").slice(0, LONGEST_LINE);
    return [...read(line, index), ...hostsIn(line, at.networked), ...othersIn(line)];
  });
  const isKilled =
    at.exit.how === "signaled" ? at.exit.signal === "SIGSYS" : at.exit.how === "exited" && at.exit.code === 159;
  if (isKilled && !found.some(({ kind }) => kind === "system-call")) {
    found.push({ kind: "system-call", what: "Bad system call (SIGSYS)" });
  }
  return mostSpecific(found);
}

/** Each refusal once, at most ten: a host with its port in place of the bare name, any host in place of the network as such. */
export function mostSpecific(refusals: readonly Refusal[]): readonly Refusal[] {
  const hosts = new Set(refusals.flatMap((each) => (each.kind === "host" ? [each.host] : [])));
  const named = new Set(
    [...hosts]
      .map(withoutPort)
      .filter((name) => !hosts.has(name) || [...hosts].some((host) => host.startsWith(`${name}:`))),
  );
  const kept = new Map<string, Refusal>();
  for (const each of refusals) {
    if (each.kind === "network" && hosts.size > 0) continue;
    if (each.kind === "host" && withoutPort(each.host) === each.host && named.has(each.host)) continue;
    const key = keyOf(each);
    if (!kept.has(key)) kept.set(key, each);
  }
  return [...kept.values()].slice(0, MOST);
}

function keyOf(refusal: Refusal): string {
  switch (refusal.kind) {
    case "write":
    case "read":
    case "held-back":
      return `${refusal.kind} ${refusal.path}`;
    case "host":
      return `host ${refusal.host}`;
    case "limit":
      return `limit ${refusal.what}`;
    case "network":
    case "system-call":
      return refusal.kind;
  }
}

/** Reads paths that could not be written, or are hidden. What is asked of the sandbox is asked once a path, and not without end. */
function pathReader(lines: readonly string[], { isWritable, isHidden, workDir, home }: CommandContext) {
  const known = new Map<string, { readonly writable: boolean; readonly hidden: boolean }>();
  const about = (path: string) => {
    const before = known.get(path);
    if (before !== undefined) return before;
    if (known.size >= 500) return { writable: true, hidden: false };
    const now = { writable: isWritable(path), hidden: isHidden(path) };
    known.set(path, now);
    return now;
  };
  const absolute = (path: string) => resolve(workDir, path.replace(/^~(?=\/|$)/, home)).replaceAll("\0", "");
  const beside = (line: string, match: RegExpExecArray) =>
    pathsBeside(line, match.index, match.index + match[0].length)
      .slice(0, 8)
      .map(absolute);

  return (line: string, index: number): readonly Refusal[] => {
    const denied = READ.pattern.exec(line);
    const hidden = denied === null ? undefined : beside(line, denied).find((path) => about(path).hidden);
    if (hidden !== undefined) return [{ kind: "read", path: hidden }];
    const readOnly = WRITE.pattern.exec(line);
    if (readOnly === null) return [];
    const here = beside(line, readOnly);
    const candidates =
      here.length > 0
        ? here
        : lines
            .slice(Math.max(0, index - LINES_BEFORE), index)
            .toReversed()
            .flatMap(endPaths)
            .map(absolute);
    const path = candidates.find((each) => !about(each).writable);
    return path === undefined ? [] : [{ kind: "write", path }];
  };
}

function endPaths(line: string): readonly string[] {
  const end = Math.min(line.length, LONGEST_LINE);
  return pathsBeside(line, end, end).slice(0, 8);
}

function hostsIn(line: string, networked: boolean): readonly Refusal[] {
  const isProxys = networked && PROXY.pattern.test(line);
  const network = NETWORK.pattern.exec(line);
  if (network === null && !isProxys && !HOSTS_TELLING.test(line)) return [];
  const hosts = HOSTS.flatMap(({ pattern }) =>
    [...line.matchAll(pattern)].slice(0, MOST).map(([, host = "", port]) => ({ host, port })),
  ).filter(({ host, port }) => /[.:]|^localhost$/.test(host) && port !== DNS_PORT);
  // A pool's name alone says nothing of why it failed.
  if (
    !isProxys &&
    network === null &&
    hosts.every(({ port }) => port !== undefined) &&
    !/connect to server/i.test(line)
  )
    return [];
  if (hosts.length === 0 && network !== null) hosts.push(...hostBefore(line, network.index));
  if (hosts.length === 0 && (network !== null || isProxys)) hosts.push(...urlsIn(line));
  const outside = hosts.filter(({ host }) => !isHere(host));
  if (outside.length === 0) return hosts.length === 0 && (network !== null || isProxys) ? [{ kind: "network" }] : [];
  return outside.map(({ host, port }) => ({
    kind: "host",
    host: `${host.replace(/\.$/, "").toLowerCase()}${port === undefined ? "" : `:${port}`}`,
    ...(networked && !isProxys && { reason: NO_PROXY_USED }),
  }));
}

type Named = { readonly host: string; readonly port: string | undefined };

/** "ping: registry.example.org: Temporary failure …". */
function hostBefore(line: string, index: number): readonly Named[] {
  const word =
    line
      .slice(Math.max(0, index - 260), index)
      .trimEnd()
      .split(/[\s'"‘(]/)
      .at(-1) ?? "";
  const host = /^([\w-]{1,63}(?:\.[\w-]{1,63}){1,20}):$/.exec(word)?.[1];
  return host === undefined || /\.\w*(?:error|exception)$/i.test(host) || host === "socket.gaierror"
    ? []
    : [{ host, port: undefined }];
}

function urlsIn(line: string): readonly Named[] {
  return [...line.matchAll(/\b(https?):\/\/(?:[^\s@/'"]{1,100}@)?([\w][\w.-]{0,252})(?::(\d{1,5}))?/g)]
    .slice(0, MOST)
    .map(([, scheme, host = "", port]) => ({ host, port: port ?? (scheme === "https" ? "443" : "80") }));
}

/** This machine, or nobody at all (RFC 6761). */
function isHere(host: string): boolean {
  return /^(?:(?:.*\.)?localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|::1?|.*\.invalid)\.?$/i.test(host);
}

function othersIn(line: string): readonly Refusal[] {
  if (SYSTEM_CALL.pattern.test(line)) return [{ kind: "system-call", what: clip(line.trim(), 200) }];
  if (PROCESSES.pattern.test(line)) return [{ kind: "limit", what: "processes" }];
  return DISK.pattern.test(line) ? [{ kind: "limit", what: "disk" }] : [];
}

function withoutPort(host: string): string {
  return /^[^:]+:\d+$/.test(host) ? host.slice(0, host.indexOf(":")) : host;
}
