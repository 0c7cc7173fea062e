import { existsSync, realpathSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { absolutePath, type Base, isInside } from "../../util/paths.ts";

/** How a path is hidden: "closed" may not even be looked into and says so; "emptied" looks like a folder with nothing in it. */
export interface Hidden {
  /** Real. */
  readonly path: string;
  readonly as: "closed" | "emptied";
}

/** Where programs keep keys, passwords and sessions in a home; and histories, which hold what people typed. */
const SECRETS = [
  "~/.ssh",
  "~/.gnupg",
  "~/.aws",
  "~/.azure",
  "~/.oci",
  "~/.kube",
  "~/.docker",
  "~/.netrc",
  "~/.git-credentials",
  "~/.npmrc",
  "~/.yarnrc",
  "~/.yarnrc.yml",
  "~/.pypirc",
  "~/.pip",
  "~/.pgpass",
  "~/.my.cnf",
  "~/.mylogin.cnf",
  "~/.s3cfg",
  "~/.boto",
  "~/.rclone.conf",
  "~/.databrickscfg",
  "~/.vault-token",
  "~/.terraformrc",
  "~/.terraform.d",
  "~/.cargo/credentials",
  "~/.cargo/credentials.toml",
  "~/.gem/credentials",
  "~/.bundle/config",
  "~/.composer/auth.json",
  "~/.m2/settings.xml",
  "~/.m2/settings-security.xml",
  "~/.gradle/gradle.properties",
  "~/.nuget/NuGet",
  "~/.password-store",
  "~/.local/share/keyrings",
  "~/.local/share/kwalletd",
  "~/.local/share/pki",
  "~/.pki",
  "~/.mozilla",
  "~/.thunderbird",
  "~/.claude",
  "~/.claude.json",
  "~/.codex",
  "~/.gemini",
  "~/.cursor",
  "~/.bash_history",
  "~/.zsh_history",
  "~/.python_history",
  "~/.node_repl_history",
  "~/.psql_history",
  "~/.mysql_history",
  "~/.sqlite_history",
  "~/.rediscli_history",
  "~/.lesshst",
] as const;

/** What root alone may read of the system. */
const SYSTEM_SECRETS = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/sudoers.d",
  "/etc/ssl/private",
  "/etc/ssh/ssh_host_rsa_key",
  "/etc/ssh/ssh_host_dsa_key",
  "/etc/ssh/ssh_host_ecdsa_key",
  "/etc/ssh/ssh_host_ed25519_key",
] as const;

/** Programs that find nothing of theirs there go on without; those that may not look fail. */
const EMPTIED = ["~/.config"] as const;

/** What of an emptied folder can be read all the same. */
const REOPENED = ["~/.config/git"] as const;

/** And what of that cannot. */
const CLOSED_AGAIN = ["~/.config/git/credentials"] as const;

export interface Homes extends Base {
  /** Real. The home of the account, where `home` is another (HOME says so). */
  readonly accountHome?: string;
}

export interface HiddenPaths {
  readonly hidden: readonly Hidden[];
  readonly reopened: readonly string[];
}

/**
 * What contained commands do not see, as it really is now: a link that leads elsewhere hides what it leads to. What is missing keeps its name,
 * or with `existing` is left out.
 */
export function hiddenPaths(more: readonly string[], base: Homes, which: "all" | "existing"): HiddenPaths {
  const homes = [...new Set([base.home, base.accountHome ?? base.home])];
  const wanted = (path: string) => which === "all" || existsSync(path);
  const realPaths = (paths: readonly string[]) => [
    ...new Set(
      homes
        .flatMap((home) => paths.map((path) => absolutePath(path, { ...base, home })))
        .filter(wanted)
        .map(realOf),
    ),
  ];
  const emptied = realPaths(EMPTIED);
  const closed = realPaths([...SECRETS, ...SYSTEM_SECRETS, ...CLOSED_AGAIN, ...more]).filter(
    (path) => !emptied.includes(path), // as forbidden as the rest; git warns about what it may not look into
  );
  const hidden: readonly Hidden[] = [
    ...emptied.map((path): Hidden => ({ path, as: "emptied" })),
    ...closed.map((path): Hidden => ({ path, as: "closed" })),
  ];
  return {
    // Who works in a folder of secrets sees it; nobody can hide the whole machine.
    hidden: hidden.filter(({ path }) => path !== "/" && path !== base.workDir && path !== base.home),
    // A link out of there opens nothing.
    reopened: realPaths(REOPENED).filter((path) => emptied.some((folder) => isInside(path, folder))),
  };
}

/**
 * What holds the secret of a sensitive path whose folder is real: the file or folder itself, or the file that a link leads to. Nothing for links
 * to folders: they could hide all of the workspace.
 */
export function secretAt(path: string): string | undefined {
  try {
    const real = realpathSync.native(path);
    const info = statSync(real);
    return info.isFile() || (info.isDirectory() && real === path) ? real : undefined;
  } catch {
    return undefined; // gone, or a link that leads nowhere
  }
}

/** The home that the password database has for this account, whatever HOME says; `undefined` where it has none. */
export function accountHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined; // an account without an entry
  }
}

/** The path with its links followed; where there is nothing, as far as there is. */
export function realOf(path: string): string {
  const parts: string[] = [];
  for (let at = path; ;) {
    try {
      const real = realpathSync.native(at);
      return parts.length === 0 ? real : `${real === "/" ? "" : real}/${parts.join("/")}`;
    } catch {
      const cut = at.lastIndexOf("/");
      if (cut < 0) return path;
      parts.unshift(at.slice(cut + 1));
      at = cut === 0 ? "/" : at.slice(0, cut);
    }
  }
}
