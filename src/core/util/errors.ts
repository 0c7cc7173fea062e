/**
 * Returns the message of whatever was thrown. A full disk gets a sentence of its own: it is not a fault of the program.
 */
export function messageOf(error: unknown): string {
  const code = codeOf(error);
  // inotify reports the limit of its watches in the same way.
  const isWatch = error instanceof Error && "syscall" in error && error.syscall === "watch";
  if (error instanceof Error && !isWatch && (code === "ENOSPC" || code === "EDQUOT"))
    return `${code === "ENOSPC" ? "the disk is full" : "the disk quota is used up"}: make room (${error.message})`;
  if (error instanceof Error && error.message !== "") return error.message;
  return tried(() => String(error)) ?? "an error without a message";
}

/**
 * Returns the result of the work, or `undefined` if it throws: for files that may be gone, damaged or another user's.
 */
export function tried<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** The code of a system error ("ENOENT", …), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
