import type { CheckedCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { formatSize } from "../output/size.ts";
import { clip } from "../util/text.ts";
import { scriptOf, strokesOf } from "./typed.ts";

type Exec = Extract<Effect, { kind: "exec" }>;

/** What is told of a call: the name of its tool, and its effects. */
export interface Described extends Pick<CheckedCall, "effects"> {
  readonly tool: Pick<CheckedCall["tool"], "name">;
}

/** What a call would do, for the person who is asked: a line an effect. Raw: whoever shows it escapes it. */
export function describeCall({ tool, effects }: Described): string {
  if (effects.length === 0) return `Call: ${tool.name}`;
  return effects
    .filter((effect) => !isImplied(effect, effects))
    .map(describeEffect)
    .join("\n");
}

/** A file that is read in order to be written is one thing to people. */
function isImplied(effect: Effect, effects: readonly Effect[]): boolean {
  return effect.kind === "read" && effects.some((other) => other.kind === "write" && other.path === effect.path);
}

/** The same of one effect. Raw too. */
export function describeEffect(effect: Effect): string {
  switch (effect.kind) {
    case "read":
      return `Read: ${pathOf(effect)}`;
    case "write":
      return `Write: ${pathOf(effect)}`;
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
      return `${effect.change ? "Change" : "Read"}: ${effect.store}`;
    case "delegate":
      return `Delegate to: ${effect.agent}`;
    case "foreign":
      return `Call a tool of: ${effect.from}`;
  }
}

/** Keys stand in brackets. Text that nothing ends is a part of what is typed next, or was before. */
function typingOf(effect: Extract<Effect, { kind: "terminal" }>): string {
  const { job, types, keys = [] } = effect;
  const pane = effect.pane && pathOf({ ...effect, path: effect.pane });
  if (types === undefined && keys.length === 0) {
    if (job !== undefined) return `Look after job ${job}`;
    return `Look at ${pane === undefined ? "the terminal" : `pane ${pane}`}`;
  }
  const where = job === undefined ? (pane === undefined ? "" : ` into pane ${pane}`) : ` to job ${job}`;
  const typed = [...(types === undefined ? [] : [types]), ...keys.map((key) => `[${key}]`)].join(" ");
  const isOpen = job === undefined && types !== undefined && !scriptOf(strokesOf(effect)).endsWith("\n");
  return `Type${where}: ${typed}${isOpen ? " (without Enter)" : ""}`;
}

/** Where a link leads is what is consented to, so the real path stands beside any other spelling of it. */
function pathOf({ path, real }: { readonly path: string; readonly real?: string }): string {
  return real === undefined || real === path ? path : `${path} (${real})`;
}

/** So much of a body is shown in a question. */
const BODY_SHOWN = 500;

/** The whole URL, with what goes there beside it. Values of headers are not shown: they may be secrets. */
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
