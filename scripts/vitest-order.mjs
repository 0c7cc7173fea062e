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
  "test/policy/commands/regimes",
  "test/sandbox/suite",
  "test/backends/suite-",
  "test/cli/",
  "test/backends/faults-",
  "test/backends/tmux-",
  "test/tools/files-crash",
  "test/backends/",
  "test/sandbox/",
  "test/tools/find",
  "test/tools/grep",
  "test/policy/oracle",
  "test/mcp/",
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
