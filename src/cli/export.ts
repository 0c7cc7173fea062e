import { stripVTControlCharacters } from "node:util";
import { type ThreadMessage, readThread } from "../record/activity/messages.ts";
import type { Store, ThreadSummary } from "../core/contract/activity.ts";
import { terminalSafe, oneLine } from "../core/output/terminal-text.ts";
import { parseJson } from "../core/util/json.ts";
import { localTime } from "./local-time.ts";

/** The forms in which a thread is exported. */
export const EXPORT_FORMATS = ["md", "json"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/**
 * Returns a whole thread as text, as it is recorded: secrets masked, images replaced by their type and size. Control
 * and bidi characters are written out, except in JSON.
 *
 * - `md`: Markdown. Output of calls is in fences that it cannot close.
 * - `json`: `{ format: "handrail-thread", version: 1, thread: ThreadSummary, messages: ThreadMessage[] }`.
 */
export async function exportThread(
  store: Pick<Store, "events">,
  thread: ThreadSummary,
  format: ExportFormat,
): Promise<string> {
  const messages = await readThread(store, thread.thread);
  if (format === "json") {
    return `${JSON.stringify({ format: "handrail-thread", version: 1, thread, messages }, undefined, 2)}\n`;
  }
  return markdownOf(thread, messages.filter(isShown).map(pieceOf));
}

/** A message or a call, as people read it. Texts are raw. */
interface Piece {
  readonly who: "You" | "Handrail" | "Agent" | "call";
  readonly at: number;
  readonly text: string;
  /** For a call: `bash npm test`, and how it ended. */
  readonly call?: { readonly name: string; readonly input: string; readonly status: string };
}

function isShown(message: ThreadMessage): boolean {
  return message.role === "tool" ? message.userFacing : message.content.some((part) => part.type !== "call");
}

function pieceOf(message: ThreadMessage): Piece {
  const { at } = message;
  if (message.role === "user") {
    return { who: message.from === "person" ? "You" : "Handrail", at, text: textsOf(message.content) };
  }
  if (message.role === "assistant") {
    return { who: "Agent", at, text: textsOf(message.content.filter(({ type }) => type === "text")) };
  }
  const { name, input, status, error } = message.metadata.tool_activity;
  const ms = message.endedMs === undefined ? "" : `, ${((message.endedMs - at) / 1_000).toFixed(1)} s`;
  return {
    ...{ who: "call", at, text: textsOf(message.content ?? []) || (error ?? "") },
    call: { name, input: inputText(input), status: `${message.result ?? status}${ms}` },
  };
}

function textsOf(content: readonly { readonly type: string; readonly text?: string }[]): string {
  return content.map((part) => part.text ?? `[${part.type}]`).join("\n");
}

/** The arguments of a call: if there is only one text, that text; otherwise JSON. */
function inputText(input: unknown): string {
  const parsed = typeof input === "string" ? parseJson(input) : { ok: true as const, value: input };
  const value: unknown = parsed.ok ? parsed.value : input;
  const values = typeof value === "object" && value !== null ? Object.values(value) : [];
  const [only] = values;
  if (values.length === 1 && typeof only === "string") return only;
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
}

function titleOf({ title, thread }: ThreadSummary): string {
  return oneLine((title ?? `Thread ${thread}`).replace(/\s+/g, " "), 120);
}

function placeOf({ thread, target, workDir, createdMs }: ThreadSummary): string {
  const place = target === undefined ? "" : ` · ${target}:${workDir ?? ""}`;
  return oneLine(`Thread ${thread}${place} · ${localTime(createdMs).slice(0, 16)}`, 500);
}

function markdownOf(thread: ThreadSummary, pieces: readonly Piece[]): string {
  const parts = pieces.map(({ who, at, text, call }) => {
    const time = localTime(at).slice(0, 16);
    if (call === undefined) return `**${who}** · ${time}\n\n${text.trimEnd()}`;
    const heading = `● **${oneLine(call.name, 100)}** · ${oneLine(call.status, 100)}`;
    return [heading, fenced(call.input), ...(text === "" ? [] : [fenced(text)])].join("\n\n");
  });
  const text = [`# ${titleOf(thread)}`, placeOf(thread), ...parts, ""].join("\n\n").replace(/\n+$/, "\n");
  return stripVTControlCharacters(terminalSafe(text));
}

/** Puts a text into a fence that is longer than any run of backticks in it. */
function fenced(text: string): string {
  const runs = (text.match(/`+/g) ?? []).map(({ length }) => length);
  const fence = "`".repeat(Math.max(3, ...runs.map((length) => length + 1)));
  return `${fence}\n${text.trimEnd()}\n${fence}`;
}
