import { renameKeys } from "../../core/util/rename-keys.ts";
import { quoteWords } from "../../core/util/quote.ts";

// Names of these tools in our presets and in other agents. Ours come first: texts refer to a tool by them.
export const READ_NAMES = ["read", "read_file", "file_read", "read_text_file", "view", "view_file", "open_file", "cat"];
export const WRITE_NAMES = ["write", "write_file", "file_write", "create_file", "write_to_file"];
export const EDIT_NAMES = [
  ...["edit", "str_replace", "replace_in_file", "multi_edit", "replace", "edit_file", "search_replace"],
  "replace_string_in_file",
];
export const COMMAND_NAMES = [
  ...["bash", "shell", "run_shell", "execute_command", "run_command", "exec_command", "run_shell_command"],
  ...["execute_bash", "run_terminal_cmd", "run_in_terminal", "local_shell"],
];

/** Arguments with which models explain a call. They have no effect. */
const REMARKS: ReadonlySet<string> = new Set(["description", "explanation", "instruction", "requires_approval"]);

/** Removes the arguments that only explain the call. */
export function withoutRemarks(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return raw;
  return Object.fromEntries(Object.entries(raw).filter(([key]) => !REMARKS.has(key)));
}

const COMMAND_SPELLINGS: { readonly [spelling: string]: string } = {
  cmd: "command",
  script: "command",
  shell_command: "command",
  command_line: "command",
};

/**
 * Repairs the arguments of a tool that runs commands: a bare string is the command, an argument vector becomes a
 * script, and other spellings (those in `more` too) are renamed.
 */
export function mendCommand(raw: unknown, more: { readonly [spelling: string]: string }): unknown {
  if (typeof raw === "string") return { command: raw };
  const mended = withoutRemarks(renameKeys(raw, { ...COMMAND_SPELLINGS, ...more }));
  if (typeof mended !== "object" || mended === null || !("command" in mended)) return mended;
  const { command } = mended;
  const isVector = Array.isArray(command) && command.every((word): word is string => typeof word === "string");
  return isVector ? { ...mended, command: scriptOf(command) } : mended;
}

function scriptOf(argv: readonly string[]): string {
  const [program = "", flag = "", script, ...more] = argv;
  const isShell = /^(\/(usr\/)?bin\/)?(ba)?sh$/.test(program) && /^-l?c$/.test(flag) && more.length === 0;
  return isShell && script !== undefined ? script : quoteWords(argv);
}
