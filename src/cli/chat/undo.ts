import type { ThreadId } from "../../core/contract/identity.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { stateFolder, undoFolder } from "../../app/config/state.ts";
import { oneLine, terminalSafe } from "../../core/output/terminal-text.ts";
import type { GlobalOptions } from "../options.ts";
import {
  type LineCounts,
  type Preview,
  type UndoPoint,
  type UndoPoints,
  openPoints,
} from "../../record/undo/points.ts";
import { plural } from "../../core/util/text.ts";
import { type Said, cutTo, forkThread, lineageOf, momentOf, oneSentence, saidIn } from "../sessions.ts";
import { MESSAGE_CHARACTERS } from "../../record/undo/undo.ts";
import { pointsOfWorker } from "../../team/undo.ts";
import { previewText, restoredText } from "../undo-text.ts";
import { widthOf } from "./wrap.ts";

/** A line of a list to choose from. */
export interface PickItem<T> {
  /** Not wider than the terminal. */
  readonly label: string;
  readonly value: T;
}

/** The chat, as far as its past is looked at and changed. */
export interface PastChat {
  readonly toolkit: Toolkit;
  readonly thread: ThreadId;
  readonly options: GlobalOptions;
  /** The width of the terminal. */
  readonly columns: number;
  /** Asks the person. Absent without a terminal: then a command needs the word "yes". */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
  /** Lets the person choose from a list. Absent without a terminal: then the list is printed. */
  readonly pick?: (<T>(title: string, items: readonly PickItem<T>[]) => Promise<T | undefined>) | undefined;
  /** Continues in another thread; `undefined`: in a new thread. */
  open(thread: ThreadId | undefined): Promise<void>;
  /** Puts a text into the editor. */
  prefill(text: string): void;
}

/** A turn that changed files. */
interface Change {
  readonly point: UndoPoint;
  /** The message that began the turn; `undefined` if the record no longer has it. */
  readonly said: Said | undefined;
  /** Whether an undo has taken the turn's changes back. */
  readonly isUndone: boolean;
}

/** The kept states of a chat's workspace, and what its conversation has changed there, newest first. */
interface Past {
  readonly points: UndoPoints;
  readonly changes: readonly Change[];
}

const ELSEWHERE = "The files of another machine are not kept, so nothing can be compared or taken back there.";
const NOTHING = "This thread has changed no files. `handrail undo --list` shows what others changed.";

/** Takes back what the turns of this conversation changed: `/undo [list|NUMBER] [yes] [force]`. */
export async function undoInChat(chat: PastChat, words: string): Promise<string> {
  const given = words.split(/\s+/).filter(Boolean);
  const [which, ...more] = given.filter((word) => !["yes", "force"].includes(word));
  if (more.length > 0) return `expected /undo [list|NUMBER] [yes] [force], got ${words}`;
  const past = await pastOf(chat);
  if (typeof past === "string") return past;
  if (which === "list") return chat.pick === undefined ? listText(past, chat) : await choose(chat, past);
  const preview = await previewOf(past, which);
  if (preview === undefined) return which === undefined ? NOTHING : noSuchTurn(which);
  return restored(chat, past, preview, { isAgreed: given.includes("yes"), force: given.includes("force") });
}

/** Shows what the turns of this conversation changed in files, as they are now. */
export async function diffInChat(chat: PastChat): Promise<string> {
  const past = await pastOf(chat);
  if (typeof past === "string") return past;
  const diff = await past.points.changes(past.changes.map(({ point }) => point));
  if (past.changes.length === 0) return NOTHING;
  return diff === "" ? "The files are as they were before this thread." : utf8(diff);
}

/**
 * Goes back to before a message: `/rewind [NUMBER] [both|conversation|files]`. The conversation continues as a fork,
 * so that the record keeps all of it; the message is put into the editor.
 */
export async function rewind(chat: PastChat, words: string): Promise<string> {
  const [numbered, wanted, ...more] = words.split(/\s+/).filter(Boolean);
  if (more.length > 0) return `expected /rewind [NUMBER] [both|conversation|files], got ${words}`;
  const said = await saidIn(chat.toolkit.store, chat.thread);
  if (said.length === 0) return "Nothing was said yet.";
  const items = said.toReversed().map((value) => ({ value, label: saidLine(value, chat.columns) }));
  if (numbered === undefined && chat.pick === undefined)
    return [...items.map(({ label }) => label), "To go back: /rewind NUMBER both, conversation or files"].join("\n");
  const message =
    numbered === undefined
      ? await chat.pick?.("Back to before which message?", items)
      : said.find(({ number }) => String(number) === numbered);
  if (message === undefined) return numbered === undefined ? "" : `there is no message ${numbered}`;
  const how = wanted ?? (await chat.pick?.("Take back what?", REWINDS));
  if (how === undefined) return chat.pick === undefined ? "Take back what? Add both, conversation or files." : "";
  if (!REWINDS.some(({ value }) => value === how)) return `expected both, conversation or files, got ${how}`;
  const files = how === "conversation" ? "" : await rewindFiles(chat, message);
  if (files === DECLINED) return files;
  const talk = how === "files" ? "" : await rewindConversation(chat, message);
  return [files, talk].filter((text) => text !== "").join("\n");
}

const REWINDS = [
  { value: "both", label: "the conversation and the files" },
  { value: "conversation", label: "the conversation; files stay as they are" },
  { value: "files", label: "the files; the conversation stays" },
] as const;

/** Begins a thread with the conversation so far, or up to a message, and continues there: `/fork [NUMBER]`. */
export async function fork(chat: PastChat, words: string): Promise<string> {
  const { store } = chat.toolkit;
  if (words === "") {
    await chat.open(await forkThread(store, chat.thread, undefined, chat.options.io.cwd));
    return `This is a copy of the thread so far. The other one stays: /resume ${chat.thread}`;
  }
  const message = (await saidIn(store, chat.thread)).find(({ number }) => String(number) === words);
  if (message === undefined) return `there is no message ${words}. /rewind lists them`;
  return rewindConversation(chat, message);
}

async function rewindConversation(chat: PastChat, { number, event, text }: Said): Promise<string> {
  const before = chat.thread;
  await chat.open(number === 1 ? undefined : await forkThread(chat.toolkit.store, before, event, chat.options.io.cwd));
  chat.prefill(text);
  return `Back to before "${cutTo(oneSentence(text), 60)}". The thread as it was: /resume ${before}`;
}

async function rewindFiles(chat: PastChat, { at }: Said): Promise<string> {
  const past = await pastOf(chat);
  if (typeof past === "string") return past;
  const first = past.changes.findLast(({ point }) => point.at >= at);
  if (first === undefined) return "No file was changed since.";
  const preview = await past.points.preview(first.point.id);
  return restored(chat, past, preview, { isAgreed: chat.confirm === undefined, force: false });
}

/** Shows the turns, then what going back before the chosen one would change, and asks. */
async function choose(chat: PastChat, past: Past): Promise<string> {
  if (past.changes.length === 0) return NOTHING;
  const lines = await linesOf(past, chat.columns);
  const items = past.changes.map((value, index) => ({ value, label: lines[index] ?? "" }));
  const change = await chat.pick?.("Take back which turn, and those after it?", items);
  if (change === undefined) return "";
  const preview = await past.points.preview(change.point.id);
  return restored(chat, past, preview, { isAgreed: false, force: false });
}

/** Asks, and restores. Returns what was done, or how it would be. */
async function restored(
  { toolkit: { jobs }, confirm }: PastChat,
  { points, changes }: Past,
  preview: Preview,
  { isAgreed, force }: { readonly isAgreed: boolean; readonly force: boolean },
): Promise<string> {
  const { files, conflicts } = preview.plan;
  const count = files.length + (force ? conflicts.length : 0);
  const restore = async () => restoredText(await points.restore(preview, { force }), "/undo");
  if (count > 0 && isAgreed) return restore();
  const running = (await jobs.list()).filter(({ ended }) => ended === undefined).map(({ command }) => command);
  const change = changes.find(({ point }) => point.id === preview.point.id);
  const [name, label] = change?.said === undefined ? [preview.point.id, undefined] : namesOf(change.said);
  const choices = { force: "force", repository: "handrail undo --git-state", list: "/undo list" };
  const text = previewText(preview, running, { ...choices, ...(label !== undefined && { point: label }) });
  if (files.length + conflicts.length === 0) return text;
  if (count > 0 && confirm !== undefined) {
    return (await confirm(`${text}\nRestore ${plural(count, "path")}?`)) ? restore() : DECLINED;
  }
  return `${text}\nTo restore: /undo ${name}${files.length === 0 || force ? " force" : ""} yes`;
}

const DECLINED = "Nothing was restored.";

function namesOf({ number, text }: Said): readonly [name: string, label: string] {
  return [String(number), `before "${cutTo(oneSentence(text), 60)}"`];
}

/** Previews the turn with this number, or the point with this id. Default: the newest turn that can be taken back. */
async function previewOf({ points, changes }: Past, which: string | undefined): Promise<Preview | undefined> {
  if (which !== undefined) {
    const numbered = changes.findLast(({ said }) => String(said?.number) === which);
    if (numbered === undefined && /^\d{1,4}$/.test(which)) return undefined;
    return points.preview(numbered?.point.id ?? which);
  }
  for (const { point, isUndone } of changes) {
    if (isUndone) continue;
    const preview = await points.preview(point.id);
    if (preview.plan.files.length + preview.plan.conflicts.length > 0) return preview;
  }
  return undefined;
}

function noSuchTurn(which: string): string {
  return `message ${which} has changed no files. /undo list shows those that have`;
}

async function listText(past: Past, { columns }: PastChat): Promise<string> {
  return past.changes.length === 0 ? NOTHING : (await linesOf(past, columns)).join("\n");
}

/** A line for each turn: its number, its time, its words, and what it changed. */
async function linesOf({ points, changes }: Past, columns: number): Promise<readonly string[]> {
  const counts = await points.lines(changes.map(({ point }) => point));
  return changes.map(({ point, said, isUndone }) => {
    const counted = counts.get(point.id);
    const end = `${plural(point.files.length, "file").padStart(8)}  ${countsText(counted).padEnd(12)}`;
    const state = isUndone ? "  undone" : "        ";
    return `${saidLine(said ?? saidOf(point), columns - end.length - state.length)}${end}${state}`.trimEnd();
  });
}

/** "+24 −9". */
function countsText(counts: LineCounts | undefined): string {
  if (counts === undefined) return "";
  return `+${counts.added}${counts.removed === 0 ? "" : ` −${counts.removed}`}`;
}

function saidOf({ at, message, tool }: UndoPoint): Omit<Said, "number"> & { readonly number: string } {
  return { number: "", event: 0, at, text: message ?? tool };
}

/** `  4  10:42  "use the clock everywhere"`, filled up to the columns. */
function saidLine({ number, at, text }: Omit<Said, "number"> & { readonly number: number | string }, columns: number) {
  const start = `${String(number).padStart(3)}  ${momentOf(at, Date.now()).padEnd(6)} `;
  const quoted = `"${cutTo(oneSentence(text), Math.max(8, columns - start.length - 3))}"`;
  return `${start}${quoted}${" ".repeat(Math.max(1, columns - start.length - widthOf(quoted)))}`;
}

/** Reads what the conversation has changed. Returns a sentence if changes are not kept. */
async function pastOf({ toolkit, thread, options }: PastChat): Promise<Past | string> {
  const { backend, store } = toolkit;
  if (backend.access !== undefined && backend.worker === undefined) return ELSEWHERE;
  const points =
    backend.worker === undefined
      ? await openPoints({ folder: undoFolder(stateFolder(options.io.env)), workDir: backend.workDir })
      : pointsOfWorker(toolkit);
  const [all, parts] = [await points.list(), await lineageOf(store, thread)];
  const undone = undoneIn(all.toReversed());
  const said = await saidIn(store, thread);
  const isOwn = (point: UndoPoint) =>
    point.by !== "undo" && parts.some((part) => part.thread === point.thread && point.at <= part.untilMs);
  const changes = all
    .filter((point) => isOwn(point) && point.files.length > 0)
    .map((point) => ({
      point,
      said: said.findLast(({ at, text }) => at <= point.at && oneLine(text, MESSAGE_CHARACTERS) === point.message),
      isUndone: undone.has(point.id),
    }));
  return { points, changes };
}

/**
 * Returns the points whose acts an undo has taken back: all from the point to which it went back. An undo of an undo
 * brings them back.
 *
 * @param points oldest first
 */
function undoneIn(points: readonly UndoPoint[]): ReadonlySet<string> {
  let undone = new Set<string>();
  const before = new Map<string, ReadonlySet<string>>();
  for (const [index, { id, by, tool }] of points.entries()) {
    before.set(id, undone);
    if (by !== "undo") continue;
    const start = points.findIndex((each) => each.id === tool);
    if (start === -1) continue;
    const back = points.slice(start, index).filter((each) => each.by !== "undo");
    undone = new Set([...(before.get(tool) ?? []), ...back.map((each) => each.id)]);
  }
  return undone;
}

function utf8(bytes: string): string {
  return terminalSafe(Buffer.from(bytes, "latin1").toString("utf8"));
}
