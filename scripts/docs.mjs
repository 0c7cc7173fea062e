/**
 * Builds the docs as a static site with search (`npm run docs`).
 *
 * In:  docs/, CONTRIBUTING.md, CHANGELOG.md, README.md and examples/; the generator in site/, which has its own packages.
 * Out: site/dist, for any file server. Exit code 1 when a link of the docs is dead, or the build fails.
 *      site/pages has the pages as VitePress reads them: a program of examples/ is a page, and what is not in the docs
 *      (sources, tests) is a link to the repository.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { projectRoot, readManifest } from "./lib/project.mjs";

const site = join(projectRoot, "site");
const pages = join(site, "pages");
const repository = readManifest().repository.url.replace(/^git\+|\.git$/g, "");

/** The pages outside of docs/, by the page of the site. */
const BESIDE = { "readme.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md" };

rmSync(pages, { recursive: true, force: true });
cpSync(join(projectRoot, "docs"), pages, { recursive: true });
for (const name of readdirSync(pages, { recursive: true, encoding: "utf8" }).filter((each) => each.endsWith(".md")))
  writePage(name === "README.md" ? "index.md" : name, `docs/${name}`);
rmSync(join(pages, "README.md"));
for (const [page, source] of Object.entries(BESIDE)) writePage(page, source);
// Not below these folders: the packages of sdks/ have a link to the project itself.
const examples = ["", "sdks", "plugins", "tool"].flatMap((folder) =>
  readdirSync(join(projectRoot, "examples", folder)).map((name) => posix.join(folder, name)),
);
for (const name of examples.filter((each) => /\.(mjs|html)$/.test(each))) {
  const code = readFileSync(join(projectRoot, "examples", name), "utf8");
  mkdirSync(dirname(join(pages, "examples", name)), { recursive: true });
  const language = name.endsWith(".html") ? "html" : "js";
  writeFileSync(join(pages, pageOf(`examples/${name}`)), `# ${name}\n\n\`\`\`${language}\n${code}\`\`\`\n`);
}

if (!existsSync(join(site, "node_modules", "vitepress")))
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
run(process.execPath, [join(site, "node_modules", "vitepress", "bin", "vitepress.js"), "build"]);
process.stdout.write("site/dist is built. Look at it: (cd site && npx vitepress preview)\n");

/**
 * Writes a page with links that lead to pages of the site, or to the repository.
 *
 * @param {string} page   its path on the site
 * @param {string} source its path in the project
 */
function writePage(page, source) {
  const text = readFileSync(join(projectRoot, source), "utf8");
  const linked = text.replaceAll(/(\]\(|src="|srcset=")(?!https?:|#)([^)"#\s]+)/g, (_, before, link) => {
    const target = posix.join(posix.dirname(source), link);
    return before + (isPicture(target) ? relative(page, target.replace(/^docs\//, "")) : linkTo(page, target));
  });
  writeFileSync(join(pages, page), linked);
}

/** @param {string} page @param {string} target a path in the project */
function linkTo(page, target) {
  const beside = Object.entries(BESIDE).find(([, source]) => source === target)?.[0];
  if (beside !== undefined) return relative(page, beside);
  if (target === "docs/README.md") return relative(page, "index.md");
  if (/^docs\/.*\.md$/.test(target)) return relative(page, target.slice("docs/".length));
  if (/^docs\/decisions\/?$/.test(target)) return relative(page, "decisions/README.md");
  if (/^examples\/(?:(?:sdks|plugins|tool)\/)?[^/]+\.(mjs|html)$/.test(target)) return relative(page, pageOf(target));
  return `${repository}/tree/main/${target}`;
}

/** Returns the page of an example. @param {string} path "examples/chat.html" */
function pageOf(path) {
  return `${path.replace(".", "-")}.md`;
}

/** @param {string} page @param {string} target both paths on the site */
function relative(page, target) {
  const path = posix.relative(posix.dirname(page), target);
  return path.startsWith(".") ? path : `./${path}`;
}

/** @param {string} path */
function isPicture(path) {
  return path.startsWith("docs/pictures/");
}

/** @param {string} program @param {readonly string[]} args */
function run(program, args) {
  const { status } = spawnSync(program, args, { cwd: site, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
