import { chmod, copyFile, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { ModificationOptions, ParseError } from "jsonc-parser";
import { oneLine } from "../core/output/terminal-text.ts";
import { isMissing, replacePrivateFile } from "../core/util/private-file.ts";

/** A configuration file of another program: JSON, also with comments and trailing commas, or YAML. */
export type ClientFormat = "json" | "yaml";

/** Reads such a configuration file. Resolves to `undefined` when it does not exist. */
export async function readClientFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Returns the text with a value at the end of these keys, and what was there before. Everything else stays, comments
 * too. Maps on the way are created.
 *
 * @throws Error when the text cannot be read, or a key on the way has something other than a map.
 */
export async function withValue(
  text: string,
  format: ClientFormat,
  path: readonly string[],
  value: unknown,
): Promise<{ readonly text: string; readonly before?: unknown }> {
  const isEmpty = text.trim() === "";
  return format === "yaml" ? yamlWith(text, path, value) : jsonWith(isEmpty ? "{}\n" : text, path, value);
}

async function jsonWith(text: string, path: readonly string[], value: unknown) {
  const { applyEdits, findNodeAtLocation, getNodeValue, modify, parseTree, printParseErrorCode } =
    await import("jsonc-parser");
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw new Error(`line ${line} is not JSON (${printParseErrorCode(error.error)}); repair the file first`);
  }
  const at = (length: number) => root && findNodeAtLocation(root, path.slice(0, length));
  const wrong = path.findIndex((_, length) => (at(length)?.type ?? "object") !== "object");
  if (wrong !== -1) throw notMap(path.slice(0, wrong));
  const there = at(path.length);
  const edits = modify(text, [...path], value, { ...styleOf(text), getInsertionIndex: () => 0 });
  return {
    text: applyEdits(text, edits),
    ...(there !== undefined && { before: JSON.parse(JSON.stringify(getNodeValue(there))) as unknown }),
  };
}

/** The indentation and line ends that the file has. What is in one line stays so. */
function styleOf(text: string): ModificationOptions {
  const isOneLine = /^[^\n]*"[^\n]*\s*$/.test(text);
  const unit = /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  return isOneLine ? {} : { formattingOptions: { insertSpaces: !unit.includes("\t"), tabSize: unit.length, eol } };
}

async function yamlWith(text: string, path: readonly string[], value: unknown) {
  const { isMap, isNode, parseDocument } = await import("yaml");
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`it is not YAML (${oneLine(error.message, 200)}); repair the file first`);
  for (let length = 0; length < path.length; length++) {
    const keys = path.slice(0, length);
    const node = length === 0 ? document.contents : document.getIn(keys, true);
    const isNothing = (isNode(node) ? node.toJS(document) : (node ?? null)) === null;
    if (!isNothing && !isMap(node)) throw notMap(keys);
    if (isNothing && length > 0) document.setIn(keys, document.createNode({}));
  }
  const node: unknown = document.getIn(path, true);
  const before: unknown = isNode(node) ? node.toJS(document) : node;
  document.setIn(path, document.createNode(value));
  return {
    text: document.toString({ lineWidth: 0, flowCollectionPadding: /[[{] \S/.test(text) }),
    ...(before !== undefined && { before }),
  };
}

function notMap(keys: readonly string[]): Error {
  return new Error(`${keys.join(".") || "the whole of it"} is not a map; repair the file first`);
}

/** Returns the JSON text without the value at the end of these keys. Everything else stays as it is. */
export async function withoutValue(text: string, path: readonly string[]): Promise<string> {
  const { applyEdits, modify } = await import("jsonc-parser");
  return applyEdits(text, modify(text, [...path], undefined, {}));
}

/**
 * Replaces the file, or writes a new one, in one step. Keeps the mode of the old one, and a copy of it beside. Returns
 * the path of the copy; `undefined` when there was no file.
 *
 * @param mode of a new file
 */
export async function replaceClientFile(path: string, text: string, mode: number): Promise<string | undefined> {
  await mkdir(dirname(path), { recursive: true });
  const real = await realpath(path).catch(() => undefined);
  const backup = real === undefined ? undefined : `${real}.handrail-${timestamp()}`;
  const kept = real === undefined ? mode : (await stat(real)).mode & 0o777;
  if (real !== undefined && backup !== undefined) await copyFile(real, backup);
  const target = real ?? path; // a link stays a link
  await replacePrivateFile(dirname(target), basename(target), text);
  await chmod(target, kept);
  return backup;
}

function timestamp(): string {
  return new Date().toISOString().replaceAll(/[-:]|\..*/g, "");
}
