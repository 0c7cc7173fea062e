import { jsonOf, notedOf, readableOf } from "../../core/call/odd-part.ts";
import { plainBase64 } from "../../core/files/picture.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { isRecord, withoutNulls } from "../../core/util/record.ts";

/** The SDK's checks of what a server sends. Each returns the fault, or `undefined`. */
export interface Checks {
  readonly block: (value: unknown) => Fault | undefined;
  readonly tool: (value: unknown) => Fault | undefined;
  readonly prompt: (value: unknown) => Fault | undefined;
  readonly resource: (value: unknown) => Fault | undefined;
  readonly template: (value: unknown) => Fault | undefined;
}

export interface Fault {
  /** The field in which it is; "" for the whole. */
  readonly field: string;
  /** In words, with the place. */
  readonly words: string;
}

type Fields = { readonly [key: string]: unknown };

type List = readonly [field: string, check: keyof Checks, what: string];

/** The lists that a server sends in pages: the field of the items, how they are checked and what they are called. */
export const LISTS: ReadonlyMap<string, List> = new Map<string, List>([
  ["tools/list", ["tools", "tool", "tool"]],
  ["prompts/list", ["prompts", "prompt", "prompt"]],
  ["resources/list", ["resources", "resource", "resource"]],
  ["resources/templates/list", ["resourceTemplates", "template", "resource template"]],
]);

export interface Mending {
  readonly checks: Checks;
  /** True for a revision from 2026-07-28 on, in which schemas and data of results need not be objects. */
  readonly isModern: boolean;
  /** Called with the end of a sentence for each item of a list that cannot be used. */
  readonly leftOut: (words: string) => void;
}

/**
 * Returns the result of a request as the SDK takes it. The SDK refuses a result as a whole: here only what is odd in it
 * is left out, or becomes text.
 */
export function mendedResult(method: string, given: Fields, mending: Mending): Fields {
  const bare = withoutNulls(given);
  const isBare = mending.isModern && bare["resultType"] === undefined;
  const result = isBare ? { ...bare, resultType: "complete" } : bare;
  if (result["resultType"] === "input_required") return result;
  const list = LISTS.get(method);
  if (list !== undefined) return mendedList(result, list, mending);
  switch (method) {
    case "tools/call":
      return mendedCall(result, mending);
    case "resources/read":
      return { ...result, contents: listOf(result["contents"] ?? result["content"]).map(mendedContents) };
    case "prompts/get":
      return { ...result, messages: listOf(result["messages"]).flatMap((each) => mendedMessages(each, mending)) };
    default:
      return result;
  }
}

function mendedCall(result: Fields, { checks, isModern }: Mending): Fields {
  const { content, isError, structuredContent, _meta, resultType, ...others } = result;
  const isBare = content === undefined && structuredContent === undefined && Object.keys(others).length > 0;
  const blocks = listOf(isBare ? jsonOf(others) : content).map((each) => mendedBlock(each, checks.block));
  const isOdd = !isModern && structuredContent !== undefined && !isRecord(structuredContent);
  const { structuredContent: _, ...plain } = result;
  return {
    ...(isOdd ? plain : result),
    ...(isError !== undefined && { isError: isError === true || isError === "true" }),
    content: isOdd ? [...blocks, { type: "text", text: jsonOf(structuredContent) }] : blocks,
  };
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** Returns a valid block: without the fields that are odd, or what can be read of it. */
function mendedBlock(block: unknown, fault: Checks["block"]): unknown {
  if (fault(block) === undefined) return block;
  const bare = isRecord(block) ? bareBlock(block) : undefined;
  return bare !== undefined && fault(bare) === undefined ? bare : { type: "text", text: notedOf(block) };
}

function bareBlock({ type, data, mimeType, mime_type: otherType, uri, name, resource }: Fields): Fields | undefined {
  const label = [mimeType, otherType].find((each) => typeof each === "string") ?? "application/octet-stream";
  if (type === "image" || type === "audio")
    return { type, data: typeof data === "string" ? plainBase64(data) : data, mimeType: label };
  if (type === "resource_link") return { type, uri, name: typeof name === "string" ? name : uri };
  return type === "resource" && isRecord(resource) ? { type, resource: mendedContents(resource) } : undefined;
}

/** Returns the contents of a resource, with a text or bytes. */
function mendedContents(given: unknown): Fields {
  const { uri, mimeType, text, blob } = isRecord(given) ? given : { text: given };
  const bytes = typeof blob === "string" ? plainBase64(blob) : undefined;
  return {
    uri: typeof uri === "string" ? uri : "",
    ...(typeof mimeType === "string" && { mimeType }),
    ...(bytes === undefined ? { text: readableOf(text ?? blob ?? given) } : { blob: bytes }),
  };
}

/** Returns the messages of a prompt, each with one block. */
function mendedMessages(message: unknown, { checks: { block } }: Mending): readonly Fields[] {
  const { role, content } = isRecord(message) ? message : { content: message };
  return listOf(content).map((each) => ({
    role: role === "assistant" ? role : "user",
    content: mendedBlock(each, block),
  }));
}

function mendedList(result: Fields, [field, check, what]: List, { checks, isModern, leftOut }: Mending): Fields {
  const items = listOf(result[field]).flatMap((given) => {
    const mended = mendedItem(isRecord(given) ? withSchemas(given, isModern) : given, checks[check]);
    if ("item" in mended) return [mended.item];
    const name =
      isRecord(given) && typeof given["name"] === "string" ? JSON.stringify(given["name"]) : "without a name";
    leftOut(`the ${what} ${oneLine(name, SHOWN)} is left out: ${mended.fault.words}.`);
    return [];
  });
  return { ...result, [field]: items };
}

/** How many characters of a name are shown. */
const SHOWN = 80;

/** Returns the item with an input schema for an object, and without an output schema that cannot be used. */
function withSchemas({ outputSchema, ...item }: Fields, isModern: boolean): Fields {
  const { inputSchema } = item;
  const isKept = isRecord(outputSchema) && (isModern || outputSchema["type"] === "object");
  const isBare = isRecord(inputSchema) && inputSchema["type"] === undefined;
  return {
    ...item,
    ...(isBare && { inputSchema: { ...inputSchema, type: "object" } }),
    ...(isKept && { outputSchema }),
  };
}

/** What an item needs. Every other field is left out if it is odd. */
const NEEDED: ReadonlySet<string> = new Set(["name", "inputSchema", "uri", "uriTemplate", ""]);

function mendedItem(given: unknown, faultOf: Checks["tool"]): { readonly item: unknown } | { readonly fault: Fault } {
  let item = given;
  for (;;) {
    const fault = faultOf(item);
    if (fault === undefined) return { item };
    if (!isRecord(item) || NEEDED.has(fault.field) || !(fault.field in item)) return { fault };
    const { [fault.field]: _, ...others } = item;
    item = others;
  }
}
