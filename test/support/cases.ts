/** `npm run test:system` sets it (vitest.config.ts), and so can a person: `TIMES=50 npm test -- test/policy/oracle`. */
const TIMES = Number(process.env["TIMES"] ?? 1);

/** Returns how many random cases, rounds or seconds a property is tested with: this many, times `TIMES`. */
export const cases = (count: number): number => count * TIMES;

/** Returns the first rows of a table, this many; with `TIMES` all. The first ones represent the others. */
export const representatives = <Row>(rows: readonly Row[], count: number): readonly Row[] =>
  TIMES > 1 ? rows : rows.slice(0, count);
