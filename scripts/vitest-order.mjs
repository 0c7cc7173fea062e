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
  "test/sandbox/projects",
  "test/sandbox/git-attacks",
  "test/tools/grep",
  "test/tools/find",
  "test/sandbox/suite",
  "test/sandbox/escapes-processes",
  "test/sandbox/git-state",
  "test/backends/suite-",
  "test/cli/",
  "test/backends/faults-",
  "test/backends/tmux-",
  "test/backends/",
  "test/mcp/",
  "test/sandbox/",
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
