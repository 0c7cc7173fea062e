import type { Effect } from "../../core/contract/effect.ts";
import type { Decision } from "../../core/contract/decision.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { messageOf } from "../../core/util/errors.ts";
import { parseJson } from "../../core/util/json.ts";
import type { GlobalOptions } from "../options.ts";
import { toolkitOptions } from "../settings.ts";
import { inputLines } from "../stdin.ts";
import { EXIT } from "../exit.ts";
import { say, sayJson } from "../say.ts";
import type { Io } from "../io.ts";

export interface PolicyCheckOptions extends GlobalOptions {
  readonly command?: string;
  readonly path?: string;
  readonly op: Operation;
  readonly url?: string;
  readonly batch?: true;
  /** The age of the oldest call that is judged again, in milliseconds. */
  readonly against?: number;
  /** Prints text, even when stdout is not a terminal. Default: text on a terminal, otherwise JSON. */
  readonly explain?: true;
  /** Prints JSON, even on a terminal. */
  readonly json?: true;
}

type Operation = "read" | "write" | "cwd";

/**
 * Prints the policy's decision on a command, a path or a URL: as text on a terminal, otherwise as JSON. Or prints a
 * decision for each line of stdin, as JSON. Exit code 2 for invalid lines.
 */
export async function run(options: PolicyCheckOptions): Promise<number | void> {
  if (options.against !== undefined)
    return (await import("./policy-hindsight.ts")).checkAgainst(options.against, options);
  const asked = questions(options);
  const [first] = asked;
  if (first === undefined || asked.length > 1)
    throw new Error("policy check: expected one of --command, --path, --url, --batch, --against");
  if (options.json && options.explain) throw new Error("policy check: expected --json or --explain, not both");
  if (options.batch && options.explain) throw new Error("policy check: --batch answers in JSON; leave --explain out");
  const toolkit = await createToolkit(await toolkitOptions(options));
  try {
    if (options.batch) return await batch(options.io, toolkit);
    const decision = await toolkit.judge(first.effects);
    const isForPeople = options.json === undefined && (options.explain ?? options.io.stdout.isTTY);
    if (!isForPeople) return sayJson(options.io, explained(decision));
    const { explain } = await import("./policy-explain.ts");
    const colour = options.io.stdout.isTTY && (options.io.env["NO_COLOR"] ?? "") === "";
    say(options.io, explain(decision, first.effects, colour === true).replace(/\n$/, ""));
  } finally {
    await toolkit.close();
  }
}

function questions({
  command,
  path,
  op,
  url,
  batch: lines,
}: PolicyCheckOptions): readonly { effects: readonly Effect[] }[] {
  return [
    ...(command === undefined ? [] : [{ effects: effectsOf("shell", command, op) }]),
    ...(path === undefined ? [] : [{ effects: effectsOf("path", path, op) }]),
    ...(url === undefined ? [] : [{ effects: effectsOf("url", url, op) }]),
    ...(lines === undefined ? [] : [{ effects: [] }]),
  ];
}

async function batch(io: Io, toolkit: Toolkit): Promise<number> {
  let number = 0;
  let code: number = EXIT.ok;
  let read = true;
  io.stdout.once("error", () => (read = false));
  for await (const line of inputLines(io)) {
    number++;
    if (line.trim() === "") continue;
    const answered = await judgeLine(toolkit, line, number);
    if ("rule" in answered && answered.rule === "input") code = EXIT.usage;
    sayJson(io, answered);
    if (!read) break; // nobody reads the answers any longer
  }
  return code;
}

/** A parsed line of stdin, not yet validated. */
interface InputLine {
  readonly id?: unknown;
  readonly area?: unknown;
  readonly input?: unknown;
  readonly op?: unknown;
}

async function judgeLine(toolkit: Toolkit, text: string, number: number): Promise<object> {
  let line: InputLine = {};
  try {
    line = readLine(text);
    return { id: line.id ?? null, ...answer(await toolkit.judge(effectsIn(line))) };
  } catch (error) {
    return {
      id: line.id ?? null,
      verdict: "deny",
      risk: "high",
      rule: "input",
      reason: `line ${number}: ${messageOf(error)}`,
    };
  }
}

function readLine(text: string): InputLine {
  const parsed = parseJson(text);
  if (!parsed.ok) throw new Error(parsed.message);
  if (typeof parsed.value === "object" && parsed.value !== null && !Array.isArray(parsed.value)) return parsed.value;
  throw new Error('expected an object {"id","area","input","op"?}');
}

type Area = "shell" | "path" | "url";

function effectsIn({ area, input, op = "read" }: InputLine): readonly Effect[] {
  if (area !== "shell" && area !== "path" && area !== "url")
    throw new Error('"area": expected "shell", "path" or "url"');
  if (typeof input !== "string") throw new Error('"input": expected a string');
  if (op !== "read" && op !== "write" && op !== "cwd") throw new Error('"op": expected "read", "write" or "cwd"');
  return effectsOf(area, input, op);
}

function effectsOf(area: Area, input: string, op: Operation): readonly Effect[] {
  if (area === "shell") return [{ kind: "exec", command: input }];
  if (area === "url") return [{ kind: "fetch", url: input, method: "GET" }];
  // The working directory is judged like a path that is read.
  return op === "cwd" ? [{ kind: "read", path: input }] : [{ kind: op, path: input }];
}

/** Returns the answer with the decision on each part of a command. */
function explained(decision: Decision): object {
  return { ...answer(decision), ...(decision.parts !== undefined && { parts: decision.parts }) };
}

function answer({ verdict, risk, rule, reason }: Decision): object {
  return { verdict, risk, rule: rule ?? null, reason: reason ?? null };
}
