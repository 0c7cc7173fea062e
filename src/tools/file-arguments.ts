/** Other spellings of file tools' arguments that models use, for `renameKeys`. */
export const FILE_SPELLINGS: { readonly [spelling: string]: string } = {
  file_path: "path",
  filePath: "path",
  filename: "path",
  file: "path",
  oldText: "old_text",
  old_string: "old_text",
  oldString: "old_text",
  newText: "new_text",
  new_string: "new_text",
  newString: "new_text",
  contents: "content",
  file_text: "content",
  start_line: "offset",
  max_lines: "limit",
  showHidden: "show_hidden",
};
