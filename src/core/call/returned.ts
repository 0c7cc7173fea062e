import { type Content, text } from "../contract/content.ts";
import type { Json } from "../contract/schema.ts";
import type { Tool } from "../contract/tool.ts";
import { plainBase64 } from "../files/picture.ts";
import { oneLine } from "../output/terminal-text.ts";
import { messageOf } from "../util/errors.ts";
import { isRecord } from "../util/record.ts";
import { asJson } from "./bound-json.ts";
import type { Executed } from "./execute.ts";
import { jsonOf, readableOf } from "./odd-part.ts";
import { takenPart } from "./taken-part.ts";

/** What a tool returned: data, and parts as a model can take them. */
export interface Returned {
  readonly data: Json;
  readonly parts: readonly Content[];
  /** What is wrong with it, as the end of a sentence about the tool. The parts have what can be read. */
  readonly fault?: string;
}

/** Checks what a tool's `run`, `render` and `attach` gave: the types that they promise are not there when it runs. */
export function returnedBy(tool: Pick<Tool, "render">, input: unknown, { data: given, attached }: Executed): Returned {
  const data = asJson(given);
  if (data === undefined)
    return { ...checkedParts(attached), data: null, fault: `returned data that is not JSON${whyNot(given)}` };
  const rendered = renderedBy(tool, data, input);
  const { parts, fault } = checkedParts(attached.length === 0 ? rendered.parts : [...rendered.parts, ...attached]);
  const first = rendered.fault ?? fault;
  return { data, parts, ...(first !== undefined && { fault: first }) };
}

/** Checks parts of a result. One that cannot be used becomes text, and the fault names the first. */
export function checkedParts(given: unknown): Pick<Returned, "parts" | "fault"> {
  if (!Array.isArray(given))
    return { parts: [text(readableOf(given))], fault: `gave ${shown(given)} in place of a list of parts` };
  let fault: string | undefined;
  const parts = given.map((part: unknown, index) => {
    const why = partFault(part);
    if (why === undefined) return takenPart(part as Content);
    fault ??= `gave a part that cannot be used: part ${index + 1} ${why}`;
    return text(readableOf(part));
  });
  return { parts, ...(fault !== undefined && { fault }) };
}

function renderedBy(
  { render }: Pick<Tool, "render">,
  data: Json,
  input: unknown,
): { readonly parts: readonly unknown[]; readonly fault?: string } {
  const plain = [text(typeof data === "string" ? data : JSON.stringify(data))];
  if (render === undefined) return { parts: plain };
  let rendered: unknown;
  try {
    rendered = render(data, input);
  } catch (error) {
    return { parts: plain, fault: `could not render its result: ${messageOf(error)}` };
  }
  if (typeof rendered === "string") return { parts: [text(rendered)] };
  if (Array.isArray(rendered)) return { parts: rendered };
  if (rendered instanceof Promise) rendered.catch(() => undefined);
  const what = rendered instanceof Promise ? "a Promise" : shown(rendered);
  return { parts: plain, fault: `rendered its result as ${what}; expected a text or a list of parts` };
}

/** Why a part cannot be used, as the end of a sentence. */
function partFault(part: unknown): string | undefined {
  if (!isRecord(part)) return `is ${shown(part)}; expected an object with a type`;
  const { type, text: words, data, uri, blob } = part;
  switch (type) {
    case "text":
      return typeof words === "string" ? undefined : `has the text ${shown(words)}; expected a string`;
    case "image":
    case "audio":
      return bytesFault("data", data);
    case "resource":
      if (typeof uri !== "string") return `has the uri ${shown(uri)}; expected a string`;
      return typeof words === "string" ? undefined : bytesFault("blob", blob);
    default:
      return `has the type ${shown(type)}; expected "text", "image", "audio" or "resource"`;
  }
}

function bytesFault(field: string, value: unknown): string | undefined {
  if (typeof value === "string" && plainBase64(value) !== undefined) return undefined;
  return `has the ${field} ${shown(value)}; expected bytes in base64`;
}

function whyNot(data: unknown): string {
  try {
    return JSON.stringify(data) === undefined ? `: ${typeof data}` : "";
  } catch (error) {
    return `: ${messageOf(error)}`;
  }
}

/** How many characters are shown of what is wrong. */
const SHOWN = 80;

function shown(value: unknown): string {
  return value === undefined ? "undefined" : oneLine(jsonOf(value), SHOWN);
}
