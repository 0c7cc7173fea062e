import type { Env } from "../../contract/effect.ts";

// What a command needs to work, and nothing that could contain a secret or change how programs load. Other variables
// of this process are not passed on.
const PASSED = ["PATH", "HOME", "TERM", "LANG", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ"];

const FALLBACK_FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"] as const;

/** A command runs without a person: a pager would wait for keys, and git for a password. A call may override these. */
export const UNATTENDED: Env = { PAGER: "cat", GIT_PAGER: "cat", MANPAGER: "cat", GIT_TERMINAL_PROMPT: "0" };

/** The environment of a command: the allowed variables of `from`, those named in `pass`, and `added`. */
export function commandEnvironment(from: NodeJS.ProcessEnv, pass: readonly string[], added: Env): Env {
  const kept: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(from)) {
    if (value === undefined) continue;
    if (PASSED.includes(name) || name.startsWith("LC_") || pass.includes(name)) kept[name] = value;
  }
  return { ...UNATTENDED, ...kept, PATH: programFolders(kept).join(":"), ...added };
}

/** The folders of a command's PATH, without relative ones, which depend on the working directory. */
export function programFolders({ PATH = "" }: NodeJS.ProcessEnv): readonly string[] {
  const folders = PATH.split(":").filter((folder) => folder.startsWith("/"));
  return folders.length === 0 ? FALLBACK_FOLDERS : folders;
}
