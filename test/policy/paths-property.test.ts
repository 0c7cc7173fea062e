import { spawnSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isInside } from "../../src/core/util/paths.ts";
import { cases } from "../support/cases.ts";
import { layout } from "../support/layout.ts";

/** What is at a path of a random tree. There are few names, so that they collide. */
type Node =
  | { readonly kind: "folder" }
  | { readonly kind: "file" }
  | { readonly kind: "link"; readonly target: string };

const name = fc.constantFrom("a", "b", "c", "d");
const step = fc.constantFrom("a", "b", "c", "d", "..", "..", ".");
const place = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const relative = fc.array(step, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/"));
/** `$WS` and `$OUT` stand for the two folders. */
const target = fc.oneof(
  relative,
  relative.map((path) => `$WS/${path}`),
  relative.map((path) => `$OUT/${path}`),
);
const node: fc.Arbitrary<Node> = fc.oneof(
  { weight: 3, arbitrary: target.map((to) => ({ kind: "link", target: to }) as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "folder" } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "file" } as const) },
);
const tree = fc.record({
  nodes: fc.array(fc.tuple(fc.constantFrom("$WS", "$OUT"), place, node), { maxLength: 10 }),
  paths: fc.array(fc.oneof(relative, target), { minLength: 1, maxLength: 6 }),
});

test("a path that leads out of the workspace is never allowed, and an allowed one never leaves it", async () => {
  const world = await layout();
  await writeFile(join(world.root, "canary"), "untouched");
  let allowed = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(tree, async ({ nodes, paths }) => {
      const here = (path: string) => path.replace("$WS", world.workDir).replace("$OUT", world.outside);
      for (const folder of [world.workDir, world.outside]) {
        await rm(folder, { recursive: true, force: true });
        await mkdir(folder);
      }
      // two at one place: the first stays
      for (const [side, path, made] of nodes) await make(join(here(side), path), made, here).catch(() => undefined);
      const toolkit = await world.toolkit({ policy: { forbiddenPaths: [], autonomy: "full" } });
      try {
        for (const path of paths.map(here)) {
          const { verdict } = await toolkit.judge([{ kind: "write", path }]);
          const real = kernelPath(join("/", path.startsWith("/") ? path : join(world.workDir, path)));
          if (real === undefined || !isInside(real, world.workDir)) expect(verdict).toBe("deny");
          if (verdict === "allow") allowed++;
          else refused++;
          await toolkit.call({ name: "write", input: { path, content: `written through ${path}` } });
        }
      } finally {
        await toolkit.close();
      }
      expect(filesWith("written through", world.root).filter((file) => !isInside(file, world.workDir))).toEqual([]);
    }),
    { numRuns: cases(25) },
  );
  // Verdicts of only one kind would prove nothing.
  expect(allowed).toBeGreaterThan(20);
  expect(refused).toBeGreaterThan(20);
});

async function make(path: string, made: Node, here: (path: string) => string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  if (made.kind === "folder") await mkdir(path);
  else if (made.kind === "file") await writeFile(path, "", { flag: "wx" });
  else await symlink(here(made.target), path);
}

/**
 * Returns where a path leads, resolved part by part as in path_resolution(7), including parts that do not exist;
 * `undefined` for a circle.
 */
function kernelPath(path: string): string | undefined {
  const parts = path.split("/");
  let links = 0;
  let at = "/";
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const next = join(at, part);
    const leadsTo = linkAt(next);
    if (leadsTo === undefined) {
      at = next;
      continue;
    }
    if (++links > 40) return undefined;
    parts.unshift(...leadsTo.split("/"));
    if (leadsTo.startsWith("/")) at = "/";
  }
  return at;
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // no link, or nothing at all
  }
}

/** Returns files, without following links, that contain the text. */
function filesWith(text: string, folder: string): readonly string[] {
  const { stdout } = spawnSync(
    "grep",
    ["--recursive", "--files-with-matches", "--fixed-strings", "--null", "-e", text, folder],
    { encoding: "utf8" },
  );
  return stdout.split("\0").slice(0, -1);
}
