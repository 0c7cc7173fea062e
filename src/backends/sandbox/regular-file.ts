import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

/**
 * What is in a file that a command may have made, and may be changing. `undefined`: there is none, it is no regular file (a pipe is never waited
 * for), or it has more than `most` bytes. Never throws.
 */
export function readRegular(path: string, most: number): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    const info = fstatSync(descriptor);
    return info.isFile() && info.size <= most ? readFileSync(descriptor) : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
