/** Cuts text to `most` characters (UTF-16 units), including "…" for what is cut; never within a code point. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = most - 1;
  const splitsPair = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(end));
  return `${text.slice(0, splitsPair ? end - 1 : end)}…`;
}

/** "1 match", "2 matches". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The words of a text, separated by white space. Used for compact tables of names. */
export function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** A pattern that matches what any of the patterns matches, with the flags. Splits a long pattern into lines. */
export function either(flags: string, ...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join("|"), flags);
}

/** A pattern that matches the patterns one after another, with the flags. Splits a long pattern into lines. */
export function inOrder(flags: string, ...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join(""), flags);
}

/**
 * Returns the same pattern in which no class is repeated "at least n times". V8 keeps a state for each repetition that it
 * counts, and megabytes of them overflow its stack. A `+` is counted too once a process has compiled many expressions
 * (`--no-regexp-optimization` shows it), so patterns for long runs are written with `{1,}`.
 */
export function uncounted(pattern: string): string {
  return pattern.replaceAll(/(\[(?:[^\]\\]|\\.)*\])\{(\d+),\}/g, "$1{$2}$1*");
}
