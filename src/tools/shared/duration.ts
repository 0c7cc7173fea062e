/** Milliseconds of each unit. */
const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A timer takes no more, and would fire at once: nearly 25 days. */
export const LONGEST_MS = 2 ** 31 - 1;

/**
 * Milliseconds of "500ms", "30s", "10m", "1h" or "2d" (seed 000), at most `LONGEST_MS`; a number without a unit is of seconds. `undefined` when the
 * text is no duration.
 */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = "s"] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$/i.exec(text) ?? [];
  const factor = UNITS[unit.toLowerCase()];
  if (number === undefined || factor === undefined) return undefined;
  return Math.min(Math.round(Number(number) * factor), LONGEST_MS);
}
