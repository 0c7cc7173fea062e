import type { Backend } from "../../core/contract/backend.ts";

/** Runs a program and returns its exit status and the last 100 bytes of its output. */
export async function outputOf(backend: Backend, argv: readonly [string, ...string[]], signal: AbortSignal) {
  const child = await backend.spawn({ argv, signal });
  const exit = await child.exit;
  return { exit, written: Buffer.from(await child.output.tail(100)).toString() };
}
