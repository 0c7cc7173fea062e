import type { Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";

/**
 * Always given: nothing of the user's or the project's configures our search, and .gitignore counts outside git too. (RIPGREP_CONFIG_PATH
 * does not reach a helper either.)
 */
export const RIPGREP_ARGUMENTS: readonly string[] = ["--no-config", "--no-require-git", "--no-ignore-global", "--color=never", "--null"];

/** A longer record than this is cut; file names and the lines we ask for are far shorter. */
const MAX_RECORD = 64 * 1024;

/** What a helper writes, split at a byte, as it comes. */
export async function* records(process: Process, separator: number, signal: AbortSignal): AsyncIterable<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of process.output.follow(signal)) {
    const bytes = rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(separator); end !== -1; end = bytes.indexOf(separator, start)) {
      yield bytes.subarray(start, end);
      start = end + 1;
    }
    rest = bytes.subarray(start, start + MAX_RECORD);
  }
  if (rest.length > 0) yield rest;
}

/**
 * What a helper complained about, once it has ended; "" for nothing.
 *
 * @throws ToolFailure when it was about the question and not about a file: a pattern or a glob that is wrong.
 */
export async function complaints({ errors }: Process): Promise<string> {
  const text = Buffer.from((await errors?.tail(4_096)) ?? []).toString("utf8").trim();
  if (/^(rg: )?(regex parse error|error parsing glob|.*regex.*(too (big|large)|exceeds))/im.test(text)) {
    throw new ToolFailure(`the pattern cannot be searched for:\n${text.replace(/^rg: /, "")}`, {
      hint: "It is a regular expression of Rust's regex crate (no look-around, no back-references); for plain text give literal: true.",
    });
  }
  return text;
}
