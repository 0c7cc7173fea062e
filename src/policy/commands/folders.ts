import { absolutePath } from "../../util/paths.ts";
import { type Tree, type Word, insideOf } from "./tree.ts";
import { activates } from "./words.ts";

/** Where a shell may stand; `undefined`: not known. */
export type Folders = readonly string[] | undefined;

/** A shell of its own, while its script is walked. */
export interface Shell {
  cwds: Folders;
  /** How many scripts it is nested in. */
  readonly depth: number;
  /** False: what runs in it is never ordinary, because of who runs it (`eval`, `xargs`). */
  readonly ordinary: boolean;
}

/** A script that may stand in more folders is not followed. */
const MAX_FOLDERS = 4;

/** Where it may stand when it went one way or the other. */
export function either(one: Folders, other: Folders): Folders {
  if (one === undefined || other === undefined) return undefined;
  const all = [...new Set([...one, ...other])];
  return all.length > MAX_FOLDERS ? undefined : all;
}

/** Where a folder is that is named from there. */
export function folderIn(cwds: Folders, { value }: Word, home: string): Folders {
  if (value === undefined || value.startsWith("~")) return undefined;
  if (value.startsWith("/")) return [absolutePath(value, { workDir: "/", home })];
  return cwds?.map((workDir) => absolutePath(value, { workDir, home }));
}

/** True when the shell may stand elsewhere after it. */
export function changesFolder(tree: Tree): boolean {
  if (tree.kind === "subshell" || tree.kind === "pipeline") return false;
  if (tree.kind !== "command") return insideOf(tree).some(changesFolder);
  return tree.words.some(({ value }) => value === undefined || /\b(cd|pushd|popd|eval|source)\b|^\.$/.test(value));
}

/** The same of the text of a script. */
export function changesFolderIn({ value = "cd" }: Word): boolean {
  return /\b(cd|pushd|popd|source|eval)\b|(^|\s)\.\s/.test(value);
}

/** True of a command that moves the shell in a way that is not followed. `cd` is. */
export function movesAway(name: string, operands: readonly Word[]): boolean {
  return MOVES.has(name) && !activates(operands);
}

const MOVES: ReadonlySet<string> = new Set(["pushd", "popd", "source", "."]);
