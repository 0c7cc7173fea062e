import type { Risk } from "../../contract/decision.ts";
import type { Folders, Shell } from "./folders.ts";
import type { Ordinary } from "./spec.ts";
import type { Word } from "./tree.ts";

/** A path that a part of a script touches. */
export interface PathUse {
  readonly use: "read" | "write" | "folder" | "remove" | "cwd" | "program";
  /** Absolute; what the path is relative to. */
  readonly from: string;
  /** As the command gets it. Of a pattern: the folder in front of it. */
  readonly path: string;
  /** What of it is a pattern of file names. */
  readonly pattern?: string;
  /** As it is written. */
  readonly text: string;
}

/** A part of a script that is judged by itself: a command, or something that is not understood. */
export interface Part {
  readonly kind: "command" | "other";
  readonly text: string;
  /** A command's words, name first, those that are not known as they are written. */
  readonly words: readonly string[];
  /** The program's name when it has no folder: it is looked up when the command runs. */
  program: string | undefined;
  risk: Risk;
  /** Why the risk is what it is: of the highest. */
  why: string | undefined;
  /** True: what is of medium risk in it is ordinary work (`CommandSpec.ordinary`), all of it, and nothing of it is unclear. */
  ordinary: Ordinary;
  /** What of it is not understood. */
  readonly unclear: string[];
  readonly paths: PathUse[];
  /** What nothing allows: network devices of the shell. */
  readonly forbidden: string[];
  /** Where it may run; `undefined`: not known. */
  readonly cwds: Folders;
  /** True when it opens a file to write, whatever the command. */
  writes: boolean;
}

/** A part of which nothing is known yet but what it is, and the shell it runs in. */
export function partOf(
  kind: Part["kind"],
  text: string,
  words: readonly Word[],
  { cwds, ordinary }: Pick<Shell, "cwds" | "ordinary">,
): Part {
  return {
    kind,
    text,
    words: words.map(({ value, text: written }) => value ?? written),
    program: undefined,
    risk: "low",
    why: undefined,
    ordinary,
    unclear: [],
    paths: [],
    forbidden: [],
    cwds,
    writes: false,
  };
}

const RISKS: { readonly [R in Risk]: number } = { low: 0, medium: 1, high: 2 };

/** At least this risk. `ordinary`: a medium one that is ordinary work, as `CommandSpec.ordinary` says. */
export function raise(part: Part, risk: Risk, why: string, ordinary: Ordinary = false): void {
  const isOrdinary = risk === "medium" && ordinary;
  if (risk !== "low" && part.ordinary !== false && isOrdinary !== true) part.ordinary = isOrdinary;
  if (RISKS[risk] < RISKS[part.risk] || (risk === part.risk && part.why !== undefined) || risk === "low") return;
  part.risk = risk;
  part.why = why;
}

/** Something that is not understood, and a risk because of it. */
export function raiseUnclear(part: Part, risk: Risk, why: string): void {
  raise(part, risk, why);
  part.unclear.push(why);
}

/** A path that it touches, from any of the folders that it may run in. */
export function addPath(part: Part, use: PathUse["use"], word: Word, cwds: Folders): void {
  const { text, value } = word;
  if (isDevice(value)) return;
  const known = value ?? word.prefix;
  if (/^\/dev\/(tcp|udp)(\/|$)/.test(known)) {
    part.forbidden.push(`${text} reaches the network`);
    return;
  }
  const pattern = value === undefined ? word.glob : undefined;
  const path = value ?? known.slice(0, known.lastIndexOf("/") + 1);
  if (value === undefined && pattern === undefined) {
    part.unclear.push(`which path ${text} is, is known only when it runs`);
    if (path === "") return;
  }
  const rest = pattern?.slice(path.length);
  const more = { use, path, text, ...(rest !== undefined && { pattern: rest }) };
  if (path.startsWith("/")) part.paths.push({ ...more, from: "/" });
  else if (cwds === undefined) part.unclear.push(`which folder ${text} is in, is known only when it runs`);
  else part.paths.push(...cwds.map((from) => ({ ...more, from })));
}

/** The same of a path that it writes, or removes. */
export function addWrite(part: Part, use: "write" | "remove", word: Word, cwds: Folders): void {
  part.writes ||= !isDevice(word.value);
  addPath(part, use, word, cwds);
}

/** Files that are none: the way to nowhere, and what the shell has open already. */
function isDevice(path: string | undefined): boolean {
  return path !== undefined && /^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/.test(path);
}
