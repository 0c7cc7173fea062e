import { oneLine } from "../../core/output/terminal-text.ts";

/** A position in a file. Lines and columns start at 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A problem of a configuration file. */
export interface Problem {
  /** The path, as people would write it. */
  readonly file: string;
  /** Absent if the problem concerns the whole file. */
  readonly place?: Place;
  /** The key, such as "policy.autonomy"; absent if the problem concerns no key. */
  readonly key?: string;
  /** What was expected, what came, what to do. */
  readonly message: string;
}

/** The maximum number of problems that are listed. */
const MOST_TOLD = 100;

/** The configuration is invalid. The message lists all problems, one per line, safe for a terminal. */
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

/**
 * Returns a problem as a line: "handrail.yaml:7:3: policy.autonomi: unknown key. Did you mean "autonomy"?". Safe for a
 * terminal.
 */
export function problemLine({ file, place, key, message }: Problem): string {
  const where = place === undefined ? file : `${file}:${place.line}:${place.column}`;
  return oneLine([where, ...(key === undefined ? [] : [key]), message].join(": "), 1_000);
}
