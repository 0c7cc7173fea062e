/**
 * Checks the imports of src, page and test/suites against .dependency-cruiser.mjs (`npm run check -- layers`).
 *
 * In:  src, page, test/suites.
 * Out: on stdout how much was read, or each wrong import with its rule and the reason. Exit code 1 for wrong imports,
 *      and when not all of them could be read.
 */
import { cruiseSources } from "./lib/cruise.mjs";

const { modules, summary } = await cruiseSources();
for (const violation of summary.violations) process.stdout.write(`${describe(violation)}\n`);
const own = modules.filter(({ source }) => /^(?:src|page)\//.test(source)).length;
process.stdout.write(
  `${own} files, ${summary.totalDependenciesCruised ?? 0} imports, ${summary.violations.length} wrong\n`,
);
process.exitCode = summary.violations.length > 0 ? 1 : 0;

/** @param {import("dependency-cruiser").IViolation} violation */
function describe({ rule, type, from, to, cycle, comment }) {
  const where =
    type === "module" || type === "reachability"
      ? to
      : [from, ...(cycle?.map(({ name }) => name) ?? [to])].join(" -> ");
  return `${rule.name}: ${where}${comment ? `\n  ${comment}` : ""}`;
}
