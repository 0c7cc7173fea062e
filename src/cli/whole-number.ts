import { InvalidArgumentError } from "commander";

/** Parses an option that is a whole number above 0. */
export function wholeNumber(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError("expected a whole number above 0");
  return Number(value);
}
