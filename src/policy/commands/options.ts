import type { CommandSpec, Finding, GivenOption, OptionTable, Raise, Syntax, Use, ValueKind } from "./spec.ts";
import type { Word } from "./tree.ts";
import { isNoOption, programFile } from "./words.ts";

/** A command as its entry reads it, and what that comes down to. */
interface Reading {
  readonly use: Use;
  readonly findings: readonly Finding[];
}

/**
 * Reads a command's words (its name first) as its entry says they are to be read: options, their values, operands, and for an entry with
 * subcommands the one that is given. What does not fit is a finding "unclear", never skipped.
 */
export function readCommand(spec: CommandSpec, words: readonly Word[]): Reading {
  const findings: Finding[] = [];
  const options: GivenOption[] = [];
  const operands: Word[] = [];
  const { unclear, operandsFrom } = readWords(spec, words, { findings, options, operands });
  const sub = spec.subcommands === undefined ? undefined : subcommand(spec, words, operandsFrom, findings);
  const use: Use = { spec, words, options, operands };
  if (sub !== undefined) {
    findings.push(...unclear, ...(spec.refine?.(use) ?? []));
    return { use: sub.use, findings: [...findings, ...sub.findings] };
  }
  if (spec.risk !== "low") {
    const { risk, why = "it changes something", ordinary = false } = spec;
    findings.push({ kind: "risk", risk, why, ordinary });
  }
  if (spec.subcommands === undefined) judgeOperands(spec, words[0], operands, findings);
  findings.push(...unclear, ...(spec.refine?.(use) ?? []));
  if (spec.anyWords !== true) findings.push(...unseenPatterns(operands, findings));
  return { use, findings };
}

/** A pattern of file names that may begin with anything. The path rules look at what it stands for, and that none is an option. */
function isPattern({ glob, prefix }: Word): boolean {
  return glob !== undefined && prefix === "" && !glob.startsWith("-");
}

/** Patterns that the path rules do not get to see. */
function unseenPatterns(operands: readonly Word[], findings: readonly Finding[]): readonly Finding[] {
  if (!operands.some(isPattern)) return [];
  const seen = new Set(findings.map((finding) => (finding.kind === "path" ? finding.word : undefined)));
  const isCommand = findings.some(({ kind }) => kind === "command");
  return isCommand ? [] : operands.filter((word) => isPattern(word) && !seen.has(word)).map(unknownUntilRun);
}

interface Target {
  readonly findings: Finding[];
  readonly options: GivenOption[];
  readonly operands: Word[];
}

/** Where the operands begin matters to a command with subcommands and to a wrapper: what is behind belongs to another. */
function readWords(
  spec: CommandSpec,
  words: readonly Word[],
  { findings, options, operands }: Target,
): { unclear: readonly Finding[]; operandsFrom: number } {
  const syntax: Syntax = spec.syntax ?? (spec.subcommands === undefined ? "gnu" : "posix");
  const table = tableOf(spec);
  const unclear: Finding[] = [];
  let operandsFrom = words.length;
  let at = 1;

  const give = (option: KnownOption, value: Word | undefined): void => {
    options.push({ name: option.name, ...(value !== undefined && { value }) });
    if (option.raise !== undefined) {
      const [risk, why, mark] = option.raise;
      findings.push({ kind: "risk", risk, why: `${option.name} ${why}`, ordinary: mark === "ordinary" });
    }
    if (value !== undefined) judgeValue(option.value ?? "text", value, findings, option.name);
  };
  const next = (option: KnownOption): void => {
    const value = words[++at];
    if (value === undefined) unclear.push({ kind: "unclear", why: `${option.name} lacks its value` });
    else if (value.splits)
      unclear.push({ kind: "unclear", why: `what ${value.text} stands for is known only when it runs` });
    give(option, value);
  };

  for (; at < words.length; at++) {
    const word = words[at] as Word;
    if (syntax === "words" || isNoOption(word) || isPattern(word)) {
      operands.push(word);
      operandsFrom = Math.min(operandsFrom, at);
      if (syntax !== "posix") continue;
      operands.push(...words.slice(at + 1));
      break;
    }
    if (word.value === undefined) {
      const glued = gluedUnknown(word, table);
      if (glued !== undefined) {
        give(glued.option, glued.value);
        if (word.splits && spec.anyWords !== true) unclear.push(unknownUntilRun(word));
        if (!glued.option.ends) continue;
        operandsFrom = Math.min(operandsFrom, at + 1);
        operands.push(...words.slice(at + 1));
        break;
      }
      operands.push(word);
      operandsFrom = Math.min(operandsFrom, at);
      if (spec.anyWords !== true) unclear.push(unknownUntilRun(word));
      if (syntax !== "posix") continue;
      operands.push(...words.slice(at + 1));
      break;
    }
    if (word.value === "--") {
      operandsFrom = Math.min(operandsFrom, at + 1);
      operands.push(...words.slice(at + 1));
      break;
    }
    const long = word.value.startsWith("--") || syntax === "long-dash";
    const read = long ? readLong(word, table) : readCluster(word, table);
    for (const { option, value } of read.given) {
      if (value === "next") next(option);
      else give(option, value);
    }
    if (read.unknown !== undefined)
      unclear.push({ kind: "unclear", why: `its option ${read.unknown} is not one that is known here` });
    if (read.given.some(({ option }) => option.ends)) {
      operandsFrom = Math.min(operandsFrom, at + 1);
      operands.push(...words.slice(at + 1));
      break;
    }
  }
  return { unclear, operandsFrom };
}

function unknownUntilRun({ text }: Word): Finding {
  return { kind: "unclear", why: `what ${text} stands for is known only when it runs` };
}

interface ReadOptions {
  readonly given: readonly { readonly option: KnownOption; readonly value: Word | "next" | undefined }[];
  /** The option that is in no table, as it is written. */
  readonly unknown?: string;
}

/** `--name`, `--name=value`, and with one dash where the command writes it so. */
function readLong(word: Word, table: KnownOptions): ReadOptions {
  const text = word.value ?? "";
  const exact = table.get(text);
  if (exact !== undefined) return { given: [{ option: exact, value: exact.takes === "value" ? "next" : undefined }] };
  const equals = text.indexOf("=");
  const option = equals === -1 ? undefined : table.get(text.slice(0, equals));
  if (option === undefined || option.takes === "nothing") return { given: [], unknown: text };
  return { given: [{ option, value: partOf(word, equals + 1) }] };
}

/** `-la`, `-n5`, `-n 5`. A number alone (`-5`) may stand in the table as "-NUM". */
function readCluster(word: Word, table: KnownOptions): ReadOptions {
  const text = word.value ?? "";
  const whole = table.get(text);
  if (whole !== undefined) return { given: [{ option: whole, value: whole.takes === "value" ? "next" : undefined }] };
  const number = /^-\d+$/.test(text) ? table.get("-NUM") : undefined;
  if (number !== undefined) return { given: [{ option: number, value: undefined }] };
  const given: { option: KnownOption; value: Word | "next" | undefined }[] = [];
  for (let at = 1; at < text.length; at++) {
    const option = table.get(`-${text[at]}`);
    if (option === undefined) return { given, unknown: at === 1 ? text : `-${text[at]} (in ${text})` };
    const rest = at + 1 < text.length;
    if (option.takes === "nothing") given.push({ option, value: undefined });
    else {
      given.push({ option, value: rest ? partOf(word, at + 1) : option.takes === "value" ? "next" : undefined });
      return { given };
    }
  }
  return { given };
}

/** `--name=$x` and `-n$x`: the option is known, its value is not. */
function gluedUnknown(word: Word, table: KnownOptions): { option: KnownOption; value: Word } | undefined {
  const equals = word.prefix.indexOf("=");
  const name = equals === -1 ? word.prefix.slice(0, 2) : word.prefix.slice(0, equals);
  const option = table.get(name);
  if (option === undefined || option.takes === "nothing" || (equals === -1 && name.startsWith("--"))) return undefined;
  return { option, value: partOf(word, equals === -1 ? 2 : equals + 1) };
}

/** A word without its beginning, which is known. */
function partOf(word: Word, from: number): Word {
  const { glob: _, ...rest } = word;
  const value = word.value?.slice(from);
  return { ...rest, text: value ?? word.text, value, prefix: word.prefix.slice(from), scripts: [] };
}

function subcommand(spec: CommandSpec, words: readonly Word[], from: number, findings: Finding[]): Reading | undefined {
  const name = words[from];
  if (name === undefined) return undefined;
  const found = spec.subcommands?.find(({ names }) => name.value !== undefined && names.includes(name.value));
  if (found !== undefined) return readCommand(found, words.slice(from));
  if (name.value === undefined) findings.push(unknownUntilRun(name));
  else findings.push({ kind: "unclear", why: `${words[0]?.text ?? ""} ${name.value} is not known here` });
  return undefined;
}

function judgeOperands(
  { operands: table = {}, anyWords }: CommandSpec,
  name: Word | undefined,
  operands: readonly Word[],
  findings: Finding[],
): void {
  const { first = [], rest = "none", last } = table;
  for (const [index, word] of operands.entries()) {
    const isLast = last !== undefined && index === operands.length - 1 && operands.length > 1;
    const kind = isLast ? last : (first[index] ?? rest);
    if (kind === "command") {
      findings.push({ kind: "command", words: operands.slice(index) });
      return;
    }
    // Of words that may be several or none, nobody knows which place they take.
    const mayShift = word.glob === undefined || (index < first.length && first[index] !== rest);
    if (word.splits && mayShift && anyWords !== true) findings.push(unknownUntilRun(word));
    judgeValue(kind, word, findings, name?.text ?? "");
  }
}

function judgeValue(kind: ValueKind, word: Word, findings: Finding[], owner: string): void {
  switch (kind) {
    case "text":
      return;
    case "read":
    case "write":
    case "folder":
    case "remove":
      // By custom stdin or stdout.
      if (word.value !== "-" || kind === "remove") findings.push({ kind: "path", use: kind, word });
      return;
    case "directory":
      findings.push({ kind: "directory", word });
      return;
    case "url":
      findings.push({ kind: "risk", risk: "medium", why: `it reaches ${word.text}` });
      return;
    case "script":
      findings.push({ kind: "script", word });
      return;
    case "command":
      findings.push({ kind: "command", words: [word] });
      return;
    case "program":
      findings.push({ kind: "risk", risk: "medium", why: `${owner} runs a program: ${word.text}` });
      return;
    case "program-file":
      findings.push(...programFile(word, owner));
      return;
    case "none":
      findings.push({ kind: "unclear", why: `what ${word.text} does there is not known here` });
  }
}

interface KnownOption {
  /** The first of its names. */
  readonly name: string;
  readonly takes: "nothing" | "value" | "glued value";
  readonly value?: ValueKind;
  readonly raise?: Raise;
  /** No options come behind it. */
  readonly ends: boolean;
}
type KnownOptions = ReadonlyMap<string, KnownOption>;

const tables = new WeakMap<CommandSpec, KnownOptions>();

/** The entry's options by every name; made when the entry is first needed. */
function tableOf(spec: CommandSpec): KnownOptions {
  const made = tables.get(spec) ?? makeTable(spec.options ?? {});
  tables.set(spec, made);
  return made;
}

function makeTable({ flags = "", values = {}, optional = {}, raise = {}, ends = "" }: OptionTable): KnownOptions {
  const table = new Map<string, KnownOption>();
  const ending = new Set(split(ends));
  const raised = new Map(
    Object.entries(raise).flatMap(([names, why]) => split(names).map((name) => [name, why] as const)),
  );
  const put = (names: readonly string[], option: Omit<KnownOption, "name" | "ends">) => {
    const why = names.map((name) => raised.get(name)).find((each) => each !== undefined);
    const more = { ...(why !== undefined && { raise: why }), ends: names.some((name) => ending.has(name)) };
    for (const name of names) table.set(name, { name: names[0] ?? name, ...option, ...more });
  };
  for (const name of split(flags)) put([name], { takes: "nothing" });
  for (const [names, value] of Object.entries(values)) put(split(names), { takes: "value", value });
  for (const [names, value] of Object.entries(optional)) put(split(names), { takes: "glued value", value });
  // An option that only raises the risk takes no value.
  for (const names of Object.keys(raise)) {
    const missing = split(names).filter((name) => !table.has(name));
    if (missing.length > 0) put(missing, { takes: "nothing" });
  }
  return table;
}

function split(names: string): readonly string[] {
  return names.split(" ").filter((name) => name !== "");
}
