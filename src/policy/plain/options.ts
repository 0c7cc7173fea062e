import type { PlainWord } from "./script.ts";

/**
 * The options of a program, from a text with a word each: `-a` is a flag, `-n#` takes a number, `-k:` takes any text
 * (both glued or as the next word), `-#` is a number itself (`-20`), `--hidden` is a flag, `--include=` takes a text
 * and `--abbrev=#` a number behind the `=`.
 */
export interface OptionTable {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, "number" | "text">;
  readonly numbers: boolean;
}

/** The words behind a program's name, split into their kinds. Indexes are indexes of these words. */
export interface ReadOptions {
  /** As "-r" or "--hidden", without values. */
  readonly options: ReadonlySet<string>;
  readonly operands: readonly number[];
  /** Options and their values after the first operand, which some programs treat as operands. */
  readonly late: readonly number[];
  /** The index of `--`, or the number of words. */
  readonly end: number;
}

const NUMBER = /^[+-]?\d{1,18}[kKmMgGbB]?$/;

export function optionTable(text: string): OptionTable {
  const all = text.split(/\s+/).filter((each) => each !== "");
  const withValue = all.filter((each) => /[:#=]$/.test(each) && each !== "-#");
  return {
    flags: new Set(all.filter((each) => !withValue.includes(each))),
    values: new Map(
      withValue.map((each) => [
        each.replace(/[:#]$/, ""),
        each.endsWith("#") ? ("number" as const) : ("text" as const),
      ]),
    ),
    numbers: all.includes("-#"),
  };
}

/**
 * Reads options as getopt_long(3) does, before and between operands. A string tells why the options are not on the
 * list. "next word": values are never glued; "alone": only to the first letter of a word.
 */
export function readOptions(
  words: readonly PlainWord[],
  from: number,
  { flags, values, numbers }: OptionTable,
  taking: "glued" | "next word" | "alone" = "glued",
): ReadOptions | string {
  const options = new Set<string>();
  const operands: number[] = [];
  const late: number[] = [];
  const name = words[0]?.value ?? "";
  for (let index = from; index < words.length; index++) {
    const { value, wildcards } = words[index] as PlainWord;
    if (value === "--") {
      for (let rest = index + 1; rest < words.length; rest++) operands.push(rest);
      return { options, operands, late, end: index };
    }
    if (!value.startsWith("-") || value === "-") {
      operands.push(index);
      continue;
    }
    const unknown = `${JSON.stringify(value)} is not on the list of ${name} options that only look`;
    if (wildcards !== undefined) return unknown;
    if (operands.length > 0) late.push(index);
    if (flags.has(value)) options.add(value);
    else if (numbers && /^-\d{1,9}$/.test(value)) options.add("-#");
    else if (value.startsWith("--")) {
      const equals = value.indexOf("=") + 1;
      const option = value.slice(0, equals);
      if (equals === 0 || !isValue(values.get(option), value.slice(equals))) return unknown;
      options.add(option);
    } else {
      const cluster = readCluster(value, words[index + 1], { flags, values }, taking);
      if (cluster === undefined) return unknown;
      for (const option of cluster.options) options.add(option);
      if (!cluster.takesNext) continue;
      index += 1;
      if (operands.length > 0) late.push(index);
    }
  }
  return { options, operands, late, end: words.length };
}

/** Parses `-la`, `-n5`, `-rn 5`; `undefined` for an unknown letter, or a missing or invalid value. */
function readCluster(
  cluster: string,
  next: PlainWord | undefined,
  { flags, values }: Pick<OptionTable, "flags" | "values">,
  taking: "glued" | "next word" | "alone",
): { options: readonly string[]; takesNext: boolean } | undefined {
  const options: string[] = [];
  for (let at = 1; at < cluster.length; at++) {
    const option = `-${cluster[at] ?? ""}`;
    options.push(option);
    if (flags.has(option)) continue;
    const kind = values.get(option);
    const glued = cluster.slice(at + 1);
    if (kind === undefined || (at > 1 && taking === "alone")) return undefined;
    if (glued !== "") return taking !== "next word" && isValue(kind, glued) ? { options, takesNext: false } : undefined;
    // A word with a dash is an option to programs that read the previous word differently.
    const isGood =
      next !== undefined && next.wildcards === undefined && !/^-./.test(next.value) && isValue(kind, next.value);
    return isGood ? { options, takesNext: true } : undefined;
  }
  return { options, takesNext: false };
}

function isValue(kind: "number" | "text" | undefined, value: string): boolean {
  return kind === "text" || (kind === "number" && NUMBER.test(value));
}
