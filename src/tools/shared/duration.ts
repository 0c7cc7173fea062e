import { text } from "../../contract/content.ts";
import type { ToolContext } from "../../contract/tool.ts";

/** Milliseconds of each unit. */
const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A timer takes no more, and would fire at once: nearly 25 days. */
export const LONGEST_MS = 2 ** 31 - 1;

/**
 * Milliseconds of "500ms", "30s", "10m", "1h" or "2d" (seed 000), at most `LONGEST_MS`; a number without a unit is of seconds. `undefined` when the
 * text is no duration.
 */
export function parseDuration(written: string): number | undefined {
  const [, number, unit = "s"] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$/i.exec(written) ?? [];
  const factor = UNITS[unit.toLowerCase()];
  if (number === undefined || factor === undefined) return undefined;
  return Math.min(Math.round(Number(number) * factor), LONGEST_MS);
}

/** The longest that Claude Code's Bash waits by default (BASH_MAX_TIMEOUT_MS, 600,000). A larger number was often meant as milliseconds. */
const LONG_S = 600;

/** Tells the model, beside the result, that a long time was taken as seconds. */
export function attachSecondsHint(
  argument: string,
  seconds: number | undefined,
  { attach }: Pick<ToolContext, "attach">,
): void {
  if (seconds === undefined || seconds <= LONG_S) return;
  attach(text(`[${argument} is in seconds: ${seconds} is ${inWords(seconds)}. For milliseconds divide by 1000.]`));
}

function inWords(seconds: number): string {
  if (seconds < 3_600) return `${Math.round(seconds / 6) / 10} minutes`;
  return `${Math.round(seconds / 360) / 10} hours`;
}
