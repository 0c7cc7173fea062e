import { appendFileSync, lstatSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Effect } from "../../core/contract/effect.ts";
import { formatSize } from "../../core/output/size.ts";
import { tried } from "../../core/util/errors.ts";
import { isInside } from "../../core/util/paths.ts";
import { type Put, idOf, keepItem, putObject, requireSpace } from "./content.ts";
import { type Item, type Log, type Point, type UndoStore, readLog, versionOf } from "./log.ts";
import { parentsOf, pathIn, shown } from "./paths.ts";

/** Content of at most this size is kept in the record of its act until the workspace is looked at. In bytes. */
const RECORDED_BYTES = 16_384;

/**
 * An act of a file tool: the files that it may change, and what they were before. The rest of the workspace is not
 * looked at for it. The next look turns it into steps (steps.ts).
 */
export interface FileAct {
  readonly act: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The point that the act makes, unless its turn already has a point. */
  readonly point: Point;
  /** What was at each path, also of parent folders that did not exist. Paths have one character per byte. */
  readonly before: readonly (readonly [path: string, item: Item | null])[];
  /** Content that is not stored yet, in base64, by the id of its object. */
  readonly contents?: { readonly [id: string]: string };
  /** How many bytes of content were kept. */
  readonly bytes: number;
  /** What the act left at each path. Absent while it runs, and if its process died. */
  readonly after?: ReadonlyMap<string, Item | null>;
  /** The acts that ran when it began: what they change meanwhile is no change of somebody else. */
  readonly beside: readonly string[];
}

/** Whether an effect may change files of the workspace. Network requests and changes of memories do not. */
export function mayChangeFiles({ kind }: Effect): boolean {
  return ["write", "exec", "terminal", "foreign", "delegate"].includes(kind);
}

/**
 * Returns the files of the workspace that the effects may change, as paths in it with one character per byte;
 * `undefined` if they may change any file, as a command may, or all files of a folder.
 */
export function filesOf(effects: readonly Effect[], { workDir }: UndoStore): readonly string[] | undefined {
  const files: string[] = [];
  for (const effect of effects.filter(mayChangeFiles)) {
    if (effect.kind !== "write" || effect.real === undefined) return undefined;
    if (lstatSync(effect.real, { throwIfNoEntry: false })?.isDirectory() === true) return undefined;
    if (isInside(effect.real, workDir)) files.push(Buffer.from(relative(workDir, effect.real)).toString("latin1"));
  }
  return [...new Set(files)];
}

/** What was kept before an act. */
export interface KeptAct {
  /** The files that it may change, and the folders that it may create. */
  readonly paths: readonly string[];
  /** What cannot be restored, in words. */
  readonly unkept: readonly string[];
}

/**
 * Keeps files before an act, and records the act. Call within `adding`.
 *
 * @throws Error when that fails, such as with a full disk.
 */
export async function keepAct(
  store: UndoStore,
  files: readonly string[],
  { act, point }: Pick<FileAct, "act" | "point">,
): Promise<KeptAct> {
  const contents: { [id: string]: string } = {};
  const before = new Map<string, Item | null>();
  let bytes = 0;
  const put: Put = async (content) => {
    bytes += content.length;
    requireSpace(store.path, content.length);
    if (content.length > RECORDED_BYTES) return putObject(store.path, content);
    const id = await idOf(content);
    contents[id] = content.toString("base64");
    return id;
  };
  for (const path of files) {
    const item = await itemAt(store, path, put);
    before.set(path, item);
    const isMissing = (at: string) => lstatSync(pathIn(store.workDir, at), { throwIfNoEntry: false }) === undefined;
    if (item === null) for (const folder of parentsOf(path).filter(isMissing)) before.set(folder, null);
  }
  await append(store, { act, at: Date.now(), point, before: [...before], contents, bytes });
  const unkept = [...before].flatMap(([path, item]) =>
    item?.kind === "unkept" ? [`${shown(path)} (${formatSize(item.size)}: ${item.why})`] : [],
  );
  return { paths: [...before.keys()], unkept };
}

/** Returns what an act has left at its paths. */
export async function leftBehind(store: UndoStore, paths: readonly string[]): Promise<Ended["after"]> {
  const after: [string, Item | null][] = [];
  for (const path of paths) after.push([path, await itemAt(store, path, idOf)]);
  return after;
}

/** Records what an act has left. Call within `adding`. */
export function endKeptAct(store: UndoStore, after: Ended["after"], act: string): Promise<void> {
  return append(store, { ended: act, after });
}

/** Returns the recorded acts since the last look at the workspace, in chronological order. */
export function readActs(store: string, log: Log): readonly FileAct[] {
  const acts = new Map<string, FileAct>();
  const text = tried(() => readFileSync(journalOf(store, log), "utf8")) ?? "";
  for (const line of text.split("\n")) {
    const entry = tried(() => JSON.parse(line) as FileAct | Ended); // the last line of a killed process may be cut off
    if (entry === undefined) continue;
    if ("act" in entry) {
      const beside = [...acts.values()].filter(({ after }) => after === undefined).map(({ act }) => act);
      acts.set(entry.act, { ...entry, beside });
    } else {
      const begun = acts.get(entry.ended);
      if (begun !== undefined) acts.set(entry.ended, { ...begun, after: new Map(entry.after) });
    }
  }
  return [...acts.values()];
}

/** Stores the content that the records of acts hold as objects (gitrepository-layout(5)). Call with the lock. */
export async function storeContents(store: string, acts: readonly FileAct[]): Promise<void> {
  for (const { contents = {} } of acts) {
    for (const [id, content] of Object.entries(contents)) {
      if ((await putObject(store, Buffer.from(content, "base64"))) !== id)
        throw new Error("the record of undo is damaged");
    }
  }
}

interface Ended {
  readonly ended: string;
  readonly after: readonly [string, Item | null][];
}

const journals = new Map<string, { readonly version: string; readonly path: string }>();

/** Appends a line to the file that the record names. The record is read only after it was replaced. */
async function append({ path: store }: UndoStore, line: Omit<FileAct, "after" | "beside"> | Ended): Promise<void> {
  const version = versionOf(store);
  let journal = journals.get(store);
  if (journal?.version !== version) journal = { version, path: journalOf(store, await readLog(store)) };
  journals.set(store, journal);
  appendFileSync(journal.path, `\n${JSON.stringify(line)}`, { mode: 0o600 });
}

function journalOf(store: string, { acts = "acts-0" }: Log): string {
  return join(store, acts);
}

async function itemAt(store: UndoStore, path: string, put: Put): Promise<Item | null> {
  const info = lstatSync(pathIn(store.workDir, path), { throwIfNoEntry: false });
  return info === undefined ? null : keepItem(store, path, info, put);
}
