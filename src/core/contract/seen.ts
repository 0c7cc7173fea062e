import type { FileInfo } from "./backend.ts";

/** The state of a file when a tool last read or wrote it. */
export interface SeenFile {
  /** `FileInfo.version` at that time. */
  readonly version: string;
  /** `FileInfo.version` when a tool last wrote it. A read at the same time may have seen the file before the write. */
  readonly written?: string;
  /** The whole content, if all of it was seen and it was small enough to keep. */
  readonly content?: Uint8Array;
}

/** The state of a file by its real path, without its content: for another process. */
export interface SeenVersion extends Pick<SeenFile, "version" | "written"> {
  readonly path: string;
}

/** Remembers files by their real path, so that a person's change is not overwritten unseen. */
export interface SeenFiles {
  /** Remembers a file that was read. `content` is the whole content; omit it when only a part was seen. */
  remember(file: Pick<FileInfo, "path" | "version">, content?: Uint8Array): void;
  /** Remembers a file that a tool has just written. */
  wrote(file: Pick<FileInfo, "path" | "version">, content: Uint8Array): void;
  recall(realPath: string): SeenFile | undefined;
}
