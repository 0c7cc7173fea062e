/**
 * Writes the wings of src and their levels into docs/architecture.md (`npm run docs:layers`). With --check, reports
 * whether that part is stale.
 *
 * In:  scripts/lib/layers.mjs (the wings and their order) and the current imports of src.
 * Out: the part of docs/architecture.md between the two markers: a Mermaid diagram of the levels, and a table of what
 *      each part contains and imports. A file without markers gets them at its end.
 *      --check changes nothing; exit code 1 when the file is stale.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cruiseSources } from "./lib/cruise.mjs";
import { LEVELS, parts } from "./lib/layers.mjs";
import { projectRoot } from "./lib/project.mjs";

const START = "<!-- layers: written by `npm run docs:layers` -->";
const END = "<!-- end of layers -->";

const file = join(projectRoot, "docs", "architecture.md");
const before = existsSync(file) ? readFileSync(file, "utf8") : "# Architecture\n";
const after = withDrawing(before, drawing(await importsByPart()));

if (before === after) {
  process.stdout.write("docs/architecture.md shows the wings and imports of src as they are\n");
} else if (process.argv.includes("--check")) {
  process.stdout.write(
    "docs/architecture.md does not show the wings and imports of src as they are: npm run docs:layers\n",
  );
  process.exitCode = 1;
} else {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, after);
  process.stdout.write("docs/architecture.md: layers written\n");
}

/**
 * Returns the other parts that each part imports.
 *
 * @returns {Promise<Map<string, Set<string>>>}
 */
async function importsByPart() {
  const partOf = (/** @type {string} */ path) => parts().find(({ paths }) => paths.test(path))?.name;
  const { modules } = await cruiseSources();
  const imports = new Map();
  for (const { source, dependencies } of modules) {
    const part = partOf(source);
    if (!part) continue;
    const others = imports.get(part) ?? new Set();
    imports.set(part, others);
    for (const { resolved } of dependencies) {
      const other = partOf(resolved);
      if (other && other !== part) others.add(other);
    }
  }
  return imports;
}

/** @param {Map<string, Set<string>>} imports */
function drawing(imports) {
  const listed = parts().filter(({ name }) => imports.has(name));
  const rows = listed.map(({ name, holds }) => {
    const imported = listed.filter((other) => imports.get(name)?.has(other.name));
    return `| \`${name}\` | ${holds} | ${imported.map((other) => `\`${other.name}\``).join(" ") || "–"} |`;
  });
  return [...picture(LEVELS), "", "| Part | Holds | Imports |", "| --- | --- | --- |", ...rows].join("\n");
}

/**
 * Draws one box per level. An arrow points at a level that may be imported, which includes all levels below it.
 *
 * @param {readonly (readonly import("./lib/layers.mjs").Wing[])[]} levels lowest first
 */
function picture(levels) {
  const boxes = levels.map((wings, level) => `  level${level}["${wings.map(({ name }) => name).join(" · ")}"]`);
  const arrows = levels.slice(1).map((_, below) => `  level${below + 1} --> level${below}`);
  return ["```mermaid", "flowchart TB", ...boxes.toReversed(), ...arrows.toReversed(), "```"];
}

/**
 * @param {string} text
 * @param {string} drawn
 */
function withDrawing(text, drawn) {
  const start = text.indexOf(START);
  const end = text.indexOf(END);
  const block = `${START}\n\n${drawn}\n\n${END}`;
  if (start === -1 || end < start) return `${text.trimEnd()}\n\n${block}\n`;
  return text.slice(0, start) + block + text.slice(end + END.length);
}
