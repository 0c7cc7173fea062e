import { foundProgram } from "../programs/programs.ts";

/** The path of a program that sets up the sandbox: of the system's folders, then of PATH. `undefined`: not found. */
export function systemProgram(name: string): string | undefined {
  return foundProgram(name, { systemFirst: true })?.path;
}
