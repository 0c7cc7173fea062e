/**
 * The order in which vitest starts test files: the longest first, so that none runs alone at the end.
 *
 * Vitest knows the durations only after a first run. Before that, it starts with the largest files.
 */
import { BaseSequencer } from "vitest/node";

/**
 * The slowest tests, mostly because they wait for programs. A folder includes all its files. Other files come after
 * these.
 */
const LONGEST = [
  "test/machine/sandbox/projects",
  "test/machine/sandbox/git-attacks",
  "test/tools/grep",
  "test/tools/find",
  "test/machine/sandbox/suite",
  "test/machine/sandbox/escapes-processes",
  "test/machine/sandbox/git-state",
  "test/machine/suite-",
  "test/cli/",
  "test/machine/faults-",
  "test/machine/tmux-",
  "test/machine/",
  "test/connect/mcp/",
  "test/machine/sandbox/",
  "test/tools/files-crash",
  "test/agent/parked-kills",
  "test/policy/",
  "test/checks/",
];

export class LongestFirst extends BaseSequencer {
  /**
   * @override
   * @param {import("vitest/node").TestSpecification[]} files
   */
  async sort(files) {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

/** @param {import("vitest/node").TestSpecification} file */
function rank({ moduleId }) {
  const index = LONGEST.findIndex((part) => moduleId.includes(`/${part}`));
  return index < 0 ? LONGEST.length : index;
}
