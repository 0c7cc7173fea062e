import type { Backend } from "../../core/contract/backend.ts";
import { withFiles } from "../../machine/git/reader.ts";
import { transferDigest } from "../../machine/git/transfer.ts";
import type { FoundProgram } from "../plain/finder.ts";
import type { FoundCommand } from "./search.ts";

/**
 * Commands whose meaning no file of the workspace decides: they read no settings and no program from it. Outside the
 * sandbox, only these are granted for longer than a session. An entry has programs, and what their words may be.
 */
const FIXED: readonly (readonly [programs: RegExp, words: RegExp])[] = [
  [/^(ps|pgrep|top|uptime|free|lsof|ss|netstat|who|w|last|ip|ifconfig|dmesg|journalctl)$/, /^/],
  [/^(ping|dig|host|nslookup|traceroute|whois)$/, /^(?!.* -f)/s],
  [/^systemctl$/, /^( --user)? (status|is-active|is-enabled|show|list-units|list-timers)( |$)/],
  [/^(docker|podman|nerdctl)$/, /^ (ps|images|version|info|stats|logs|inspect|pull|stop)( |$)/],
  [/^curl$/, /^( -[sSfLIvi]+)* https?:\/\/\S+$/],
  [/^mkdir$/, /^/],
];

/** `git push` and `git fetch` of a remote by its name, without helper or path, that remove and overwrite nothing. */
const TRANSFER = new RegExp(
  "^(?: (?:push(?: (?:-[uvqn]|--(?:set-upstream|tags|follow-tags|atomic|dry-run|verbose|quiet|porcelain)))*" +
    "|fetch(?: (?:-[vqptn]|--(?:all|tags|no-tags|prune|dry-run|verbose|quiet|unshallow|depth=\\d+)))*))" +
    "(?: ([A-Za-z]\\w*)(?: \\w[\\w./@-]*(?::\\w[\\w./@-]*)?)*)?$",
);

export interface FixedOptions {
  readonly find: (name: string) => Promise<FoundProgram | string>;
  /** Whether every folder of the PATH is closed to writes of tools. */
  readonly isPathTrusted: () => Promise<boolean>;
  /** The folder in which the command runs; `undefined`: known only when it runs. */
  readonly folder: string | undefined;
  /** Folders that tools may write. */
  readonly writable: readonly string[];
  readonly backend: Backend;
}

/**
 * Returns what a grant of the command is bound to, besides its words. "" means nothing else: no file of the workspace
 * decides what the command does or which program runs. `git push` and `git fetch` are bound to what git obeys.
 * `undefined`: files of the workspace decide.
 */
export async function fixedBy({ words, assigns }: FoundCommand, options: FixedOptions): Promise<string | undefined> {
  const { find, folder, backend, writable } = options;
  const [name, ...others] = words.flatMap(({ value }) => value ?? []);
  if (name === undefined || others.length + 1 < words.length || assigns.length > 0) return undefined;
  const text = others.map((word) => ` ${word}`).join("");
  if (FIXED.some(([programs, given]) => programs.test(name) && given.test(text)))
    return typeof (await find(name)) === "string" ? undefined : "";
  const transfer = name === "git" ? TRANSFER.exec(text) : null;
  if (transfer === null || folder === undefined || typeof (await find(name)) === "string") return undefined;
  if (!(await options.isPathTrusted())) return undefined; // git finds ssh and credential helpers on the PATH
  const given = { folder, remote: transfer[1], writable, home: backend.home };
  return withFiles(backend.outside ?? backend.files, (reader) => transferDigest(reader, given));
}
