import type { Finding, Use } from "../spec.ts";

const ASKS_VERSION = new Set(["-v", "-V", "-version", "--version", "-h", "-help", "--help", "version", "help", "-vV"]);

/** For an entry whose risk is low: it stays so when nothing but the version or the help is asked for, and is medium otherwise. */
export function mediumUnlessVersion(why: string): (use: Use) => readonly Finding[] {
  return ({ options, operands }) => {
    const given = [...options.map(({ name }) => name), ...operands.map(({ value }) => value ?? "")];
    const onlyAsks = given.length > 0 && given.every((one) => ASKS_VERSION.has(one));
    return onlyAsks ? [] : [{ kind: "risk", risk: "medium", why }];
  };
}

/** Whether one of these options is given. A flag is named as it is typed, an option with a value by the first of its names. */
export function gives(options: Use["options"], ...names: readonly string[]): boolean {
  return options.some(({ name }) => names.includes(name));
}
