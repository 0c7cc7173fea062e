import { oneLine } from "../output/terminal-text.ts";

/** Where something stands in a file. Lines and columns count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** One thing that is wrong with a configuration file. */
export interface Problem {
  /** As people would write it. */
  readonly file: string;
  /** Left out when the whole file is meant. */
  readonly place?: Place;
  /** "policy.autonomy"; left out where no key is meant. */
  readonly key?: string;
  /** What was expected, what came, what to do. */
  readonly message: string;
}

/** So many problems are told one by one. */
const MOST_TOLD = 100;

/** The configuration cannot be used. The message has all problems, one a line, fit for a terminal. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const told = problems.slice(0, MOST_TOLD).map(problemLine);
    const more = problems.length - told.length;
    super(
      ["the configuration is not valid:", ...told, ...(more > 0 ? [`… and ${more} more problems`] : [])].join("\n"),
    );
    this.problems = problems;
  }
}

/** "handrail.yaml:7:3: policy.autonomi: unknown key. Did you mean "autonomy"?", fit for a terminal. */
function problemLine({ file, place, key, message }: Problem): string {
  const where = place === undefined ? file : `${file}:${place.line}:${place.column}`;
  return oneLine([where, ...(key === undefined ? [] : [key]), message].join(": "), 1_000);
}
