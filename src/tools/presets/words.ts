import { BLOCKED, NOT_ALLOWED } from "../../policy/paths.ts";

/** Returns the words of seed 003 for a refusal or a failure, and then ours (`Tool.phrase`). */
type Phrase = (text: string, status: "denied" | "failed") => string;

/** Of `shell`. */
export const shellWords: Phrase = (text, status) => {
  // The seed has these two alone, for every act.
  if (status === "failed" || /^(Read-only mode|Rate limit exceeded)/.test(text)) return text;
  return `Security policy violation: ${text.replace(BLOCKED, "Forbidden path:")}`;
};

/** Of `file_read`. */
export const fileReadWords: Phrase = (text, status) => {
  if (status === "denied") return text.replace(BLOCKED, NOT_ALLOWED);
  return text.startsWith("File not found:") ? text : `Failed to read file: ${text}`;
};

/** Of `file_write`. */
export const fileWriteWords: Phrase = (text, status) => {
  if (status === "failed") return `Failed to write file: ${text}`;
  return text
    .replace(BLOCKED, "Path not allowed:")
    .replace(NOT_ALLOWED, "Path not allowed:")
    .replace("Read-only mode: cannot perform 'write files'", "Read-only mode: cannot write files");
};
