import { type Stats, existsSync } from "node:fs";
import {
  access,
  constants,
  copyFile,
  link,
  lstat,
  readFile,
  readdir,
  rename,
  statfs,
  unlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { DISK, kindOf } from "../git/disk.ts";
import { linkedWorktree } from "../git/folders.ts";
import { formatSize } from "../output/size.ts";
import { codeOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { type GitRun, UndoOff, git } from "./git.ts";
import { type Item, type State } from "./log.ts";

/** Larger files are not kept. In bytes. */
export const MAX_FILE_BYTES = 50 * 1_048_576;

/**
 * How many changed files go into one pack. With fewer, each object is a file; for many files, that takes three times as
 * long.
 */
const PACK_FROM = 500;

/** Free disk space that is left, in bytes. */
export const DISK_RESERVE = 256 * 1_048_576;

const LISTED = { withFileTypes: true, encoding: "buffer" } as const;

/** How many files are examined concurrently. */
const BATCH = 128;

/** What git does not store in a tree. Paths have one character per byte. */
export interface Extras {
  /** The modes of files that are not in `modes`: not executable, executable. */
  readonly base: readonly [number, number];
  readonly modes: ReadonlyMap<string, number>;
  /** Every folder with its mode. */
  readonly folders: ReadonlyMap<string, number>;
}

/** A folder whose state is kept, and the limits. */
export interface Kept {
  readonly store: string;
  /** The real path. */
  readonly workDir: string;
  /** How much new content may be stored, in bytes. */
  readonly room: number;
  readonly signal?: AbortSignal;
}

/** A state, and at most how many bytes of content it added. */
export interface Taken {
  readonly state: State;
  readonly added: number;
}

/** New content exceeds the available room. */
export class NoRoom extends Error {
  readonly bytes: number;

  constructor(bytes: number) {
    super(`there is no room for ${formatSize(bytes)}`);
    this.bytes = bytes;
  }
}

/**
 * Stores the current state of the workspace. Only reads files that have changed since `last`.
 *
 * @throws NoRoom; UndoOff without git; Error when something fails, such as a full disk. Nothing is lost then.
 */
export async function keepState(kept: Kept, last: State | undefined): Promise<Taken> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryToKeep(kept, last);
    } catch (error) {
      // For example, a file was replaced by a folder meanwhile.
      if (attempt === 3 || kept.signal?.aborted || error instanceof NoRoom || error instanceof UndoOff) throw error;
    }
  }
}

async function tryToKeep(kept: Kept, last: State | undefined): Promise<Taken> {
  const { store, workDir, signal } = kept;
  const run = { ...(signal !== undefined && { signal }) };
  const extras = last === undefined ? NO_EXTRAS : await readExtras(store, last.extras);
  const repository = repositoryOf(workDir);
  const base = (tree: string | undefined, part: string) => (hasIndex(store, tree, part) ? tree : undefined);
  const filesBefore = base(last?.files, "files");
  const [files, folders, repositoryTree] = await Promise.all([
    listWith(kept, filesBefore, repository).then((listing) => keepFiles(kept, filesBefore, listing)),
    foldersNow(workDir, extras.folders.keys()),
    repository === undefined ? undefined : keepRepository({ ...kept, workDir: repository }, base(last?.git, "git")),
  ]);
  const modes = new Map(filesBefore === undefined ? [] : extras.modes);
  for (const path of files.removed) modes.delete(path);
  for (const [path, mode] of files.modes) {
    if (mode === extras.base[(mode & 0o100) === 0 ? 0 : 1]) modes.delete(path);
    else modes.set(path, mode);
  }
  const parents = new Set(files.found.flatMap(parentsOf).concat(files.folders));
  for (const path of folders.keys()) parents.delete(path);
  const allFolders = new Map([...folders, ...(await foldersNow(workDir, parents))]);
  const now = textOf({ base: extras.base, modes, folders: allFolders });
  const isSame = last !== undefined && now === textOf(extras);
  const blob = isSame
    ? last.extras
    : (await git(store, ["hash-object", "-w", "--stdin"], { ...run, input: now })).trim();
  const state = { files: files.tree, extras: blob, ...(repositoryTree && { git: repositoryTree.tree }) };
  const { unkept } = files;
  const added = files.added + (repositoryTree?.added ?? 0);
  if (last !== undefined && isSame && last.files === state.files && last.git === state.git) {
    return { state: { ...state, root: last.root, unkept }, added };
  }
  return { state: { ...state, root: await rootOf(store, state, run), unkept }, added };
}

/** Stores the tree that contains the other trees. */
export async function rootOf(store: string, parts: Omit<State, "root" | "unkept">, run: GitRun = {}): Promise<string> {
  const lines = [`100644 blob ${parts.extras}\textras`, `040000 tree ${parts.files}\tfiles`];
  if (parts.git !== undefined) lines.push(`040000 tree ${parts.git}\tgit`);
  return (await git(store, ["mktree"], { ...run, input: `${lines.join("\n")}\n` })).trim();
}

/** The usual modes of new files and programs. */
const NO_EXTRAS: Extras = {
  base: [0o666 & ~process.umask(), 0o777 & ~process.umask()],
  modes: new Map(),
  folders: new Map(),
};

/** Returns the modes and folders of a state. */
export async function readExtras(store: string, id: string): Promise<Extras> {
  return extrasIn(await git(store, ["cat-file", "blob", id]));
}

/** Parses the text of an object with modes and folders. */
export function extrasIn(text: string): Extras {
  const { base, modes, folders } = JSON.parse(text) as Extras & {
    modes: [string, number][];
    folders: [string, number][];
  };
  return { base, modes: new Map(modes), folders: new Map(folders) };
}

/** Returns what a line of a tree means. Without `extras`, files have the usual modes. */
export function itemOf(mode: string, id: string, extras: Extras | undefined, path: string): Item | undefined {
  if (mode === "000000") return undefined;
  if (mode === "120000") return { kind: "link", id };
  const usual = extras?.base ?? [0o644, 0o755];
  return { kind: "file", id, mode: extras?.modes.get(path) ?? usual[mode === "100755" ? 1 : 0] };
}

/** Returns modes and folders as the text of an object. */
export function textOf({ base, modes, folders }: Extras): string {
  const sorted = (map: ReadonlyMap<string, number>) => [...map].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify({ base, modes: sorted(modes), folders: sorted(folders) });
}

/** What may have changed since a tree was stored. */
interface Listing {
  /** Paths in the tree that are gone, or whose content, mode or change time differs. */
  readonly changed: readonly { readonly path: string; readonly isGone: boolean }[];
  /** Paths that are not in the tree. */
  readonly added: readonly string[];
  /** Folders that had no kept file. */
  readonly folders: readonly string[];
  readonly nested: readonly string[];
}

/**
 * Returns the path of git's index for a tree. The index has the times of the tree's files. The tree is part of the
 * index's name, so an index is never used for another tree.
 */
export function indexOf(store: string, tree: string | undefined, part: string): string {
  return join(store, `index-${part}-${tree ?? "none"}`);
}

/**
 * Returns false if the process that made the tree was killed before the index was in place. All files are read again
 * then.
 */
function hasIndex(store: string, tree: string | undefined, part: string): boolean {
  return tree !== undefined && existsSync(indexOf(store, tree, part));
}

/** Removes the indexes of all other states. */
export async function dropOldIndexes(store: string, { files, git: repository }: State): Promise<void> {
  const current = [indexOf(store, files, "files"), indexOf(store, repository, "git")];
  for (const name of await readdir(store)) {
    const path = join(store, name);
    if (name.startsWith("index-") && !current.includes(path)) await unlink(path).catch(() => {});
  }
}

async function changedSince(kept: Kept, tree: string | undefined, part: string): Promise<Listing["changed"]> {
  const { store, workDir, signal } = kept;
  const run: GitRun = { workTree: workDir, index: indexOf(store, tree, part), ...(signal !== undefined && { signal }) };
  const raw = await git(store, ["diff-files", "--raw", "-z", "--ignore-submodules=all"], run);
  const words = raw.split("\0");
  const changed: { path: string; isGone: boolean }[] = [];
  for (let at = 0; at + 1 < words.length; at += 2) {
    changed.push({ path: words[at + 1] ?? "", isGone: words[at]?.endsWith("D") === true });
  }
  return changed;
}

async function listWith(kept: Kept, tree: string | undefined, repository: string | undefined): Promise<Listing> {
  const { store, workDir, signal } = kept;
  const index = indexOf(store, tree, "files");
  const run: GitRun = { workTree: workDir, index, ...(signal !== undefined && { signal }) };
  await copyExcludes(store, repository);
  const others = async (...more: readonly string[]) => othersIn(store, ["--exclude-standard", ...more], run);
  const [changed, known] = await Promise.all([changedSince(kept, tree, "files"), others("--directory")]);
  const inReplaced = await inReplacedFiles(kept, index, changed);
  const listed = [...known, ...inReplaced];
  const folders = listed.filter((path) => path.endsWith("/"));
  // Lists these folders in full. If there are too many for a command line, lists all folders.
  const inside = folders.length === 0 ? [] : await others(...(folders.length > 500 ? [] : ["--", ...folders]));
  const all = new Set([...listed.filter((path) => !path.endsWith("/")), ...inside]);
  const added = [...all].filter((path) => !path.endsWith("/"));
  const nested = [...all].filter((path) => path.endsWith("/")).map(withoutSlash);
  return { changed, added, nested, folders: await foldersBelow(folders.map(withoutSlash), run, store) };
}

async function othersIn(store: string, words: readonly string[], run: GitRun): Promise<readonly string[]> {
  const found = await git(store, ["--literal-pathspecs", "ls-files", "-o", "-z", ...words], run);
  return found.split("\0").filter(Boolean);
}

/**
 * Lists what is in folders that have replaced a file or a link of the tree: git omits it, because their path is in the
 * index. All of it counts, also what is ignored, so that the file can return.
 */
async function inReplacedFiles({ store, workDir }: Kept, index: string, changed: Listing["changed"]) {
  const replaced: string[] = [];
  await inBatches(
    changed.filter(({ isGone }) => isGone).map(({ path }) => path),
    async (path) => {
      if ((await infoOf(pathIn(workDir, path)))?.isDirectory() === true) replaced.push(path);
    },
  );
  if (replaced.length === 0) return [];
  const copy = join(store, `index-${randomName(8)}.tmp`);
  await copyFile(index, copy);
  try {
    const run = { workTree: workDir, index: copy };
    await git(store, ["update-index", "-z", "--index-info"], { ...run, input: removalsOf(replaced) });
    const files = await othersIn(store, ["--", ...replaced], run);
    return [...new Set([...files, ...replaced.map((path) => `${path}/`)])];
  } finally {
    await unlink(copy).catch(() => {});
  }
}

/** Lines for `update-index --index-info` that remove paths. */
function removalsOf(paths: readonly string[]): string {
  return paths.map((path) => `0 ${"0".repeat(40)}\t${path}\0`).join("");
}

/** Copies the user's info/exclude, so that the same files are ignored here. */
async function copyExcludes(store: string, repository: string | undefined): Promise<void> {
  const own = join(store, "info/exclude");
  const [text, before] = await Promise.all(
    [repository === undefined ? undefined : join(repository, "info/exclude"), own].map(async (path) =>
      path === undefined ? "" : readFile(path, "latin1").catch(() => ""),
    ),
  );
  if (text !== before) await writeFile(own, text ?? "", { encoding: "latin1", mode: 0o600 });
}

/** Returns the folders and all folders below them, except ignored folders and other repositories. */
async function foldersBelow(folders: readonly string[], run: GitRun, store: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (let level = folders; level.length > 0;) {
    const next: string[] = [];
    await inBatches(level, async (folder) => {
      const entries = await readdir(pathIn(run.workTree ?? "", folder), LISTED).catch(() => []);
      if (entries.some(({ name }) => name.toString() === ".git")) return;
      found.push(folder);
      const inner = entries.filter((entry) => entry.isDirectory());
      next.push(...inner.map(({ name }) => `${folder}/${name.toString("latin1")}`));
    });
    const input = next.map((path) => `./${path}\0`).join("");
    const asked = { ...run, input, mayFind: true };
    const ignored = next.length === 0 ? "" : await git(store, ["check-ignore", "-z", "--stdin"], asked);
    const isIgnored = new Set(ignored.split("\0"));
    level = next.filter((path) => !isIgnored.has(`./${path}`));
  }
  return found;
}

const YES_OR_NO = [() => true, () => false] as const;

interface KeptFiles {
  readonly tree: string;
  readonly added: number;
  readonly removed: readonly string[];
  /** Files and links that were examined and kept. */
  readonly found: readonly string[];
  /** The modes of the examined files. */
  readonly modes: ReadonlyMap<string, number>;
  readonly folders: readonly string[];
  readonly unkept: readonly string[];
}

/** Updates the index, and creates its tree. */
async function keepFiles(kept: Kept, last: string | undefined, listing: Listing, part = "files"): Promise<KeptFiles> {
  const { store, workDir, room, signal } = kept;
  const gone = listing.changed.filter(({ isGone }) => isGone).map(({ path }) => path);
  const inTree = new Set(listing.changed.map(({ path }) => path));
  const looked = [...listing.changed.filter(({ isGone }) => !isGone).map(({ path }) => path), ...listing.added];
  const [removed, stored] = [new Set(gone), [] as string[]];
  const modes = new Map<string, number>();
  const unkept = listing.nested.map((path) => `${shown(path)} is a repository of its own`);
  let added = 0;
  await inBatches(looked, async (path) => {
    const info = await infoOf(pathIn(workDir, path));
    if (info === undefined || !(info.isFile() || info.isSymbolicLink())) return void removed.add(path);
    if (info.isFile() && info.size > MAX_FILE_BYTES) {
      unkept.push(`${shown(path)} has ${formatSize(info.size)}, more than ${formatSize(MAX_FILE_BYTES)}`);
      return void removed.add(path);
    }
    if (info.isFile()) modes.set(path, info.mode & 0o7777);
    const canRead = info.isSymbolicLink() || (await access(pathIn(workDir, path), constants.R_OK).then(...YES_OR_NO));
    if (!canRead) return void unkept.push(`${shown(path)} cannot be read`);
    added += info.size;
    stored.push(path);
  });
  const base = { removed: [...removed], found: stored, modes, folders: listing.folders, unkept: summary(unkept) };
  const gones = base.removed.filter((path) => inTree.has(path));
  const index = indexOf(store, last, part);
  const run: GitRun = { workTree: workDir, ...(signal !== undefined && { signal }) };
  if (gones.length + stored.length === 0 && last !== undefined) return { ...base, tree: last, added: 0 };
  if (added > room) throw new NoRoom(added);
  await requireSpace(store, added);
  const next = join(store, `index-${randomName(8)}.tmp`);
  // A hard link keeps the modification time of the index. Git compares this time with the times of files, to know which
  // may have changed right after the index was written.
  await link(index, next).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
  try {
    const own = { ...run, index: next };
    const removals = ["update-index", "-z", "--index-info"];
    if (gones.length > 0) await git(store, removals, { ...own, input: removalsOf(gones) });
    const packed = stored.length > PACK_FROM ? ["-c", "core.bigFileThreshold=1"] : [];
    const update = [...packed, "update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
    if (stored.length > 0) await git(store, update, { ...own, input: stored.map((path) => `${path}\0`).join("") });
    const tree = (await git(store, ["write-tree"], own)).trim();
    await rename(next, indexOf(store, tree, part)).catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error; // an empty tree has no index
    });
    return { ...base, tree, added };
  } finally {
    await unlink(next).catch(() => {});
  }
}

async function requireSpace(store: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(store);
  if (bavail * bsize - bytes < DISK_RESERVE) throw new Error(`the disk with ${store} is nearly full`);
}

/** Returns the `.git` folder of the user's repository of a workspace, which may be a linked worktree. */
export function repositoryOf(workDir: string): string | undefined {
  const path = join(workDir, ".git");
  return kindOf(path) === "folder" ? path : linkedWorktree(DISK, workDir)?.own;
}

/** The most refs and reflogs. With more, the repository's state is not kept. */
const MAX_REFS = 10_000;

/**
 * Stores refs, reflogs and the index of the user's repository. Never writes to the repository. Returns `undefined` if
 * there are too many files.
 */
async function keepRepository(kept: Kept, last: string | undefined): Promise<KeptFiles | undefined> {
  const found = await repositoryFiles(kept.workDir);
  if (found.length > MAX_REFS) return undefined;
  const changed = await changedSince(kept, last, "git");
  const known = last === undefined ? [] : await namesIn(kept.store, last);
  const isKnown = new Set(known);
  const added = found.filter((path) => !isKnown.has(path));
  return keepFiles(kept, last, { changed, added, folders: [], nested: [] }, "git");
}

async function namesIn(store: string, tree: string): Promise<readonly string[]> {
  return (await git(store, ["ls-tree", "-r", "-z", "--name-only", tree])).split("\0").filter(Boolean);
}

async function repositoryFiles(repository: string): Promise<readonly string[]> {
  const found = ["HEAD", "index", "packed-refs"];
  for (const folders = ["refs", "logs"]; folders.length > 0 && found.length <= MAX_REFS;) {
    const folder = folders.pop() ?? "";
    for (const entry of await readdir(pathIn(repository, folder), LISTED).catch(() => [])) {
      const path = `${folder}/${entry.name.toString("latin1")}`;
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile() && !path.endsWith(".lock")) found.push(path);
    }
  }
  const infos = await Promise.all(found.slice(0, 3).map((path) => infoOf(pathIn(repository, path))));
  return found.filter((_, index) => index > 2 || infos[index]?.isFile() === true);
}

/**
 * Returns the existing folders, with their modes. Skips a folder below one that is gone, because a link may have
 * replaced that.
 */
async function foldersNow(workDir: string, folders: Iterable<string>): Promise<ReadonlyMap<string, number>> {
  const asked = new Set(folders);
  const found = new Map<string, number>();
  await inBatches([...asked], async (path) => {
    const info = await infoOf(pathIn(workDir, path));
    if (info?.isDirectory() === true) found.set(path, info.mode & 0o7777);
  });
  if (found.size === asked.size) return found;
  const isWhole = (path: string) => parentsOf(path).every((parent) => !asked.has(parent) || found.has(parent));
  return new Map([...found].filter(([path]) => isWhole(path)));
}

async function inBatches(paths: readonly string[], work: (path: string) => Promise<void>): Promise<void> {
  for (let start = 0; start < paths.length; start += BATCH) {
    await Promise.all(paths.slice(start, start + BATCH).map(work));
  }
}

/** Returns what is at a path, without following a link; `undefined` for nothing. */
export async function infoOf(path: Buffer): Promise<Stats | undefined> {
  return lstat(path).catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR", "EACCES", "ELOOP"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  });
}

/** Returns the path as bytes for the system. The path has one character per byte. */
export function pathIn(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
}

/** Returns the path as text for people. */
export function shown(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

/** Returns the folders that contain a path, outermost first. */
export function parentsOf(path: string): string[] {
  const names = path.split("/");
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join("/"));
}

function withoutSlash(path: string): string {
  return path.slice(0, -1);
}

function summary(sentences: readonly string[]): readonly string[] {
  return sentences.length <= 20
    ? sentences
    : [...sentences.slice(0, 19), `${sentences.length - 19} others were not kept`];
}
