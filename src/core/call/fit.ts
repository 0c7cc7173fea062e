import type { ApprovedCall } from "../contract/call.ts";
import { type Content, isReadable, notice, text } from "../contract/content.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Json, JsonSchema } from "../contract/schema.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Limit, Outputs } from "../contract/tool.ts";
import { foreignSource, inBoundary, isOwn, plainPart, seenParts } from "./foreign-text.ts";
import type { Host } from "./host.ts";
import type { SavedImages } from "./record.ts";
import { maskedContent } from "./mask-result.ts";
import { DEFAULT_LIMIT, savedNotice, truncateHead, truncateTail } from "../output/truncate.ts";
import type { Executed } from "./execute.ts";
import { boundJson } from "./bound-json.ts";
import { checkedParts, returnedBy } from "./returned.ts";
import { outputFault } from "./validate.ts";

/** The room for notices that a tool adds when it truncates its own output. */
const NOTICE_LINES = 10;
const NOTICE_BYTES = 2_048;

/**
 * Renders a tool's data, masks secrets and enforces the tool's limit: longer text is truncated at the end that the tool
 * does not keep, and saved whole as `output://ID`. Long texts inside the data are truncated too. Text that others wrote
 * is put inside a boundary. Notices for the model come last, outside it. Images are saved as well, for people who look
 * at the call later.
 *
 * @throws ToolFailure when a part is none, or when the data is not JSON or does not fit the tool's output schema after
 *   masking. It has the result in its content. Truncated data may not fit the schema.
 */
export async function fit(
  call: ApprovedCall,
  executed: Executed,
  {
    outputs,
    notices,
    mask,
    store,
    outputForCaller,
  }: Pick<Host, "outputs" | "notices" | "mask" | "store" | "outputForCaller">,
): Promise<{ content: readonly Content[]; data: Json; images?: SavedImages }> {
  const { tool, request } = call;
  const keep = tool.keep ?? "head";
  const { data: json, parts, fault: ownFault } = returnedBy(tool, call.input, executed);
  const fitting = { limit: tool.limit ?? DEFAULT_LIMIT, keep, outputs, mask };
  const from = call.effects.length === 0 ? undefined : await foreignSource(call, store);
  const content =
    from === undefined ? await fitted(parts.map(plainPart), fitting) : await bounded(parts, from, fitting);
  const whole = mask.json(json);
  const data = boundJson(whole, keep);
  const fault = ownFault ?? (await faultOf(whole, tool.output, outputForCaller));
  if (fault !== undefined) {
    throw new ToolFailure(`tool "${tool.name}" ${fault}`, {
      hint: content.length === 0 ? "The tool has run." : "The tool has run; its result is below.",
      content: content.map((part) => (isReadable(part) ? notice(part.text) : part)), // already inside its boundary
    });
  }
  const images = content.some(isImage) ? await savedImages(content, outputs) : undefined;
  const news = notices.take(request.thread);
  return {
    content: news.length === 0 ? content : [...content, ...news.map((words) => text(mask.text(`[${words}]`)))],
    data,
    ...(images !== undefined && { images }),
  };
}

/** Why the data does not fit the tool's schema, or the other one, as the end of a sentence about the tool. */
async function faultOf(data: Json, schema: JsonSchema | undefined, other: JsonSchema | undefined) {
  const isOther = other !== undefined && JSON.stringify(other) !== JSON.stringify(schema);
  const fault =
    (schema === undefined ? undefined : await outputFault(schema, data)) ??
    (isOther ? await outputFault(other, data) : undefined);
  return fault === undefined ? undefined : `returned data that does not fit its output schema: ${fault}`;
}

/** Fits text that others wrote, inside a boundary, with our own notices after it. */
async function bounded(parts: readonly Content[], from: string, fitting: Fitting): Promise<readonly Content[]> {
  const { seen, notices } = seenParts(parts.filter((part) => !isOwn(part)));
  const { parts: theirs, cut } = await truncated(seen, fitting);
  const own = [...(cut === undefined ? [] : [text(cut)]), ...notices, ...parts.filter(isOwn)];
  return [...inBoundary(theirs, from), ...maskedContent(own.map(plainPart), fitting.mask)];
}

/** Does the same for a call that did not succeed: for its partial results and the words of another program. */
export async function fitFailure(
  result: ToolResult,
  error: unknown,
  call: ApprovedCall | undefined,
  { store }: Pick<Host, "store">,
): Promise<ToolResult> {
  if (result.status !== "failed" && result.status !== "aborted") return result;
  const given = result.content === undefined ? undefined : checkedParts(result.content).parts;
  const isForeign = error instanceof ToolFailure && error.foreign === true;
  const from = call === undefined ? undefined : await foreignSource(call, store);
  if (from === undefined) return given === undefined ? result : { ...result, content: given.map(plainPart) };
  const { seen, notices } = seenParts((given ?? []).filter((part) => !isOwn(part)));
  const content = [...inBoundary(seen, from), ...notices, ...(given ?? []).filter(isOwn)].map(plainPart);
  const rest = { ...result, ...(given !== undefined && { content }) };
  if (rest.status !== "failed" || !isForeign) return rest;
  const words = seenParts([text(rest.message)]);
  const message = inBoundary(words.seen, from).map((part) => (isReadable(part) ? part.text : ""));
  return { ...rest, message: message.join("") };
}

type Image = Extract<Content, { type: "image" }>;

function isImage(part: Content): part is Image {
  return part.type === "image";
}

async function savedImages(content: readonly Content[], outputs: Outputs): Promise<SavedImages> {
  const images = content.filter(isImage);
  const ids = await Promise.all(
    images.map(({ data }) => outputs.save(Buffer.from(data, "base64")).catch(() => undefined)),
  );
  return new Map(images.flatMap((image, index) => (ids[index] === undefined ? [] : [[image, ids[index]]])));
}

async function fitted(raw: readonly Content[], fitting: Fitting): Promise<readonly Content[]> {
  const { parts, cut } = await truncated(raw, fitting);
  const [first, ...others] = parts;
  return cut === undefined || first?.type !== "text" ? parts : [text(`${first.text}\n${cut}`), ...others];
}

/** Masks secrets and enforces the limit. `cut` says what is missing. */
async function truncated(
  raw: readonly Content[],
  { limit, keep, outputs, mask }: Fitting,
): Promise<{ readonly parts: readonly Content[]; readonly cut?: string }> {
  // Masked before truncation: half a secret would not be recognized.
  const parts = maskedContent(raw, mask);
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && isReadable(only)) {
    const fits = isShort(only.text, limit) || truncateHead(only.text, limit).truncated === false;
    if (fits) return { parts };
  }
  const whole = textsOf(parts);
  const roomy = {
    ...(limit.lines !== undefined && { lines: limit.lines + NOTICE_LINES }),
    ...(limit.bytes !== undefined && { bytes: limit.bytes + NOTICE_BYTES }),
    ...(limit.characters !== undefined && { characters: limit.characters + NOTICE_BYTES }),
  };
  const truncate = keep === "head" ? truncateHead : truncateTail;
  if (truncate(whole, roomy).truncated === false) return { parts };
  const kept = truncate(whole, limit);
  const cut = savedNotice(kept, await saved(outputs, whole), outputs.forCommands);
  return { parts: [text(kept.text), ...parts.filter((part) => !isReadable(part))], cut };
}

interface Fitting extends Pick<Host, "outputs" | "mask"> {
  readonly limit: Limit;
  readonly keep: "head" | "tail";
}

function textsOf(parts: readonly Content[]): string {
  return parts.flatMap((part) => (isReadable(part) ? [part.text] : [])).join("\n");
}

/** A fast check for most results. UTF-8 takes at most three bytes per UTF-16 unit. */
function isShort({ length }: string, { lines = Infinity, bytes = Infinity, characters = Infinity }: Limit): boolean {
  return length <= lines && 3 * length <= bytes && length <= characters;
}

async function saved(outputs: Outputs, whole: string): Promise<string | undefined> {
  try {
    return await outputs.save(whole);
  } catch {
    return undefined; // the notice reports that the rest of the text is lost
  }
}
