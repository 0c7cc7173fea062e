import { chmod, copyFile, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Node, ParseError } from "jsonc-parser";
import { oneLine } from "../output/terminal-text.ts";
import { isMissing, replacePrivateFile } from "../util/private-file.ts";

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
 * Returns the text with a value at the end of these keys, and what was there before. Everything else stays as it is,
 * comments too. Maps on the way are created.
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
  const { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw new Error(`line ${line} is not JSON (${printParseErrorCode(error.error)}); repair the file first`);
  }
  const way = [root, ...path.map((_, index) => root && findNodeAtLocation(root, path.slice(0, index + 1)))];
  const missing = way.indexOf(undefined);
  const maps = missing === -1 ? way.slice(0, -1) : way.slice(0, missing);
  const [map, there] = [maps.at(-1), way.at(-1)];
  const wrong = maps.findIndex((node) => node?.type !== "object");
  if (map === undefined || wrong !== -1) throw notMap(path.slice(0, wrong));
  if (there !== undefined) {
    const before: unknown = JSON.parse(JSON.stringify(getNodeValue(there)));
    return { text: spliced(text, there, written(text, value, indentAt(text, there.offset))), before };
  }
  const inner = path.slice(missing).reduceRight((all, key) => ({ [key]: all }), value);
  return { text: withMember(text, map, path[missing - 1] ?? "", inner) };
}

/** Adds a member at the beginning of a map: comments stay with what they are about. */
function withMember(text: string, { offset, length, children = [] }: Node, key: string, value: unknown): string {
  const from = offset + 1;
  const [first] = children;
  const gap = text.slice(from, first?.offset ?? offset + length - 1);
  const isOneLine = first !== undefined && !gap.includes("\n");
  if (isOneLine) return spliced(text, { offset: from, length: 0 }, ` ${oneLineJson({ [key]: value }).slice(2, -2)},`);
  const own = indentAt(text, offset);
  const indent = first === undefined ? own + unitOf(text) : indentAt(text, first.offset);
  const eol = eolOf(text);
  const member = `${eol}${indent}${JSON.stringify(key)}: ${written(text, value, indent)}`;
  const [sameLine = ""] = /^[ \t]*\S.*/.exec(gap.split("\n")[0] ?? "") ?? []; // a comment behind the brace
  const at = from + (gap.includes("\n") ? sameLine.length : gap.length);
  if (first !== undefined) return spliced(text, { offset: at, length: 0 }, `${member},`);
  return spliced(text, { offset: from, length: gap.length }, `${gap.trimEnd()}${member}${eol}${own}`);
}

function spliced(text: string, { offset, length }: Pick<Node, "offset" | "length">, by: string): string {
  return text.slice(0, offset) + by + text.slice(offset + length);
}

/** A value with the indentation and line ends that the file has. */
function written(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, undefined, unitOf(text)).replaceAll("\n", `${eolOf(text)}${indent}`);
}

function oneLineJson(value: object): string {
  return JSON.stringify(value, undefined, " ").replaceAll(/\n */g, " ");
}

function indentAt(text: string, offset: number): string {
  return /[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))?.[0] ?? "";
}

function unitOf(text: string): string {
  return /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
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
