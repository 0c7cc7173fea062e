import { oneLine, terminalSafe } from "../core/output/terminal-text.ts";
import type { Io } from "./io.ts";

// What people read goes through this module: text of a model, a file, a server or a page cannot control their terminal,
// or look like something else than it is. What programs read (JSON, exports) goes through `sayJson` and `write`.

/** Prints lines for people to stdout. Our colours stay; everything else that is not seen becomes visible. */
export function say({ stdout }: Pick<Io, "stdout">, text: string): void {
  stdout.write(`${terminalSafe(text)}\n`);
}

/** Prints a value for programs to stdout, as one line of JSON. */
export function sayJson({ stdout }: Pick<Io, "stdout">, value: unknown, indent?: number): void {
  stdout.write(`${JSON.stringify(value, undefined, indent)}\n`);
}

/** Prints the text of a model or a command as it is made: safe at a terminal, as it is into a pipe or a file. */
export function stream({ stdout }: Pick<Io, "stdout">, text: string): void {
  stdout.write(stdout.isTTY ? terminalSafe(text) : text);
}

/** Prints text for programs to stdout. Resolves when it is written, so that much text does not pile up. */
export function write({ stdout }: Pick<Io, "stdout">, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => stdout.write(text, () => resolve()));
}

/** Prints sentences for people to stderr, a line each, with control characters made visible. */
export function warn(io: Pick<Io, "stderr">, sentences: readonly string[]): void {
  for (const sentence of sentences) note(io, `handrail: ${oneLine(sentence, 1_000)}`);
}

/** Prints lines for people to stderr. */
export function note({ stderr }: Pick<Io, "stderr">, text: string): void {
  stderr.write(`${terminalSafe(text)}\n`);
}
