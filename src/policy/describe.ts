import type { CheckedCall } from "../contract/call.ts";
import type { Effect, PageAct } from "../contract/effect.ts";
import { formatSize } from "../output/size.ts";
import { clip } from "../util/text.ts";
import { fieldText, formFields } from "./form-fields.ts";
import { scriptOf, strokesOf } from "./keystrokes.ts";

type Exec = Extract<Effect, { kind: "exec" }>;

/** What a person is shown of a call: its tool, its effects, and the sub-agent that makes it. */
export interface Described extends Pick<CheckedCall, "effects"> {
  readonly tool: Pick<CheckedCall["tool"], "name">;
  readonly request?: Pick<CheckedCall["request"], "agent">;
}

/** Describes a call for an approver, one line for each effect. Raw: the caller escapes it. */
export function describeCall({ tool, effects }: Described): string {
  if (effects.length === 0) return `Call: ${tool.name}`;
  return effects
    .filter((effect) => !isImplied(effect, effects))
    .map(describeEffect)
    .join("\n");
}

/** Whether an effect need not be shown: reading a file that is also written, or looking at a page that is opened. */
function isImplied(effect: Effect, effects: readonly Effect[]): boolean {
  if (effect.kind === "page" && effect.act === "look") return effects.length > 1;
  return effect.kind === "read" && effects.some((other) => other.kind === "write" && other.path === effect.path);
}

/** Describes one effect. Raw: the caller escapes it. */
export function describeEffect(effect: Effect): string {
  switch (effect.kind) {
    case "read":
      return `Read: ${pathOf(effect)}`;
    case "write":
      return `Write: ${pathOf(effect)}${effect.change === undefined ? "" : `\n${effect.change}`}`;
    case "exec":
      return commandOf(effect);
    case "terminal":
      return typingOf(effect);
    case "fetch":
    case "request":
      return requestOf(effect);
    case "search":
      return `Search with ${effect.engine}: ${effect.query}`;
    case "output":
      return `Read: output://${effect.id}`;
    case "state":
      if (effect.about === undefined) return `${effect.change ? "Change" : "Read"}: ${effect.store}`;
      return effect.soon === undefined ? effect.about : `${effect.about}\n${effect.soon}`;
    case "delegate":
      return `Delegate to: ${effect.agent}${effect.task === undefined ? "" : `: ${clip(effect.task, TASK_SHOWN)}`}`;
    case "page":
      return pageActOf(effect);
    case "foreign":
      return foreignOf(effect);
  }
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
} as const satisfies { readonly [Act in PageAct]: string };

function pageActOf({ act, url, detail }: Extract<Effect, { kind: "page" }>): string {
  const what = url === undefined ? ON_PAGE[act] : `${ON_PAGE[act]} ${url}`;
  return detail === undefined ? what : `${what}: ${clip(detail, INPUT_SHOWN)}`;
}

/** How many characters of the arguments of another program's tool are shown. */
const INPUT_SHOWN = 2_000;

function foreignOf({ from, tool = "a tool", input = "{}", asks, form }: Extract<Effect, { kind: "foreign" }>): string {
  if (asks !== undefined) {
    const fields =
      form === undefined ? "" : `\nTo fill in: ${clip(formFields(form).map(fieldText).join(", "), INPUT_SHOWN)}`;
    return `${from} asks in its own words: ${JSON.stringify(asks)}\nYes sends the answer: ${input}${fields}`;
  }
  const size = input.length > INPUT_SHOWN ? ` (${formatSize(Buffer.byteLength(input))})` : "";
  return `Call: ${tool} of ${from}${input === "{}" ? "" : ` with ${clip(input, INPUT_SHOWN)}${size}`}`;
}

/** Keys are in brackets. Text without Enter is marked: later text continues the same line. */
function typingOf(effect: Extract<Effect, { kind: "terminal" }>): string {
  const { job, types, keys = [] } = effect;
  const pane = effect.pane && pathOf({ ...effect, path: effect.pane });
  if (types === undefined && keys.length === 0) {
    if (job !== undefined) return `Manage job ${job}`;
    return `Look at ${pane === undefined ? "the terminal" : `pane ${pane}`}`;
  }
  const where = job === undefined ? (pane === undefined ? "" : ` into pane ${pane}`) : ` to job ${job}`;
  const typed = [...(types === undefined ? [] : [types]), ...keys.map((key) => `[${key}]`)].join(" ");
  const isOpen = job === undefined && types !== undefined && !scriptOf(strokesOf(effect)).endsWith("\n");
  return `Type${where}: ${typed}${isOpen ? " (without Enter)" : ""}`;
}

/** The approval is for the real path, so it is shown next to any other spelling. */
function pathOf({ path, real }: { readonly path: string; readonly real?: string }): string {
  return real === undefined || real === path ? path : `${path} (${real})`;
}

/** Characters of a body, and of a task for an agent, that a question shows. */
const BODY_SHOWN = 500;
const TASK_SHOWN = 500;

/** The whole URL, with what is sent. Values of headers are not shown: they may be secrets. */
function requestOf(effect: Extract<Effect, { url: string }>): string {
  const { method, url, headers = {} } = effect;
  const body = effect.kind === "request" ? effect.body : undefined;
  return [
    `${method}: ${url}`,
    ...(Object.keys(headers).length === 0 ? [] : [`(with headers ${Object.keys(headers).join(", ")})`]),
    ...(body === undefined || body === ""
      ? []
      : [`(sending ${formatSize(Buffer.byteLength(body))}: ${clip(body, BODY_SHOWN)})`]),
  ].join(" ");
}

const RUN = {
  call: "Run",
  toolkit: "Run in the background",
  detached: "Run in the background, also after this session",
} as const;

/** A command with its folder, its environment and what it asks the sandbox for. */
function commandOf({ command, cwd, env = {}, lifetime = "call", within = {} }: Exec): string {
  const isOutside = within === "none";
  const { network = [], write = [], read = [] } = isOutside ? {} : within;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const needs = Object.entries({ reaching: network, writing: write, reading: read })
    .filter(([, all]) => all.length > 0)
    .map(([what, all]) => `${what} ${all.join(", ")}`);
  return [
    `${RUN[lifetime]}${isOutside ? ", outside the sandbox" : ""}: ${command}`,
    ...(cwd === undefined ? [] : [`(in ${cwd})`]),
    ...(variables.length === 0 ? [] : [`(with ${variables.join(" ")})`]),
    ...(needs.length === 0 ? [] : [`(${needs.join("; ")})`]),
  ].join(" ");
}
