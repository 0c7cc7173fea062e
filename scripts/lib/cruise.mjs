/**
 * Reads every import of src, page and test/suites with dependency-cruiser and checks it against the rules.
 *
 * In:  .dependency-cruiser.mjs of this project, and these folders of any checkout.
 * Out: the modules and their violations.
 */
import { join } from "node:path";
import { cruise } from "dependency-cruiser";
import extractOptions from "dependency-cruiser/config-utl/extract-depcruise-options";
import { filesIn } from "./digest.mjs";
import { SOURCE_FOLDERS, projectRoot } from "./project.mjs";

/**
 * Throws when dependency-cruiser has read fewer files than exist: "no violations" would then mean nothing.
 *
 * @param {string} [root] the checkout whose sources are read
 */
export async function cruiseSources(root = projectRoot) {
  const options = await extractOptions(join(projectRoot, ".dependency-cruiser.mjs"));
  const { output } = await cruise(SOURCE_FOLDERS, { ...options, baseDir: root });
  if (typeof output === "string") throw new Error(`dependency-cruiser: expected a result, got text: ${output}`);
  requireAllRead(
    root,
    output.modules.map(({ source }) => source),
  );
  return output;
}

/**
 * @param {string} root
 * @param {readonly string[]} read
 */
function requireAllRead(root, read) {
  const sources = SOURCE_FOLDERS.flatMap((folder) => filesIn(root, folder)).filter(
    (file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"),
  );
  const unread = sources.filter((file) => !read.includes(file));
  if (sources.length > 0 && unread.length === 0) return;
  throw new Error(
    `dependency-cruiser read ${sources.length - unread.length} of the ${sources.length} source files. ` +
      `Is TypeScript below 7 installed? Not read: ${unread.slice(0, 5).join(", ")}`,
  );
}
