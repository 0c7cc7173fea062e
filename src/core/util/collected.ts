import type { FileHandle } from "node:fs/promises";

/**
 * Closes the file if its owner is garbage-collected without having closed it. Otherwise a forgotten file would end the
 * process: since version 25, Node.js throws when an open `FileHandle` is collected (DEP0137). Code that reads the file
 * must refer to the owner, so that it is not collected meanwhile.
 */
export function closeWith(owner: object, file: FileHandle): void {
  owners.register(owner, file);
}

// The registry itself refers to the file, so that it is not collected before its owner. Closing it twice does nothing.
const owners = new FinalizationRegistry((file: FileHandle) => void file.close().catch(() => {}));
