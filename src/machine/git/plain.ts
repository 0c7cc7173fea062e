import { join } from "node:path";

/** Variables with which git obeys neither the person's nor the system's configuration and attributes (git(1)). */
export const OWN_CONFIGURATION_ONLY = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
} as const;

/** The variables and arguments with which git starts nothing while it reads. */
export interface PlainGit {
  readonly env: { readonly [name: string]: string };
  readonly options: readonly string[];
}

/**
 * Returns how git reads a repository whose configuration is inert (`unknownSetting`). git obeys no other configuration:
 * otherwise the workspace's attributes could start one of the person's filters. Only the default list of ignored files
 * is kept. Pure.
 */
export function plainGit(workDir: string, home: string): PlainGit {
  const settings = [
    // An empty file system monitor or filter means none in every version of git.
    ...["core.fsmonitor=", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "log.showSignature=false"],
    ...["diff.autoRefreshIndex=false", "filter.lfs.clean=", "filter.lfs.process=", "filter.lfs.required=false"],
    `core.excludesFile=${join(home, ".config/git/ignore")}`,
  ];
  return {
    env: {
      ...OWN_CONFIGURATION_ONLY,
      ...{ HOME: "/dev/null", XDG_CONFIG_HOME: "" }, // git before 2.32 does not know GIT_CONFIG_GLOBAL
      ...{ GIT_DIR: join(workDir, ".git"), GIT_WORK_TREE: workDir },
      ...{ GIT_OPTIONAL_LOCKS: "0", GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "none" },
    },
    options: ["--no-pager", ...settings.flatMap((each) => ["-c", each])],
  };
}
