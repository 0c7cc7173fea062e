/**
 * Returns a time for people, in the time zone of this machine: "2026-03-01 14:05:09". A number that is not a valid time
 * is returned unchanged.
 */
export function localTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toLocaleString("sv");
}
