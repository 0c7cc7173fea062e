import { readFile, readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isMap, isSeq, parseDocument } from "yaml";
import { configFolder, homeOf } from "../../config/state.ts";
import { oneLine } from "../../output/terminal-text.ts";
import {
  type ForeignRule,
  type Imported,
  type RuleClient,
  claudeRules,
  codexRules,
  geminiRules,
  geminiSettings,
  importRules,
  opencodeRules,
} from "../../policy/import-rules.ts";
import { messageOf } from "../../util/errors.ts";
import { isInside } from "../../util/paths.ts";
import { plural } from "../../util/text.ts";
import { readClientFile, replaceClientFile } from "../client-file.ts";
import type { GlobalOptions } from "../options.ts";
import { say } from "../say.ts";
import { askOnTerminal } from "../terminal.ts";
import type { Io } from "../io.ts";

/**
 * Prints the permission rules of another agent as rules of the configuration, and names those that have no counterpart.
 * With `--write`, asks and adds them to the user's own file. Exit code 1 without rules.
 */
export async function run(
  client: RuleClient,
  file: string | undefined,
  options: GlobalOptions & { readonly write?: true },
): Promise<void> {
  const files = file === undefined ? await filesOf(options.io, client) : [resolve(options.io.cwd, file)];
  const read = await Promise.all(files.map((path) => rulesIn(options.io, client, path, file !== undefined)));
  const found = files.filter((_, index) => read[index] !== undefined);
  if (found.length === 0) throw new Error(`there is no file with rules of ${client}: ${files.join(", ")}`);
  const imported = importRules(read.flatMap((rules) => rules ?? []));
  say(options.io, `# From ${found.join(", ")}`);
  say(options.io, yamlOf(imported));
  const left = imported.left.map(
    ({ verdict, written, why }) => `# not imported, ${verdict}: ${oneLine(written, 200)}: ${oneLine(why, 200)}`,
  );
  for (const line of new Set(left)) say(options.io, line);
  if (options.write === true) await write(imported, options);
}

/** Where a client keeps rules: the user's files, and those of the project in the current folder. */
async function filesOf(io: Io, client: RuleClient): Promise<readonly string[]> {
  const folders = [homeOf(io.env), io.cwd];
  const listed = async (folder: string, ending: string) =>
    (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
  switch (client) {
    case "claude-code":
      return folders.flatMap((each) =>
        ["settings.json", "settings.local.json"].map((name) => join(each, ".claude", name)),
      );
    case "codex":
      return (await Promise.all(folders.map((each) => listed(join(each, ".codex/rules"), ".rules")))).flat();
    case "gemini": {
      const policies = await Promise.all(folders.map((each) => listed(join(each, ".gemini/policies"), ".toml")));
      return [...folders.map((each) => join(each, ".gemini/settings.json")), ...policies.flat()];
    }
    case "opencode":
      return [join(dirname(configFolder(io.env)), "opencode"), io.cwd].flatMap((each) =>
        ["opencode.json", "opencode.jsonc"].map((name) => join(each, name)),
      );
  }
}

/** The rules in a file; `undefined` if it does not exist and need not. Rejects with an Error that names the file. */
async function rulesIn(
  io: Io,
  client: RuleClient,
  path: string,
  isNamed: boolean,
): Promise<readonly ForeignRule[] | undefined> {
  const text = isNamed ? await readFile(path, "utf8") : await readClientFile(path);
  if (text === undefined) return undefined;
  try {
    if (client === "codex") return codexRules(text);
    if (client === "gemini" && path.endsWith(".toml")) return geminiRules(text);
    const { parse } = await import("jsonc-parser");
    const settings: unknown = parse(text, [], { allowTrailingComma: true });
    if (client === "gemini") return geminiSettings(settings);
    if (client === "opencode") return opencodeRules(settings);
    const isOfUser = isInside(path, join(homeOf(io.env), ".claude")) && basename(path) === "settings.json";
    return claudeRules(settings, !isOfUser);
  } catch (error) {
    throw new Error(`${path}: ${messageOf(error)}`, { cause: error });
  }
}

const VERDICTS = ["allow", "ask", "deny"] as const;

function yamlOf({ rules }: Imported): string {
  const lists = VERDICTS.filter((verdict) => rules[verdict].length > 0).map((verdict) => {
    const entries = rules[verdict].map(({ rule, match, not_match }) => {
      const examples = [
        ...(match === undefined ? [] : [`        match: ${JSON.stringify(match)}`]),
        ...(not_match === undefined ? [] : [`        not_match: ${JSON.stringify(not_match)}`]),
      ];
      return [`      - rule: ${JSON.stringify(rule)}`, ...examples].join("\n");
    });
    return `    ${verdict}:\n${entries.join("\n")}`;
  });
  return lists.length === 0 ? "# no rules" : `policy:\n  commands:\n${lists.join("\n")}`;
}

/** Adds the rules to the user's own file, without those that it has. Comments stay. */
async function write({ rules }: Imported, { io, yes }: GlobalOptions): Promise<void> {
  const file = join(configFolder(io.env), "config.yaml");
  const document = parseDocument((await readClientFile(file)) ?? "");
  if (document.errors.length > 0) throw new Error(`${file} is not valid YAML: repair it first`);
  let added = 0;
  for (const verdict of VERDICTS) {
    const path = ["policy", "commands", verdict];
    const list = document.getIn(path);
    const before = new Set(isSeq(list) ? list.items.map(ruleOf) : []);
    const fresh = rules[verdict].filter(({ rule }) => !before.has(rule));
    if (fresh.length === 0) continue;
    if (isSeq(list)) for (const each of fresh) list.add(document.createNode(each));
    else document.setIn(path, document.createNode(fresh));
    added += fresh.length;
  }
  if (added === 0) return say(io, `${file} has these rules already.`);
  const { signal } = new AbortController();
  const question = `Add ${plural(added, "rule")} to ${file}? [y/N] `;
  if (yes !== true && (await askOnTerminal(io, question, signal)) !== "yes") return say(io, "Nothing was written.");
  await replaceClientFile(file, document.toString(), 0o600);
}

function ruleOf(item: unknown): string {
  const rule = isMap(item) ? item.get("rule") : (item as { readonly value?: unknown }).value;
  return String(rule);
}
