import type { Env } from "../../contract/effect.ts";

// What a repository's own configuration would run while git only looks (git-config(1)): hooks, a file system monitor, pagers. What
// cannot be turned off from outside (external diff, textconv, filters) is looked for instead: see repository.ts.
const GIT_CONFIG: readonly (readonly [key: string, value: string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["log.showSignature", "false"],
];

/**
 * Added to the environment of commands that run unasked because they only look, so that looking starts nothing. Commands that a person
 * let through keep their hooks.
 */
export const LOOKING_ENVIRONMENT: Env = {
  GIT_CONFIG_COUNT: String(GIT_CONFIG.length),
  ...Object.fromEntries(
    GIT_CONFIG.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
};
