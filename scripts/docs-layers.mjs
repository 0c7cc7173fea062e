/**
 * Writes the folders of src and their levels into docs/architecture.md (`npm run docs:layers`). With --check, reports
 * whether that part is stale.
 *
 * In:  scripts/lib/layers.mjs (the folders and their order) and the current imports of src.
 * Out: the part of docs/architecture.md between the two markers: a Mermaid diagram of the levels, and a table of what
 *      each folder contains and imports. Only existing folders are listed. A file without markers gets them at its end.
 *      --check changes nothing; exit code 1 when the file is stale.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cruiseSources } from "./lib/cruise.mjs";
import { LEVELS, roomOf } from "./lib/layers.mjs";
import { projectRoot } from "./lib/project.mjs";

const START = "<!-- layers: written by `npm run docs:layers` -->";
const END = "<!-- end of layers -->";

const file = join(projectRoot, "docs", "architecture.md");
const before = existsSync(file) ? readFileSync(file, "utf8") : "# Architecture\n";
const after = withDrawing(before, drawing(await importsByRoom()));

if (before === after) {
  process.stdout.write("docs/architecture.md shows the rooms and imports of src as they are\n");
} else if (process.argv.includes("--check")) {
  process.stdout.write(
    "docs/architecture.md does not show the rooms and imports of src as they are: npm run docs:layers\n",
  );
  process.exitCode = 1;
} else {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, after);
  process.stdout.write("docs/architecture.md: layers written\n");
}

/**
 * Returns the other folders that each existing folder imports.
 *
 * @returns {Promise<Map<string, Set<string>>>}
 */
async function importsByRoom() {
  const { modules } = await cruiseSources();
  const imports = new Map();
  for (const { source, dependencies } of modules) {
    const room = roomOf(source);
    if (!room) continue;
    const others = imports.get(room) ?? new Set();
    imports.set(room, others);
    for (const { resolved } of dependencies) {
      const other = roomOf(resolved);
      if (other && other !== room) others.add(other);
    }
  }
  return imports;
}

/** @param {Map<string, Set<string>>} imports */
function drawing(imports) {
  const levels = LEVELS.map((rooms) => rooms.filter(({ name }) => imports.has(name))).filter(
    (rooms) => rooms.length > 0,
  );
  const order = levels.flat().map(({ name }) => name);
  const rows = levels.flat().map(({ name, holds }) => {
    const imported = order.filter((room) => imports.get(name)?.has(room));
    return `| \`${name}\` | ${holds} | ${imported.map((room) => `\`${room}\``).join(" ") || "–"} |`;
  });
  return [...picture(levels), "", "| Room | Holds | Imports |", "| --- | --- | --- |", ...rows].join("\n");
}

/**
 * Draws one box per level. An arrow points at a level that may be imported, which includes all levels below it.
 *
 * @param {readonly (readonly import("./lib/layers.mjs").Room[])[]} levels lowest first
 */
function picture(levels) {
  const boxes = levels.map((rooms, level) => `  level${level}["${rooms.map(({ name }) => name).join(" · ")}"]`);
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
