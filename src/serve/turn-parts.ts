import type { ToolActivity } from "../record/activity/fold.ts";
import type { Draft, Question, StreamedMessage, Turn } from "./api-types.ts";
import type { StreamItem } from "./thread-stream.ts";

/** What happens in a turn, piece by piece, for protocols that send pieces. */
export type TurnPart =
  | ({ readonly type: "text" | "reasoning"; readonly id: string; readonly reply: string } & (
      | { readonly at: "start" | "end" }
      | { readonly at: "delta"; readonly delta: string }
    ))
  /** A call begins. `reply`: the reply that made it, if one of this turn did. */
  | { readonly type: "call"; readonly cell: ToolActivity; readonly reply?: string }
  /** The cell of a call, as it is now. */
  | { readonly type: "cell"; readonly cell: ToolActivity }
  | { readonly type: "question"; readonly call: string; readonly question: Question }
  /** `text` is what the model reads. `how` is "refused" if a person refused the call. */
  | {
      readonly type: "result";
      readonly cell: ToolActivity;
      readonly how: "ok" | "failed" | "refused";
      readonly text: string;
    }
  /** `waiting`: the questions that are still open. */
  | { readonly type: "end"; readonly turn: Turn; readonly waiting: readonly Question[] };

type Texts = readonly { readonly type: "text" | "reasoning"; readonly text: string }[];
type Call = Extract<StreamedMessage, { readonly role: "tool" }>;

/**
 * Turns the whole messages of a stream into pieces, up to the end of the turn. Text that was sent stays, also if the
 * model then begins again. Calls that apps do not show are left out, unless a person is asked about them.
 */
export async function* turnParts(items: AsyncIterable<StreamItem>): AsyncGenerator<TurnPart> {
  const written = new Map<string, string[]>();
  const replies = new Map<string, string>();
  const questions = new Map<string, Question>();
  const begun = new Set<string>();
  const ended = new Set<string>();
  let open: Pick<Extract<TurnPart, { reply: string; id: string }>, "type" | "id" | "reply"> | undefined;

  const close = function* (): Generator<TurnPart> {
    if (open !== undefined) yield { ...open, at: "end" };
    open = undefined;
  };

  const write = function* (reply: string, texts: Texts): Generator<TurnPart> {
    const known = written.get(reply) ?? [];
    written.set(reply, known);
    for (const [index, { type, text }] of texts.entries()) {
      const before = known[index];
      if (before === text || !text.startsWith(before ?? "")) continue;
      const part = { type, id: index === 0 ? reply : `${reply}-${index + 1}`, reply };
      if (before === undefined) {
        yield* close();
        open = part;
        yield { ...part, at: "start" };
      }
      yield { ...part, at: "delta", delta: text.slice(before?.length ?? 0) };
      known[index] = text;
    }
  };

  const call = function* (message: Call): Generator<TurnPart> {
    const cell = message.metadata.tool_activity;
    const { id } = cell;
    if (ended.has(id) || !(message.userFacing || begun.has(id) || message.open !== undefined)) return;
    const reply = replies.get(id);
    if (!begun.has(id)) {
      yield* close();
      yield { type: "call", cell, ...(reply !== undefined && { reply }) };
    }
    begun.add(id);
    if (message.open !== undefined && questions.get(id)?.question !== message.open.question)
      yield { type: "question", call: id, question: message.open };
    if (message.open === undefined) questions.delete(id);
    else questions.set(id, message.open);
    yield { type: "cell", cell };
    if (cell.status === "in_progress") return;
    ended.add(id);
    const text = (message.content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
    const isRefused = message.answered?.approval.answer === "refuse";
    const how = cell.status === "success" ? "ok" : isRefused ? "refused" : "failed";
    yield { type: "result", cell, how, text: text === "" ? (cell.error ?? "") : text };
  };

  for await (const { event, data } of items) {
    if (event === "turn") {
      yield* close();
      yield { type: "end", turn: data, waiting: [...questions.values()] };
      return;
    }
    if (data.role === "tool") yield* call(data);
    if (data.role !== "assistant") continue;
    for (const part of data.content) if (part.type === "call") replies.set(part.id, data.key);
    yield* write(data.key, textsOf(data));
    if (!("draft" in data) || data.content.length === 0) yield* close();
  }
}

/** The texts of a reply. Neighbours of one kind are one text, as in a draft. */
function textsOf({ content }: Draft | Extract<StreamedMessage, { readonly role: "assistant" }>): Texts {
  const texts: { type: "text" | "reasoning"; text: string }[] = [];
  for (const part of content) {
    if (part.type === "call" || part.text === "") continue;
    const last = texts.at(-1);
    if (last?.type === part.type) last.text += part.text;
    else texts.push({ type: part.type, text: part.text });
  }
  return texts;
}
