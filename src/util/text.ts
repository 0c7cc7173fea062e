/** At most `most` characters (UTF-16 units), with "…" in place of what is cut; never half a code point. */
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
