import { text } from "../../core/contract/content.ts";
import type { ToolContext } from "../../core/contract/tool.ts";

/** Milliseconds of each unit. */
const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest delay of a timer, nearly 25 days. A longer one fires at once. */
export const LONGEST_MS = 2 ** 31 - 1;

/**
 * Milliseconds of "500ms", "30s", "10m", "1h" or "2d", at most `LONGEST_MS`. A number without a unit is in
 * seconds. `undefined` when the text is not a duration.
 */
export function parseDuration(written: string): number | undefined {
  const [, number, unit = "s"] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$/i.exec(written) ?? [];
  const factor = UNITS[unit.toLowerCase()];
  if (number === undefined || factor === undefined) return undefined;
  return Math.min(Math.round(Number(number) * factor), LONGEST_MS);
}

/**
 * A larger number was often meant as milliseconds. Source: the default of BASH_MAX_TIMEOUT_MS in Claude Code, the
 * longest timeout of its Bash tool.
 */
const LONG_S = 600;

/** Attaches a notice that a long timeout was read as seconds. */
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
