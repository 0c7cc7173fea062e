const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

/**
 * Formats a number of bytes for people and models: `512B`, `50KB`, `1.5MB`, `2GB`. 1 KB is 1,024 bytes. Has one
 * decimal; `.0` is dropped.
 *
 * @param bytes 0 or more
 */
export function formatSize(bytes: number): string {
  let value = Math.round(bytes);
  let unit = 0;
  // Compared after rounding: 1,048,575 bytes are 1MB, not 1024KB.
  while (oneDecimal(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${oneDecimal(value)}${UNITS[unit]}`;
}

function oneDecimal(value: number): number {
  return Math.round(value * 10) / 10;
}
