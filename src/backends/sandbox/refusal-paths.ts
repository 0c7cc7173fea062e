/** A path in a line is looked for this near to the words that speak of it. In characters. */
const NEAR = 1_500;

/**
 * What may be the path that an error speaks of, the likeliest first: quoted behind the words, quoted before them, or bare before them.
 *
 * @param start where in the line the words of the error begin
 * @param end where they end
 */
export function pathsBeside(line: string, start: number, end: number): readonly string[] {
  const before = withoutTail(line.slice(Math.max(0, start - NEAR), start));
  const behind = line.slice(end, end + NEAR);
  const quoted = [...before.matchAll(/['"‘`]([^'"‘’`]{1,1024})['"’`]/g)].map((match) => match[1] ?? "").toReversed();
  return [...pathsBehind(behind), ...quoted, ...bare(before)].filter((path) => path !== "");
}

function pathsBehind(text: string): readonly string[] {
  const rubys = /^ @ \w{1,40} - (\S{1,1024})/.exec(text)?.[1];
  if (rubys !== undefined) return [rubys];
  const [, from = "", to = ""] =
    /^[^'"`]{0,40}['"`]([^'"`]{1,1024})['"`](?: -> ['"]([^'"]{1,1024})['"])?/.exec(text) ?? [];
  return [to, from];
}

/** "prog: what: PATH", "cannot create PATH", "PATH - open (30". The first of several parts is the program itself. */
function bare(text: string): readonly string[] {
  const parts = text.split(": ");
  return (parts.length > 1 ? parts.slice(1) : parts)
    .slice(-4)
    .toReversed()
    .flatMap((part) => {
      const start = lastPathStart(part);
      if (start !== undefined) return [(part.slice(start).split(" - ")[0] ?? "").trimEnd()];
      return part.includes(" ") ? [] : [part];
    });
}

function lastPathStart(text: string): number | undefined {
  for (let index = text.length - 1; index >= 0; index--) {
    if (/[/~.]/.test(text.charAt(index)) && (index === 0 || /[\s(]/.test(text.charAt(index - 1)))) return index;
  }
  return undefined;
}

/** Without what stands between a path and the error: "PATH (", "PATH: [Errno 30] ", "EROFS: ". */
function withoutTail(text: string): string {
  let end = text.length;
  while (end > 0 && /[\s:([,-]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
