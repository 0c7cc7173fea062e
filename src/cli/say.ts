import { oneLine } from "../output/terminal-text.ts";

/** Prints a line to stdout, as it is. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints text to stdout. Resolves when it is written, so that much text does not pile up. */
export function write(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

/** Prints sentences for people to stderr, a line each, with control characters made visible. */
export function warn(sentences: readonly string[]): void {
  for (const sentence of sentences) process.stderr.write(`handrail: ${oneLine(sentence, 1_000)}\n`);
}
