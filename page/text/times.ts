const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_MS = 86_400_000;

/** Formats a time of day: "14:01". */
export function clock(ms: number): string {
  return CLOCK.format(ms);
}

/** Formats a full time for tooltips: "Sunday 22 November 2026 at 14:01:07". */
export function exact(ms: number): string {
  return EXACT.format(ms);
}

/** Formats how long ago a time is: "12s", "4m", then "13:20" for today, "Sat" for this week, "3 Oct". */
export function ago(ms: number, now: number): string {
  const passed = Math.max(0, now - ms);
  if (passed < 60_000) return `${Math.floor(passed / 1_000)}s`;
  if (passed < 3_600_000) return `${Math.floor(passed / 60_000)}m`;
  if (dayOf(ms) === dayOf(now)) return clock(ms);
  return passed < 6 * DAY_MS ? DAY.format(ms) : DATE.format(ms);
}

/** Formats a counter: "0:24", "18:42", "2:03:10". */
export function counting(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const rest = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** Formats a duration: "0.04 s", "6.2 s", "41 s", "3 min 5 s". */
export function duration(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 1) return `${Math.max(0.01, seconds).toFixed(2)} s`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor(seconds / 60) % 60} min`;
}

/** Returns "Earlier today", "Yesterday", or the name of the day. */
export function dayName(ms: number, now: number): string {
  if (dayOf(ms) === dayOf(now)) return "Earlier today";
  if (dayOf(ms) === dayOf(now - DAY_MS)) return "Yesterday";
  return now - ms < 6 * DAY_MS ? "This week" : "Older";
}

function dayOf(ms: number): string {
  return new Date(ms).toDateString();
}
