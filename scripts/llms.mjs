/**
 * Writes llms.txt (https://llmstxt.org), the list of the docs for language models (`npm run docs:llms`). With --check,
 * reports whether it is stale.
 *
 * In:  docs/README.md, the list of the pages in reading order, and the first sentence of each page.
 * Out: llms.txt: the sections of the list, a line for each page. Exit code 1 when a page of docs/ is in no section, and
 *      with --check when the file is stale.
 */
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { projectRoot, readManifest } from "./lib/project.mjs";

const file = join(projectRoot, "llms.txt");
const index = readFileSync(join(projectRoot, "docs", "README.md"), "utf8");
const [, ...sections] = index.split(/^## /m);

/** The pages that have their line. @type {Set<string>} */
const listed = new Set(["docs/README.md"]);
const written = `# Handrail

> ${readManifest().description}

${sections.map(sectionOf).join("\n\n")}
`;

const missing = readdirSync(join(projectRoot, "docs"))
  .map((name) => `docs/${name}`)
  .filter((page) => page.endsWith(".md") && !listed.has(page));
if (missing.length > 0) {
  process.stdout.write(`docs/README.md does not lead to ${missing.join(", ")}: add a line for it\n`);
  process.exitCode = 1;
} else if (existsSync(file) && readFileSync(file, "utf8") === written) {
  process.stdout.write("llms.txt lists the docs as they are\n");
} else if (process.argv.includes("--check")) {
  process.stdout.write("llms.txt does not list the docs as they are: npm run docs:llms\n");
  process.exitCode = 1;
} else {
  writeFileSync(file, written);
  process.stdout.write(`llms.txt: ${listed.size} pages written\n`);
}

/**
 * Returns a section of the list with a line for each page that was not listed before.
 *
 * @param {string} text "Start\n\n- [Start here](start.md): …"
 */
function sectionOf(text) {
  const [title = ""] = text.split("\n", 1);
  const lines = [...text.matchAll(/\]\(([\w./-]+\.md)\b/g)].flatMap(([, link = ""]) => {
    const page = posix.join("docs", link);
    if (listed.has(page)) return [];
    listed.add(page);
    return [lineOf(page)];
  });
  return [`## ${title}`, lines.join("\n")].join("\n\n");
}

/** @param {string} page "docs/start.md" */
function lineOf(page) {
  const text = readFileSync(join(projectRoot, page), "utf8");
  const [, title = page] = /^# (.*)$/m.exec(text) ?? [];
  const paragraph = text.split("\n\n").find((part) => /^[A-Z`*]/.test(part)) ?? "";
  const [sentence = ""] = paragraph.replaceAll("\n", " ").match(/^.*?[.:](?= |$)/) ?? [];
  return `- [${title}](${page}): ${sentence.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/:$/, ".")}`;
}
