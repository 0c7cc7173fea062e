import { type Content, text } from "../../core/contract/content.ts";
import { jsonOf, notedOf } from "../../core/call/odd-part.ts";
import { takenPart } from "../../core/call/taken-part.ts";
import { plainBase64 } from "../../core/files/picture.ts";
import { tried } from "../../core/util/errors.ts";
import { withExactNumbers } from "../../core/util/exact-json.ts";
import { isRecord } from "../../core/util/record.ts";

/** A message of a plugin, one per line. See docs/plugins.md. */
export type PluginMessage =
  /**
   * `form` is "init", or "describe" for the older form without a type, in which a plugin has one tool and answers one
   * call after another.
   */
  | { readonly type: "tools"; readonly tools: readonly unknown[]; readonly form: "init" | "describe" }
  | {
      readonly type: "result";
      /** `undefined` if the message names no call. */
      readonly callId: string | undefined;
      readonly content: readonly Content[];
      readonly isError: boolean;
    }
  | { readonly type: "update"; readonly callId: string | undefined; readonly message: string }
  /** `why` says, for people, why the line is not a message. */
  | { readonly type: "none"; readonly why: string };

/** Parses a line of a plugin. Never throws. */
export function readMessage(line: string): PluginMessage {
  const value: unknown = tried(() => JSON.parse(withExactNumbers(line)));
  if (!isRecord(value)) return { type: "none", why: "expected one JSON object in each line" };
  const { type, tools, name, content, call_id: id, message } = value;
  const callId = typeof id === "string" || typeof id === "number" ? String(id) : undefined;
  if (type === "init" || type === "describe" || (type === undefined && content === undefined)) {
    const form = type === "init" ? "init" : "describe";
    if (Array.isArray(tools)) return { type: "tools", tools, form };
    if (typeof name === "string") return { type: "tools", tools: [value], form };
    return { type: "none", why: 'expected "tools", a list of {name, description, parameters}' };
  }
  if (type === "update") return { type: "update", callId, message: textParts(message ?? content) };
  if (type === "result" || type === "error" || type === undefined) {
    const { is_error: isError, error } = value;
    const isFailure =
      isError === true || type === "error" || (error !== undefined && error !== false && error !== null);
    const given = content ?? message ?? (typeof error === "string" ? error : undefined);
    const parts = partsOf(given);
    if (parts !== undefined) return { type: "result", callId, content: parts, isError: isFailure };
    const why = 'expected "content", a list of {"type":"text","text"} or {"type":"image","data","mimeType"}';
    const { type: _, call_id: __, ...sent } = value;
    const words = `The plugin's result is not valid: ${why}. The tool has run, and sent: ${jsonOf(sent)}`;
    return { type: "result", callId, content: [text(words)], isError: true }; // otherwise its call would wait forever
  }
  return { type: "none", why: `there is no message of the type ${JSON.stringify(type).slice(0, 60)}` };
}

function partsOf(given: unknown): readonly Content[] | undefined {
  if (typeof given === "string") return [text(given)];
  if (isRecord(given)) return [partOf(given)];
  return Array.isArray(given) ? given.map(partOf) : undefined;
}

/** Returns a part. One that is none becomes text with what can be read of it. */
function partOf(part: unknown): Content {
  if (!isRecord(part)) return text(notedOf(part));
  const { type, text: words, data, mimeType = part["mime_type"] } = part;
  if (type === "text" && typeof words === "string") return text(words);
  if (type !== "image" || typeof data !== "string" || plainBase64(data) === undefined) return text(notedOf(part));
  return takenPart({ type, data, mimeType: typeof mimeType === "string" ? mimeType : "unknown type" });
}

function textParts(given: unknown): string {
  return (partsOf(given) ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
