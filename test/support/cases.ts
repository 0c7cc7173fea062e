/** How many random cases a property is tried with: so many, times `TIMES` where that is set (`TIMES=10 npm test`). */
export const cases = (count: number): number => count * Number(process.env["TIMES"] ?? 1);
