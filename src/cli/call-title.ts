import type { CheckedCall } from "../core/contract/call.ts";
import type { Toolset } from "../core/contract/toolkit.ts";
import { check } from "../core/call/check.ts";
import { parse } from "../core/call/parse.ts";
import { NO_MASK } from "../core/output/mask.ts";
import { callActs, describeCall } from "../policy/describe.ts";

/**
 * Returns the title of a call as in questions: "Run: npm test". For an invalid call, returns its name and arguments.
 * Raw: the caller escapes it.
 */
export async function callTitle(tools: Toolset, name: string, input: string): Promise<string> {
  try {
    return describeCall(await checked(tools, name, input));
  } catch {
    return `${name} ${input}`;
  }
}

/** What a call is, for the line that shows it. Texts are raw: the caller escapes them. */
export interface CallSubject {
  /** The tool. */
  readonly name: string;
  /** What the call is about: its command, its file. */
  readonly about: string;
  /** A command that runs, a file that is written, or anything else. */
  readonly kind: "command" | "write" | "other";
  /** The whole new content of the file that it writes. */
  readonly content?: string;
}

/** Returns what a call is about. For an invalid call, that is its arguments. */
export async function callSubject(tools: Toolset, name: string, input: string): Promise<CallSubject> {
  try {
    const call = await checked(tools, name, input);
    const [first] = call.effects.length === 0 ? [] : callActs(call);
    const kinds = new Set(call.effects.map((effect) => effect.kind));
    const kind = kinds.has("exec") ? "command" : kinds.has("write") ? "write" : "other";
    const content = kind === "write" ? contentOf(call.input) : undefined;
    const about = first?.what === "" ? first.act : (first?.what ?? (input === "{}" ? "" : input));
    return { name: call.tool.name, about, kind, ...(content !== undefined && { content }) };
  } catch {
    return { name, about: input, kind: "other" };
  }
}

function contentOf(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("content" in input)) return undefined;
  return typeof input.content === "string" ? input.content : undefined;
}

function checked(tools: Toolset, name: string, input: string): Promise<CheckedCall> {
  return check(parse({ name, input }), { tools, mask: NO_MASK });
}
