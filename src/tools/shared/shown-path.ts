import type { ToolNames } from "../../core/contract/tool.ts";
import { quoteWord } from "../../core/util/quote.ts";

/**
 * A path for a list of lines. Quoted when it has control characters: a line break would make it look like two paths.
 */
export function shownPath(path: string): string {
  return /[\x00-\x1f\x7f]/.test(path) ? JSON.stringify(path) : path;
}

/** What stands for each part of a name that is not UTF-8. */
const NOT_UTF_8 = "\ufffd";

/** How to open files whose names are not UTF-8: no tool but a shell can spell them. Empty if there are none. */
export function notUtf8Notice(paths: Iterable<string>, names: ToolNames): readonly string[] {
  for (const path of paths) {
    if (!path.includes(NOT_UTF_8)) continue;
    const bash = names("bash") ?? names("shell") ?? names("run_shell");
    const glob = path.split(NOT_UTF_8).map((part) => (part === "" ? "" : quoteWord(part)));
    const example = `${path.endsWith("/") ? "ls" : "cat"} -- ${glob.join("*")}`;
    const how = bash === undefined ? "" : ` Write * for it in ${bash}: ${example}`;
    return [`A name with ${NOT_UTF_8} is not UTF-8.${how}`];
  }
  return [];
}
