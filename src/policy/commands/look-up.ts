import type { CommandSpec } from "./spec.ts";
import { FAMILIES } from "./tables/index.ts";

const byName: ReadonlyMap<string, CommandSpec> = new Map(
  FAMILIES.flat().flatMap((spec) => spec.names.map((name) => [name, spec] as const)),
);

/** The entry of a command, by its name without folders. */
export function lookUp(name: string): CommandSpec | undefined {
  return byName.get(name);
}
