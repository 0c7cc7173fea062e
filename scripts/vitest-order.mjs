/**
 * The order in which vitest starts test files: the longest first, so that none of them is left running alone at the end.
 *
 * Vitest knows how long they take only where they have been run before. Without that it begins with the largest files.
 */
import { BaseSequencer } from "vitest/node";

/** What takes longest, mostly because it waits for programs; a folder stands for all in it. What is not listed comes after these. */
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
