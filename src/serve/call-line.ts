import type { Json } from "../core/contract/schema.ts";
import { clip } from "../core/util/text.ts";

/** The arguments that describe a call best, in the order in which they are tried. */
const TELLING = ["command", "path", "file_path", "url", "query", "agent", "pane", "job", "text", "name"] as const;

/**
 * Returns the arguments of a call as one line for people: its command, path or URL if it has one, otherwise all
 * arguments with their names. The line is not escaped; the caller escapes it.
 *
 * @param most characters (UTF-16 units)
 */
export function callLine(input: Json, most = 200): string {
  return clip(lineOf(input).replaceAll(/\s*\n\s*/g, " ↵ "), most);
}

function lineOf(input: Json): string {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return JSON.stringify(input);
  const given = input as { readonly [name: string]: Json };
  const { pattern, path } = given;
  if (typeof pattern === "string") return typeof path === "string" ? `${pattern}  in ${path}` : pattern;
  const telling = TELLING.find((name) => typeof given[name] === "string" && given[name] !== "");
  if (telling === undefined)
    return Object.entries(given)
      .map(([name, value]) => `${name} ${wordOf(value)}`)
      .join("  ");
  const task = telling === "agent" && typeof given["prompt"] === "string" ? `  ${given["prompt"]}` : "";
  return `${wordOf(given[telling] ?? "")}${task}`;
}

function wordOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
