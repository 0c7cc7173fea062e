import { BUILT_IN_NAMES } from "../core/contract/built-in-names.ts";
import type { CheckedCall } from "../core/contract/call.ts";
import type { Effect, PageAct } from "../core/contract/effect.ts";
import type { OpenQuestion } from "../core/contract/question.ts";
import { formatSize } from "../core/output/size.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import { fieldText, formFields } from "./form-fields.ts";
import { scriptOf, strokesOf } from "./keystrokes.ts";

type Exec = Extract<Effect, { kind: "exec" }>;

/** What a person is shown of a call: its tool, its arguments, its effects, and the sub-agent that makes it. */
export interface Described extends Pick<CheckedCall, "effects"> {
  readonly tool: Pick<CheckedCall["tool"], "name">;
  readonly request?: Pick<CheckedCall["request"], "agent"> & { readonly input?: unknown };
}

/** A recorded question as a call that can be described. */
export function describedQuestion({
  name,
  input,
  agent,
  effects,
}: Pick<OpenQuestion, "name" | "input" | "agent" | "effects">) {
  return { tool: { name }, effects, request: { input, ...(agent !== undefined && { agent }) } } satisfies Described;
}

/** Describes a call for an approver: all that is approved, one line for each effect. Raw: the caller escapes it. */
export function describeCall(call: Described): string {
  return callActs(call).map(actText).join("\n");
}

/** A described call with more characters or lines cannot be judged at a glance. */
const MOST_SHOWN = 2_000;
const MOST_SHOWN_LINES = 20;

/** A described call, safe to show to people. */
export interface Folded {
  /** What is shown first: all of it; of a long call, one line with a mark in place of its middle. */
  readonly shown: string;
  readonly whole: string;
  readonly isFolded: boolean;
}

/** Folds a described call that is long. Every channel shows it so, and all of it to a person who wants to see that. */
export function foldedCall(described: string, most = MOST_SHOWN): Folded {
  const lines = described.split("\n").map((line) => oneLine(line, Infinity));
  const whole = lines.join("\n");
  const isFolded = lines.length > MOST_SHOWN_LINES || whole.length > most;
  return { shown: isFolded ? oneLine(described, most) : whole, whole, isFolded };
}

/** What a call does, in parts. All texts are raw: the caller escapes them. */
export interface Act {
  /** What the act does, in words: "Run", "Edit". */
  readonly act: string;
  /** What the act is done to: a command, a path. "" if `act` tells it all. */
  readonly what: string;
  /** Further facts about the act, a clause each: "in /srv", "with A=b". */
  readonly details?: readonly string[];
  /** The change of a file, as a unified diff. */
  readonly change?: string;
}

/**
 * Returns what a call does: an act for each effect that another effect does not imply, and the arguments of a tool that
 * is not Handrail's, unless its effects show them.
 */
export function callActs({ tool, effects, request }: Described): readonly Act[] {
  const acts = effects.filter((effect) => !isImplied(effect, effects)).map(actOf);
  const input = argumentsText(request?.input);
  if (effects.length === 0) return [{ act: "Call", what: input === "" ? tool.name : `${tool.name} with ${input}` }];
  const isOther = !BUILT_IN_NAMES.includes(tool.name) && !effects.some(({ kind }) => kind === "foreign");
  if (!isOther || input === "" || areShown(request?.input, acts.map(actText).join("\n"))) return acts;
  return [...acts, { act: `Arguments of ${tool.name}`, what: input }];
}

/** Arguments as JSON; "" if there are none. */
function argumentsText(input: unknown): string {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  return text === "{}" || text === "null" ? "" : text;
}

/** Whether a text has every value of the arguments. */
function areShown(input: unknown, text: string): boolean {
  if (typeof input === "object" && input !== null) return Object.values(input).every((value) => areShown(value, text));
  return typeof input === "string" && text.includes(input);
}

/** Whether an effect need not be shown: reading a file that is also written, or looking at a page that is opened. */
function isImplied(effect: Effect, effects: readonly Effect[]): boolean {
  if (effect.kind === "page" && effect.act === "look") return effects.length > 1;
  return effect.kind === "read" && effects.some((other) => other.kind === "write" && other.path === effect.path);
}

/** Describes one effect. Raw: the caller escapes it. */
export function describeEffect(effect: Effect): string {
  return actText(actOf(effect));
}

function actText({ act, what, details = [], change }: Act): string {
  const text = what === "" ? act : `${act}: ${what}`;
  return `${[text, ...details.map((detail) => `(${detail})`)].join(" ")}${change === undefined ? "" : `\n${change}`}`;
}

function actOf(effect: Effect): Act {
  switch (effect.kind) {
    case "read":
      return { act: "Read", what: pathOf(effect) };
    case "write":
      return {
        act: writeOf(effect),
        what: pathOf(effect),
        ...(effect.change !== undefined && { change: effect.change }),
      };
    case "exec":
      return commandOf(effect);
    case "terminal":
      return typingOf(effect);
    case "fetch":
    case "request":
      return requestOf(effect);
    case "search":
      return { act: `Search with ${effect.engine}`, what: effect.query };
    case "output":
      return { act: "Read", what: `output://${effect.id}` };
    case "state":
      if (effect.about === undefined) return { act: effect.change ? "Change" : "Read", what: effect.store };
      return { act: effect.soon === undefined ? effect.about : `${effect.about}\n${effect.soon}`, what: "" };
    case "delegate": {
      const task = effect.task === undefined ? "" : `: ${effect.task}`;
      return { act: "Delegate to", what: `${effect.agent}${task}` };
    }
    case "page":
      return pageActOf(effect);
    case "foreign":
      return foreignOf(effect);
  }
}

/** What a write does, in a word. Before the write is judged, it is not known whether the file is new. */
function writeOf({ does, isNew = false }: Extract<Effect, { kind: "read" | "write" }>): string {
  if (does === "edit") return "Edit";
  return does === "replace" && isNew ? "New file" : "Write";
}

const ON_PAGE = {
  look: "Look at the open page",
  use: "Click or type on a page",
  password: "Type into a password field of",
  submit: "Submit a form to",
  upload: "Upload to",
  download: "Keep a download of",
  script: "Run a script on",
  person: "For you to do in the page",
} as const satisfies { readonly [Kind in PageAct]: string };

function pageActOf({ act, url, detail }: Extract<Effect, { kind: "page" }>): Act {
  const what = url === undefined ? ON_PAGE[act] : `${ON_PAGE[act]} ${url}`;
  return { act: what, what: detail ?? "" };
}

function foreignOf({ from, tool = "a tool", input = "{}", asks, form }: Extract<Effect, { kind: "foreign" }>): Act {
  if (asks !== undefined) {
    const fields = form === undefined ? "" : `\nTo fill in: ${formFields(form).map(fieldText).join(", ")}`;
    const what = `${JSON.stringify(asks)}\nYes sends the answer: ${input}${fields}`;
    return { act: `${from} asks in its own words`, what };
  }
  return { act: "Call", what: `${tool} of ${from}${input === "{}" ? "" : ` with ${input}`}` };
}

/** Keys are in brackets. Text without Enter is marked: later text continues the same line. */
function typingOf(effect: Extract<Effect, { kind: "terminal" }>): Act {
  const { job, types, keys = [] } = effect;
  const pane = effect.pane && pathOf({ ...effect, path: effect.pane });
  if (types === undefined && keys.length === 0) {
    if (job !== undefined) return { act: `Manage job ${job}`, what: "" };
    return { act: `Look at ${pane === undefined ? "the terminal" : `pane ${pane}`}`, what: "" };
  }
  const where = job === undefined ? (pane === undefined ? "" : ` into pane ${pane}`) : ` to job ${job}`;
  const typed = [...(types === undefined ? [] : [types]), ...keys.map((key) => `[${key}]`)].join(" ");
  const isOpen = job === undefined && types !== undefined && !scriptOf(strokesOf(effect)).endsWith("\n");
  return { act: `Type${where}`, what: `${typed}${isOpen ? " (without Enter)" : ""}` };
}

/** The approval is for the real path, so it is shown next to any other spelling. */
function pathOf({ path, real }: { readonly path: string; readonly real?: string }): string {
  return real === undefined || real === path ? path : `${path} (${real})`;
}

/** The whole URL, with all that is sent. Known secrets are masked before: "[masked: NAME]" says which one is sent. */
function requestOf(effect: Extract<Effect, { url: string }>): Act {
  const { method, url, headers = {} } = effect;
  const body = effect.kind === "request" ? effect.body : undefined;
  const details = [
    ...(Object.keys(headers).length === 0
      ? []
      : [
          `with headers ${Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join(", ")}`,
        ]),
    ...(body === undefined || body === "" ? [] : [`sending ${formatSize(Buffer.byteLength(body))}: ${body}`]),
  ];
  return { act: method, what: url, details };
}

const RUN = {
  call: "Run",
  toolkit: "Run in the background",
  detached: "Run in the background, also after this session",
} as const;

/** A command with its folder, its environment and what it asks the sandbox for. */
function commandOf({ command, cwd, env = {}, lifetime = "call", within = {} }: Exec): Act {
  const isOutside = within === "none";
  const { network = [], write = [], read = [] } = isOutside ? {} : within;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const needs = Object.entries({ reaching: network, writing: write, reading: read })
    .filter(([, all]) => all.length > 0)
    .map(([what, all]) => `${what} ${all.join(", ")}`);
  const details = [
    ...(cwd === undefined ? [] : [`in ${cwd}`]),
    ...(variables.length === 0 ? [] : [`with ${variables.join(" ")}`]),
    ...(needs.length === 0 ? [] : [needs.join("; ")]),
  ];
  return { act: `${RUN[lifetime]}${isOutside ? ", outside the sandbox" : ""}`, what: command, details };
}
