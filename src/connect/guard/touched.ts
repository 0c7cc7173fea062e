import { homedir } from "node:os";
import type { Effect } from "../../core/contract/effect.ts";
import { SENSITIVE_FILES } from "../../machine/places/keys.ts";
import { absolutePath } from "../../core/util/paths.ts";
import { words } from "../../core/util/text.ts";
import { CLIENT, type ClientName, OUTSIDE, type ToolInput } from "./clients.ts";
import { type Touches, touchesOf } from "./client-tools.ts";
import { type Secrets, alternativesOf, beginningOf, maySelect, secretsBelow } from "./globs.ts";
import { patchedPaths } from "./patch.ts";
import { Unreadable } from "./unreadable.ts";

/** What a call of a client touches, and the arguments with which it may run. */
export interface Touched {
  readonly effects: readonly Effect[];
  /** The call's own, or changed so that a search leaves secrets out. */
  readonly input: ToolInput;
}

const ASKS_OUTSIDE = new RegExp(`^\\s*${OUTSIDE}\\s+`);

/**
 * Returns what a call touches. A call of a tool that is not in the table, or whose arguments are of another kind,
 * counts as a call of an unknown program: the policy asks about it.
 *
 * @param cwd the folder in which the client runs the call, absolute
 * @throws Unreadable when the client may do something else than these arguments say
 */
export function touched(client: ClientName, tool: string, input: ToolInput, cwd: string): Touched {
  const entry = touchesOf(client, tool);
  if (entry?.does === "nothing") return { effects: [], input };
  if (entry !== undefined) requireKnown(client, tool, entry, input);
  const found = entry && ofEntry(entry, input, cwd, CLIENT[client].searches);
  return found ?? { effects: [foreign(client, tool, input)], input };
}

/** What a call touches alone; see `touched`. */
export const effectsOf = (...call: Parameters<typeof touched>): readonly Effect[] => touched(...call).effects;

/** The name of the argument of a tool that has its command. */
export function commandArgument(client: ClientName, tool: string): string {
  const entry = touchesOf(client, tool);
  return entry?.does === "run" ? entry.command : "command";
}

function requireKnown(client: ClientName, tool: string, entry: Touches, input: ToolInput): void {
  const { does: _, ...named } = entry;
  const known = new Set(Object.values(named).flatMap((names) => (typeof names === "string" ? words(names) : [])));
  const unknown = Object.keys(input).find((name) => !known.has(name) && input[name] !== null);
  if (unknown === undefined) return;
  throw new Unreadable(
    `${tool} of ${CLIENT[client].title} has no argument ${JSON.stringify(unknown)} that is known here, so nobody can ` +
      "say what it would do. Make the call without it",
  );
}

/** `undefined`: an argument is missing, or is not a text. */
function ofEntry(entry: Exclude<Touches, { does: "nothing" }>, input: ToolInput, cwd: string, engine: string) {
  const valuesOf = (names = ""): readonly string[] | undefined => {
    const given = words(names).flatMap((name) => {
      const value = input[name] ?? [];
      return Array.isArray(value) ? (value as unknown[]) : [value];
    });
    return given.every((value) => typeof value === "string") ? given.filter((value) => value !== "") : undefined;
  };
  const reading = (paths: readonly string[], kind: "read" | "write" = "read") =>
    paths.flatMap((path) => spellings(path, cwd)).map((path): Effect => ({ kind, path }));
  const as = (effects: readonly Effect[]): Touched => ({ effects, input });

  switch (entry.does) {
    case "run": {
      const [written, folders] = [input[entry.command], valuesOf(entry.folder)];
      if (typeof written !== "string" || folders === undefined || folders.length > 1) return undefined;
      const [at] = folders;
      const command = written.replace(ASKS_OUTSIDE, "");
      const wish = entry.outside === undefined ? false : (input[entry.outside] ?? false);
      const isOutside = command !== written || (wish !== false && wish !== "false");
      const effect = {
        kind: "exec",
        command,
        cwd: at === undefined ? cwd : under(cwd, at),
        ...(isOutside && { within: "none" as const }),
      } as const;
      return { effects: [effect], input: command === written ? input : { ...input, [entry.command]: command } };
    }
    case "read":
    case "write":
    case "list": {
      const paths = valuesOf(entry.paths);
      if (paths === undefined || (paths.length === 0 && entry.does !== "list")) return undefined;
      return as(reading(paths.length === 0 ? [cwd] : paths, entry.does === "write" ? "write" : "read"));
    }
    case "patch": {
      const text = input[entry.text];
      return typeof text === "string" ? as(reading(patchedPaths(text), "write")) : undefined;
    }
    case "glob": {
      const [folders, patterns] = [valuesOf(entry.folder), valuesOf(entry.patterns)];
      if (folders === undefined || patterns === undefined) return undefined;
      const within = folders.length === 0 ? [cwd] : folders;
      const begins = patterns.flatMap(alternativesOf).map((one) => {
        const { base, rest } = beginningOf(one);
        return rest === "" ? base.replace(/[^/]*$/, "") : base;
      });
      return as(reading([...new Set([...within, ...within.flatMap((at) => begins.map((base) => under(at, base)))])]));
    }
    case "gather": {
      const patterns = valuesOf(entry.patterns);
      if (patterns === undefined || patterns.length === 0) return undefined;
      return as(reading([...new Set(patterns.flatMap(alternativesOf).flatMap((one) => gathered(one, cwd)))]));
    }
    case "grep":
      return searched(entry, { input, cwd, valuesOf, reading });
    case "fetch": {
      const urls = (valuesOf(entry.urls) ?? []).flatMap((text) => text.match(/https?:\/\/[^\s"'<>)\]]+/gi) ?? []);
      return urls.length === 0 ? undefined : as(urls.map((url) => ({ kind: "fetch", url, method: "GET" })));
    }
    case "search": {
      const [query] = valuesOf(entry.query) ?? [];
      return query === undefined ? undefined : as([{ kind: "search", engine, query }]);
    }
  }
}

interface Given {
  readonly input: ToolInput;
  readonly cwd: string;
  readonly valuesOf: (names: string) => readonly string[] | undefined;
  readonly reading: (paths: readonly string[]) => readonly Effect[];
}

/**
 * A search for lines, which opens what it searches. Secrets are left out by a glob if the call has none; otherwise
 * those that its glob may select are read.
 */
function searched(entry: Extract<Touches, { does: "grep" }>, { input, cwd, valuesOf, reading }: Given) {
  const [folders, globs] = [valuesOf(entry.folder), valuesOf(entry.files)];
  if (folders === undefined || globs === undefined) return undefined;
  const roots = folders.length === 0 ? [cwd] : folders;
  const found = roots.map((root) => ({ root, ...secretsBelow(absolutePath(root, { workDir: cwd, home: homedir() })) }));
  const [glob, ...others] = globs;
  if (glob === undefined) {
    const isSearched = (path: string) => entry.hidden || !/(?:^|\/)\./.test(path);
    const names = new Set(found.flatMap((each) => namesIn(each, isSearched)));
    if (names.size === 0) return { effects: reading(roots), input };
    const [argument = ""] = words(entry.files);
    return { effects: reading(roots), input: { ...input, [argument]: `!{${[...names].join(",")}}` } };
  }
  const selects = globsOf([glob, ...others]);
  const secrets = found.flatMap(({ root, sensitive, isPart }) => {
    if (isPart) throw new Unreadable("the folder is too large to say which files the glob selects. Name a smaller one");
    return sensitive.filter((path) => selects.some((one) => maySelect(one, path))).map((path) => under(root, path));
  });
  return { effects: reading([...roots, ...secrets]), input };
}

/** The names to leave out, as globs. A name that a glob cannot have is that of any file with its ending. */
function namesIn({ sensitive, isPart }: Secrets, isSearched: (path: string) => boolean): readonly string[] {
  if (isPart) return SENSITIVE_FILES;
  return sensitive.filter(isSearched).map((path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return /^[\w.@+-]+$/.test(name) ? name : name.replaceAll(/[^\w.@+-]/g, "?");
  });
}

/** The globs in one text: some clients read blanks and commas between them. Without one that selects, all do. */
function globsOf(texts: readonly string[]): readonly string[] {
  const all = texts.flatMap((text) => [text, ...text.split(/\s+/), ...text.split(/[\s,]+(?![^{]*\})/)]);
  const selecting = all.filter((glob) => glob !== "" && !glob.startsWith("!"));
  return selecting.length === 0 ? ["*"] : selecting;
}

/** The paths that a pattern reads: where its matches are, and those of them that are secrets or links. */
function gathered(pattern: string, cwd: string): readonly string[] {
  const { base, rest } = beginningOf(pattern);
  const folder = under(cwd, base);
  const { sensitive, links, linkedFolders, isPart } = secretsBelow(folder);
  if (isPart) throw new Unreadable("the folder is too large to say what the pattern selects. Name a smaller one");
  const selected = [...sensitive, ...links].filter((path) => rest === "" || maySelect(rest, path));
  return [folder, ...[...selected, ...linkedFolders].map((path) => under(folder, path))];
}

function under(folder: string, path: string): string {
  if (path === "") return folder;
  return path.startsWith("/") || path === "~" || path.startsWith("~/") ? path : `${folder.replace(/\/$/, "")}/${path}`;
}

/**
 * The paths that a path may mean: `~` is the home for one client and a name for another, and some normalize Unicode.
 *
 * @throws Unreadable for blanks around it, which some clients remove
 */
function spellings(path: string, cwd: string): readonly string[] {
  if (path !== path.trim()) throw new Unreadable(`the path ${JSON.stringify(path)} has blanks around it`);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) return [path]; // the policy refuses it
  const forms = [...new Set([path, path.normalize("NFC")])];
  return forms.flatMap((form) => (form.startsWith("~") ? [form, `${cwd}/${form}`] : [under(cwd, form)]));
}

function foreign(client: ClientName, tool: string, input: ToolInput): Effect {
  const [, server, rest] = /^(?:mcp__|mcp_|MCP:)([^:_]+(?:_(?!_)[^:_]+)*)(?:__|_|:)(.+)$/.exec(tool) ?? [];
  const from = server === undefined ? { from: client, tool } : { from: `mcp:${server}`, tool: rest ?? tool };
  return { kind: "foreign", ...from, input: JSON.stringify(input) };
}
