import type { Env } from "../../core/contract/effect.ts";
import type { PlainWord, Separator } from "./script.ts";

export interface WrittenCommand {
  /** The program by its path, and its arguments. Only bare `*` and `?` of a `PlainWord` are expanded. */
  readonly words: readonly (string | PlainWord)[];
  readonly env?: Env;
  readonly redirections: readonly string[];
}

/** Rewrites a script with every word in single quotes, so that a shell has nothing to expand or look up in a word. */
export function writeScript(commands: readonly WrittenCommand[], separators: readonly Separator[]): string {
  return commands
    .flatMap((command, index) => (index === 0 ? [line(command)] : [separators[index - 1] ?? ";", line(command)]))
    .join(" ");
}

function line({ words, env = {}, redirections }: WrittenCommand): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`);
  return [...variables, ...words.map(written), ...redirections].join(" ");
}

function written(word: string | PlainWord): string {
  if (typeof word === "string") return quoted(word);
  const { value, wildcards = [] } = word;
  const starts = [0, ...wildcards.map((at) => at + 1)];
  const parts = starts.map(
    (start, index) => quoted(value.slice(start, wildcards[index])) + (value[wildcards[index] ?? -1] ?? ""),
  );
  return parts.join("");
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
