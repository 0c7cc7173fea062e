import type { Env } from "../../contract/effect.ts";

// What a command needs to work, and nothing that could hold a secret or change how programs load (seed 003, notes on the
// environment). Everything else of our own environment stays here.
const PASSED = ["PATH", "HOME", "TERM", "LANG", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ"];

const FALLBACK_FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"] as const;

/** Nobody sits in front of a command: a pager would wait for keys, and git for a password. Who wants others passes their own. */
export const UNATTENDED: Env = { PAGER: "cat", GIT_PAGER: "cat", MANPAGER: "cat", GIT_TERMINAL_PROMPT: "0" };

/** The environment a command gets: the allowed variables of `from`, the names in `pass`, and what the command adds. */
export function commandEnvironment(from: NodeJS.ProcessEnv, pass: readonly string[], added: Env): Env {
  const kept: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(from)) {
    if (value === undefined) continue;
    if (PASSED.includes(name) || name.startsWith("LC_") || pass.includes(name)) kept[name] = value;
  }
  return { ...UNATTENDED, ...kept, PATH: programFolders(kept).join(":"), ...added };
}

/** The folders of a command's PATH. A relative or empty one would run programs of whatever folder the command runs in. */
export function programFolders({ PATH = "" }: NodeJS.ProcessEnv): readonly string[] {
  const folders = PATH.split(":").filter((folder) => folder.startsWith("/"));
  return folders.length === 0 ? FALLBACK_FOLDERS : folders;
}
