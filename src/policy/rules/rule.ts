import type { Base } from "../../core/util/paths.ts";
import { type CommandPattern, commandPattern } from "./command.ts";
import { type PathPattern, pathPattern } from "./path.ts";

/** What one rule is about, parsed. */
export type Rule = { readonly text: string } & (
  | { readonly kind: "command"; readonly pattern: CommandPattern }
  | { readonly kind: "path"; readonly operation: "read" | "write"; readonly pattern: PathPattern }
  /** `host`: "example.org", or "*.example.org" for all hosts under it; `undefined`: every host. */
  | { readonly kind: "fetch"; readonly host: string | undefined }
  /** Tools of an MCP server or a plugin, as "mcp__github__get_*"; without a tool ("mcp__github") all of its tools. */
  | { readonly kind: "foreign"; readonly pattern: string }
);

export type ParsedRule = { readonly ok: true; readonly rule: Rule } | { readonly ok: false; readonly problem: string };

const SPELLINGS =
  'expected a command such as "npm run *", or Bash(npm run test:*), Read(./secrets/**), Edit(src/**), ' +
  "Write(dist/**), WebFetch(domain:example.org), mcp__server__tool, plugin__name__tool";

/** Reads one rule, in either spelling. Relative paths are those of the working directory. */
export function parseRule(text: string, base: Base): ParsedRule {
  const trimmed = text.trim();
  if (trimmed === "") return { ok: false, problem: `it is empty; ${SPELLINGS}` };
  if (/^(mcp|plugin)__[^\s()]+$/.test(trimmed)) return { ok: true, rule: { text, kind: "foreign", pattern: trimmed } };
  const named = /^([A-Z][A-Za-z]*)(?:\((.*)\))?$/s.exec(trimmed);
  if (named?.[1] === undefined) return command(text, trimmed, "own");
  const about = named[2]?.trim();
  if (about === "") return { ok: false, problem: `its parentheses are empty; ${SPELLINGS}` };
  switch (named[1]) {
    case "Bash":
      return command(text, about ?? "*", "field");
    case "Read":
      return path(text, "read", about, base);
    case "Edit":
    case "Write":
      return path(text, "write", about, base);
    case "WebFetch":
      return fetching(text, about);
    default:
      return named[2] === undefined && !/^(Glob|Grep|MultiEdit|NotebookEdit|WebSearch|Task)$/.test(named[1])
        ? command(text, trimmed, "own")
        : { ok: false, problem: `there are no rules for ${named[1]}; ${SPELLINGS}` };
  }
}

function command(text: string, about: string, spelling: "own" | "field"): ParsedRule {
  const parsed = commandPattern(about, spelling);
  if (!parsed.ok) return parsed;
  return { ok: true, rule: { text, kind: "command", pattern: parsed.pattern } };
}

function path(text: string, operation: "read" | "write", about: string | undefined, base: Base): ParsedRule {
  if (about?.includes("\0") === true) return { ok: false, problem: "it has a NUL byte in it" };
  return { ok: true, rule: { text, kind: "path", operation, pattern: pathPattern(about ?? "//**", base) } };
}

function fetching(text: string, about: string | undefined): ParsedRule {
  if (about === undefined || about === "*") return { ok: true, rule: { text, kind: "fetch", host: undefined } };
  const host = /^domain:((?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)$/i.exec(about)?.[1];
  if (host === undefined) {
    const expected = "expected WebFetch(domain:HOST), with a host such as example.org or *.example.org";
    return { ok: false, problem: `${expected}, not ${JSON.stringify(about)}` };
  }
  return { ok: true, rule: { text, kind: "fetch", host: host.toLowerCase().replace(/\.$/, "") } };
}
