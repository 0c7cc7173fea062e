import { type Extras, extrasIn, itemOf, readExtras } from "./keep.ts";
import { git, openReader } from "./git.ts";
import { type Entry, type Item, type State, type UndoStore, threadOf } from "./log.ts";

/**
 * One path that differs between two states. `undefined` means that nothing is there. Paths have one character per byte.
 */
export interface Change {
  readonly path: string;
  readonly now: Item | undefined;
  readonly past: Item | undefined;
}

/** What an undo would do. */
export interface Plan {
  /** What tools changed, sorted by path. */
  readonly files: readonly Change[];
  /** What tools changed, and somebody else changed too: between acts, or since. Restored only with `force`. */
  readonly conflicts: readonly Change[];
  /** Refs, reflogs and the index of the user's repository, as files in it. Restored only on request. */
  readonly repository: readonly Change[];
}

/** The part of a state that a path belongs to. */
type Part = "files" | "git";

/**
 * Plans how to return from the last entry to the first. A path is restored if it differs between the two and a tool
 * changed it, which means that it changed while an act ran. Other changes were made by somebody else.
 *
 * @param entries from the point to return to, to the current state
 */
export async function planOf(store: UndoStore, entries: readonly Entry[]): Promise<Plan> {
  const [past, now] = [entries[0], entries.at(-1)];
  if (past === undefined || now === undefined) return { files: [], conflicts: [], repository: [] };
  const pairs = entries.slice(1).map((to, index) => ({ from: entries[index] ?? to, to }));
  const differences = await compared(store, [{ from: now, to: past }, ...pairs]);
  const [listed = NOTHING, ...steps] = differences;
  const back = await withModes(store, listed, now, past);
  const byTools = new Set<string>();
  const byOthers = new Set<string>();
  for (const [index, { from }] of pairs.entries()) {
    const changed = from.acting.length > 0 ? byTools : byOthers;
    for (const [key] of steps[index] ?? NOTHING) changed.add(key);
    for (const path of from.others ?? []) byOthers.add(`files/${path}`);
  }
  const changes = [...back]
    .filter(([key]) => byTools.has(key))
    .map(([key, change]) => ({
      ...change,
      isShared: byOthers.has(key),
      part: key.startsWith("git/") ? "git" : "files",
    }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const of = (part: Part, isShared: boolean) =>
    changes
      .filter((change) => change.part === part && change.isShared === isShared)
      .map((change): Change => ({ path: change.path, now: change.now, past: change.past }));
  return { files: of("files", false), conflicts: of("files", true), repository: of("git", false) };
}

/**
 * Returns which files changed while acts of each point's thread ran, until the next point of that thread: ids of
 * points, with sorted paths of one character per byte.
 */
export async function filesOfPoints(
  store: UndoStore,
  entries: readonly Entry[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const pairs = entries.slice(1).map((to, index) => ({ from: entries[index] ?? to, to }));
  const steps = pairs.length === 0 ? [] : await compared(store, pairs);
  const latest = new Map<string, string>();
  const files = new Map<string, Set<string>>();
  for (const [index, { from }] of pairs.entries()) {
    if (from.point !== undefined) {
      latest.set(from.point.thread, from.id);
      files.set(from.id, new Set());
    }
    const threads = from.acting.map((act) => threadOf(act) ?? from.point?.thread ?? "");
    for (const id of new Set(threads.map((thread) => latest.get(thread)))) {
      if (id === undefined) continue;
      for (const [key] of steps[index] ?? NOTHING) {
        if (key.startsWith("files/")) files.get(id)?.add(key.slice("files/".length));
      }
    }
  }
  return new Map([...files].map(([id, paths]) => [id, [...paths].toSorted()]));
}

/** Changes by their path in the root tree of a state: "files/src/a.ts", "git/HEAD". */
type Changes = ReadonlyMap<string, Change>;
const NOTHING: Changes = new Map();

/** Returns what differs between two states, for each pair. */
async function compared(
  store: UndoStore,
  pairs: readonly { readonly from: State; readonly to: State }[],
): Promise<readonly Changes[]> {
  const input = pairs.map(({ from, to }) => `${from.root} ${to.root}\n`).join("");
  const args = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "-m"];
  const raw = await git(store.path, args, { input });
  const extras = await allExtras(store, pairs);
  const lists = listsIn(raw, pairs);
  return pairs.map(({ from, to }, index) => {
    const [before, after] = [extras.get(from.extras), extras.get(to.extras)];
    return before === undefined || after === undefined ? NOTHING : merged(lists[index] ?? [], before, after);
  });
}

/** One line of git's list: modes and ids before and after. */
interface ListedChange {
  readonly path: string;
  readonly from: { readonly mode: string; readonly id: string };
  readonly to: { readonly mode: string; readonly id: string };
}

/** Git may print no heading for a pair of equal states, so each heading is searched for among the remaining pairs. */
function listsIn(
  raw: string,
  pairs: readonly { readonly from: State; readonly to: State }[],
): readonly ListedChange[][] {
  const lists: ListedChange[][] = pairs.map(() => []);
  let pair = -1;
  for (let at = 0; at < raw.length;) {
    if (raw[at] !== ":") {
      const end = raw.indexOf("\n", at);
      const [from = "", to = ""] = raw.slice(at, end).split(" ");
      pair = pairs.findIndex((each, index) => index > pair && each.from.root === from && each.to.root === to);
      at = end + 1;
      continue;
    }
    const middle = raw.indexOf("\0", at);
    const end = raw.indexOf("\0", middle + 1);
    const [fromMode = "", toMode = "", fromId = "", toId = ""] = raw.slice(at + 1, middle).split(" ");
    const path = raw.slice(middle + 1, end);
    lists[pair]?.push({ path, from: { mode: fromMode, id: fromId }, to: { mode: toMode, id: toId } });
    at = end + 1;
  }
  return lists;
}

function merged(lines: readonly ListedChange[], before: Extras, after: Extras): Changes {
  const changes = new Map<string, Change>();
  for (const line of lines) {
    if (line.path === "extras") continue;
    const path = line.path.slice(line.path.indexOf("/") + 1);
    const isFile = line.path.startsWith("files/");
    const item = ({ mode, id }: ListedChange["from"], extras: Extras) =>
      itemOf(mode, id, isFile ? extras : undefined, path);
    changes.set(line.path, { path, now: item(line.from, before), past: item(line.to, after) });
  }
  for (const [path, mode] of differing(before.folders, after.folders)) {
    const change = changes.get(`files/${path}`);
    const [now, past] = mode.map((each) =>
      each === undefined ? undefined : ({ kind: "folder", mode: each } as const),
    );
    changes.set(`files/${path}`, { path, now: now ?? change?.now, past: past ?? change?.past });
  }
  for (const [path] of differing(before.modes, after.modes)) {
    const key = `files/${path}`;
    if (!changes.has(key)) changes.set(key, { path, now: SAME_CONTENT, past: SAME_CONTENT });
  }
  return changes;
}

/** A file whose mode alone differs. Git's list does not contain it. */
const SAME_CONTENT: Item = { kind: "file", id: "", mode: 0 };

/** Adds the files whose mode alone differs to the changes. */
async function withModes(store: UndoStore, back: Changes, now: Entry, past: Entry): Promise<Changes> {
  const asked = new Set([...back.values()].filter((change) => change.now === SAME_CONTENT).map(({ path }) => path));
  if (asked.size === 0) return back;
  const all = new Map(back);
  const [before, after] = [await readExtras(store.path, now.extras), await readExtras(store.path, past.extras)];
  for (const path of asked) all.delete(`files/${path}`);
  for (const line of (await git(store.path, ["ls-tree", "-r", "-z", past.files])).split("\0")) {
    const [heading = "", path = ""] = line.split("\t", 2);
    const [mode = "", , id = ""] = heading.split(" ");
    if (!asked.has(path)) continue;
    const change = { path, now: itemOf(mode, id, before, path), past: itemOf(mode, id, after, path) };
    all.set(`files/${path}`, change);
  }
  return all;
}

function differing(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): [string, [number | undefined, number | undefined]][] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].flatMap((path) => {
    const [now, past] = [before.get(path), after.get(path)];
    return now === past ? [] : [[path, [now, past]] as [string, [number | undefined, number | undefined]]];
  });
}

async function allExtras(
  store: UndoStore,
  pairs: readonly { readonly from: State; readonly to: State }[],
): Promise<ReadonlyMap<string, Extras>> {
  const found = new Map<string, Extras>();
  const reader = openReader(store.path);
  try {
    for (const id of new Set(pairs.flatMap(({ from, to }) => [from.extras, to.extras])))
      found.set(id, extrasIn((await reader.read(id)).toString("latin1")));
  } finally {
    reader.close();
  }
  return found;
}
