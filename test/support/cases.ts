/**
 * Returns how many random cases a property is tested with: this many, times `TIMES` if that is set (`TIMES=10 npm
 * test`).
 */
export const cases = (count: number): number => count * Number(process.env["TIMES"] ?? 1);
