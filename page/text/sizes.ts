const UNITS = ["KB", "MB", "GB", "TB"] as const;

/** Formats a number of bytes: "512 B", "18.6 KB", "4.9 GB". 1 KB is 1,024 bytes. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  let [value, unit] = [bytes / 1_024, 0];
  while (value >= 1_023.95 && unit < UNITS.length - 1) [value, unit] = [value / 1_024, unit + 1];
  return `${value.toFixed(1)} ${UNITS[unit]}`;
}
