import { basename } from "node:path";
import type { Store, ThreadSummary } from "../core/contract/activity.ts";
import type { Content } from "../core/contract/content.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import { machineOf } from "../core/call/park.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import { randomName } from "../core/util/identifier.ts";
import { clip, plural } from "../core/util/text.ts";
import { widthOf } from "./chat/wrap.ts";
import { localTime } from "./local-time.ts";

/** A message that a person wrote to an agent. */
export interface Said {
  /** The message's number in its thread; 1 for the first. */
  readonly number: number;
  /** The event that recorded the message, and when. Milliseconds since 1970. */
  readonly event: number;
  readonly at: number;
  readonly text: string;
}

/** Reads the messages of people in a thread, oldest first. */
export async function saidIn(store: Pick<Store, "events">, thread: ThreadId): Promise<readonly Said[]> {
  const said: Said[] = [];
  for await (const event of store.events({ thread, messages: true, types: ["message.added"] })) {
    if (event.type !== "message.added" || event.message.role !== "user" || event.message.from !== "person") continue;
    said.push({ number: said.length + 1, event: event.id, at: event.at, text: textOf(event.message.content) });
  }
  return said;
}

function textOf(content: readonly Content[]): string {
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}

/**
 * Begins a new thread with the first messages of another thread, which stays as it is. The new thread names the other
 * thread, and has the same target, folder and options. Messages keep their times.
 *
 * @param before the event of the first message that the new thread lacks; `undefined`: it has all messages
 * @returns the id of the new thread. It is durable.
 * @throws Error when the thread has no messages before that.
 */
export async function forkThread(
  store: Store,
  from: ThreadId,
  before: number | undefined,
  cwd: string,
): Promise<ThreadId> {
  const thread = randomName(10);
  const at = Date.now();
  let origin = { target: "local", workDir: cwd };
  const messages = [];
  for await (const event of store.events({ thread: from, messages: true })) {
    if (before !== undefined && event.id >= before) break;
    if (event.type === "thread.created") {
      const { target, workDir, startedWith } = event;
      origin = { target, workDir, ...(startedWith !== undefined && { startedWith }) };
    }
    if (event.type === "message.added") messages.push({ ...event, thread });
  }
  const last = messages.at(-1);
  if (last === undefined) throw new Error("there is nothing before the first message. /new begins a new thread");
  store.append({ type: "thread.created", thread, at, fork: from, ...origin });
  for (const { id: _, ...message } of messages.slice(0, -1)) store.append(message);
  const { id: _, ...event } = last;
  await store.commit(event);
  return thread;
}

/** A thread, as far as another thread continues it. */
export interface Part {
  readonly thread: ThreadId;
  /** When the other thread was forked from this one; infinite for a thread itself. Milliseconds since 1970. */
  readonly untilMs: number;
}

/** Returns a thread, and the threads from which it was forked, newest first. */
export async function lineageOf(store: Pick<Store, "threads">, thread: ThreadId): Promise<readonly Part[]> {
  const all = new Map((await store.threads()).map((each) => [each.thread, each]));
  const parts: Part[] = [{ thread, untilMs: Infinity }];
  for (let at = all.get(thread); at?.fork !== undefined && parts.length < 100; at = all.get(at.fork)) {
    parts.push({ thread: at.fork, untilMs: at.createdMs });
  }
  return parts;
}

/** The maximum number of threads in a list to choose from. */
const MOST_LISTED = 20;

/** A thread in a list to choose from. */
export interface SessionRow {
  readonly thread: ThreadId;
  /** When it changed, its first words, where it works, its calls, and "?" if a question waits. */
  readonly label: string;
}

/**
 * Lists the threads that work in a folder of this machine or were started there, newest first.
 *
 * @param folder the real path
 * @param columns how wide a row may be
 */
export async function sessionRows(
  store: Pick<Store, "threads" | "events" | "questions">,
  folder: string,
  { columns, nowMs = Date.now() }: { readonly columns: number; readonly nowMs?: number },
): Promise<readonly SessionRow[]> {
  const isHere = ({ target = "", workDir, startedWith, parent, title }: ThreadSummary) =>
    parent === undefined &&
    title !== undefined &&
    (startedWith?.["from"] === folder || (machineOf(target) === "local" && workDir === folder));
  const shown = (await store.threads()).filter(isHere).toReversed().slice(0, MOST_LISTED);
  const asked = new Set((await store.questions()).map(({ thread }) => thread));
  return Promise.all(
    shown.map(async (each) => {
      const calls = `${plural(await callsIn(store, each.thread), "call")}${asked.has(each.thread) ? "?" : " "}`;
      const place = oneLine(placeOf(each), 24);
      const end = `${place.padEnd(16)} ${calls.padStart(10)}`;
      const title = cutTo(oneSentence(each.title ?? ""), Math.max(10, columns - end.length - 9));
      const gap = " ".repeat(Math.max(1, columns - 7 - widthOf(title) - end.length));
      return { thread: each.thread, label: `${momentOf(each.changedMs, nowMs).padEnd(7)}${title}${gap}${end}` };
    }),
  );
}

/** Returns a message as one line for a list, without line breaks. */
export function oneSentence(text: string): string {
  return oneLine(text.trim().replace(/\s+/g, " "), 1_000);
}

/** Cuts a text to this many columns. */
export function cutTo(text: string, columns: number): string {
  let cut = text;
  for (let most = columns; widthOf(cut) > columns; most--) cut = clip(text, most);
  return cut;
}

async function callsIn(store: Pick<Store, "events">, thread: ThreadId): Promise<number> {
  let count = 0;
  for await (const event of store.events({ thread, messages: true, types: ["message.added"] })) {
    if (event.type !== "message.added" || event.message.role !== "assistant") continue;
    count += event.message.content.filter(({ type }) => type === "call").length;
  }
  return count;
}

/** Names where a thread works: its folder on this machine, or the other machine. */
function placeOf({ target = "local", workDir = "" }: ThreadSummary): string {
  const machine = machineOf(target);
  return machine === "local" ? basename(workDir) : machine.replace(/^ssh:/, "");
}

/** A time for a list: "10:42" today, "Mon" in the last six days, "2 Nov" before. */
export function momentOf(ms: number, nowMs: number): string {
  const [then, now] = [new Date(ms), new Date(nowMs)];
  if (then.toDateString() === now.toDateString()) return localTime(ms).slice(11, 16);
  if (nowMs - ms < 6 * 86_400_000) return then.toLocaleDateString("en", { weekday: "short" });
  return then.toLocaleDateString("en", { day: "numeric", month: "short" });
}
