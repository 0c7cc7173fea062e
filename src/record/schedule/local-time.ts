/** How far a change of the clock may move it, and how far from it the offset is asked for. Milliseconds. */
const DAY_MS = 86_400_000;

const formats = new Map<string, Intl.DateTimeFormat>();

/** The local time of a zone, as the same time of UTC: milliseconds. */
export function wallOf(ms: number, tz: string): number {
  const parts = Object.fromEntries(
    formatOf(tz)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((ms % 1_000) + 1_000) % 1_000);
}

function formatOf(tz: string): Intl.DateTimeFormat {
  let format = formats.get(tz);
  if (format === undefined) {
    const numeric = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" } as const;
    format = new Intl.DateTimeFormat("en", { timeZone: tz, hourCycle: "h23", second: "numeric", ...numeric });
    formats.set(tz, format);
  }
  return format;
}

/**
 * The moment of a local time. The first one, if the time comes twice; the end of the gap, if the clock skips it. See
 * `wallOf` for `wall`.
 */
export function momentOf(wall: number, tz: string): number {
  const [first, last] = momentsAround(wall, tz);
  if (wallOf(first, tz) === wall) return first;
  if (wallOf(last, tz) === wall) return last;
  let [before, after] = [first, last]; // the clock is changed between them
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (wallOf(middle, tz) < wall) before = middle;
    else after = middle;
  }
  return after;
}

/** Whether the local time of this moment comes twice. */
export function isRepeated(ms: number, tz: string): boolean {
  const wall = wallOf(ms, tz);
  const [first, last] = momentsAround(wall, tz);
  return first !== last && wallOf(first, tz) === wall && wallOf(last, tz) === wall;
}

/** The offset of a zone from UTC: "+02:00". */
export function offsetOf(ms: number, tz: string): string {
  const minutes = Math.round((wallOf(ms, tz) - ms) / 60_000);
  const [hour, minute] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "-" : "+"}${[hour, minute].map((each) => String(each).padStart(2, "0")).join(":")}`;
}

/** The moments that this local time would be with the offsets of the day before and the day after, in order. */
function momentsAround(wall: number, tz: string): readonly [first: number, last: number] {
  const [one, other] = [wall - DAY_MS, wall + DAY_MS].map((around) => wall - (wallOf(around, tz) - around));
  return [Math.min(one ?? 0, other ?? 0), Math.max(one ?? 0, other ?? 0)];
}
