import { ToolFailure } from "../../core/contract/failure.ts";

/** Other argument names that models use for file tools, for `renameKeys`. */
export const FILE_SPELLINGS: { readonly [spelling: string]: string } = {
  file_path: "path",
  filePath: "path",
  filename: "path",
  file: "path",
  absolute_path: "path",
  target_file: "path",
  dir_path: "path",
  relative_workspace_path: "path",
  old_str: "old_text",
  new_str: "new_text",
  replaceAll: "replace_all",
  oldText: "old_text",
  old_string: "old_text",
  oldString: "old_text",
  newText: "new_text",
  new_string: "new_text",
  newString: "new_text",
  contents: "content",
  file_text: "content",
  start_line: "offset",
  startLine: "offset",
  max_lines: "limit",
  showHidden: "show_hidden",
};

/** @throws ToolFailure when the text has a lone surrogate, which UTF-8 would replace by U+FFFD. */
export function requireWholeCharacters(argument: string, text: string): void {
  const half = /\p{Surrogate}/u.exec(text)?.[0];
  if (half === undefined) return;
  const code = `\\u${half.charCodeAt(0).toString(16)}`;
  throw new ToolFailure(
    `${argument} contains half a character (a lone surrogate, ${code}), which cannot be written to a file`,
    { hint: "Send the whole character." },
  );
}
