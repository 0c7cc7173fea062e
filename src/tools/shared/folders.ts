import { posix } from "node:path";
import type { ToolContext } from "../../contract/tool.ts";
import { ignoreRules } from "./ignore-rules.ts";
import { type NamePattern, nameOf } from "./name-pattern.ts";
import { pathOfBytes } from "./path-order.ts";
import { blocks, findComplaints } from "./ripgrep.ts";

/** What ripgrep does not list: folders, and links, which it does not follow. Relative to where the search began. */
export interface FoldersAndLinks {
  readonly folders: readonly string[];
  readonly links: readonly string[];
  /** What could not be searched; "" for nothing. */
  readonly complaints: string;
}

/** Those under `root` (a real path) that the pattern means and that are not ignored. */
export async function foldersAndLinks(
  root: string,
  meant: NamePattern,
  context: Pick<ToolContext, "backend" | "permit" | "signal">,
): Promise<FoldersAndLinks> {
  const rules = ignoreRules(root, context);
  const skipped = await rules.ignoredNames();
  let paths = await walk(root, meant.git, skipped, context);
  if (await rules.mayTakeBack(skipped, paths.rules)) paths = await walk(root, meant.git, [], context);
  rules.liesOnlyIn(paths.rules);
  const kept = async (kind: "folder" | "file", all: readonly string[]) => {
    const found: string[] = [];
    for (const path of meant.pick(all)) if (!(await rules.ignores(path, kind))) found.push(path);
    return found;
  };
  return {
    folders: await kept("folder", paths.folders),
    links: await kept("file", paths.links),
    complaints: paths.complaints,
  };
}

interface Walked extends FoldersAndLinks {
  /** The folders that have a .gitignore. */
  readonly rules: ReadonlySet<string>;
}

async function walk(
  root: string,
  git: boolean,
  ignored: readonly string[],
  { backend, signal }: Pick<ToolContext, "backend" | "signal">,
): Promise<Walked> {
  const unseen = [...(git ? [] : [".git"]), ...ignored];
  // What a path is, is told by how often it is written: no other form of output is known to every find.
  const args = [
    ...["-mindepth", "1"],
    ...["-type", "d", "(", ...unseen.flatMap((name) => ["-name", name, "-prune", "-o"]), "-print0", ")"],
    ...["-o", "-type", "l", "-print0", "-print0"],
    ...["-o", "-name", ".gitignore", "-print0", "-print0", "-print0"],
  ];
  const process = await backend.helper("find", args, { paths: [root], signal });
  const from = root === "/" ? 1 : root.length + 1;
  const times = new Map<string, number>();
  for await (const block of blocks(process, 0, signal)) {
    for (const path of block.toString("latin1").split("\0")) times.set(path, (times.get(path) ?? 0) + 1);
  }
  signal.throwIfAborted();
  const written = (count: number) =>
    [...times].flatMap(([path, many]) => (many === count ? [pathOfBytes(path).slice(from)] : []));
  return {
    folders: written(1),
    links: written(2).filter((path) => git || nameOf(path) !== ".git"),
    rules: new Set(written(3).map(folderOf)),
    complaints: await findComplaints(process, root, backend),
  };
}

function folderOf(path: string): string {
  const folder = posix.dirname(path);
  return folder === "." ? "" : folder;
}
