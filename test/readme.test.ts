import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

test("the run shown in the README is what npm start prints", async () => {
  const { stdout } = await run(process.execPath, ["scripts/tour.mjs"], { cwd: root });
  const shown = /<!-- tour -->\n```console\n(.*?)\n```\n<!-- \/tour -->/s.exec(
    await readFile(`${root}/README.md`, "utf8"),
  )?.[1];
  expect(shown).toBe(stdout.trimEnd());
});

test("every link of the README and the docs leads to a file in the package", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--ignore-scripts", "--json"], { cwd: root });
  const [packed] = JSON.parse(stdout) as readonly { readonly files: readonly { readonly path: string }[] }[];
  const files = (packed?.files ?? []).map(({ path }) => path);
  const pages = files.filter((path) => path === "README.md" || /^docs\/.*\.md$/.test(path));
  const dead: string[] = [];
  for (const page of pages) {
    const text = await readFile(`${root}/${page}`, "utf8");
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
      const target = posix.join(posix.dirname(page), link).replace(/\/$/, "");
      if (!files.some((path) => path === target || path.startsWith(`${target}/`))) dead.push(`${page}: ${link}`);
    }
  }
  expect(pages.length).toBeGreaterThan(5);
  expect(dead).toEqual([]);
});
