/** The options of `farSandbox`. */
export interface FarSandboxOptions {
  /** True: no command runs without a working sandbox. */
  readonly required: boolean;
  /** Folders that may be written besides the working directory, and paths that are hidden; absolute or with ~. */
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly isProtected: (path: string) => boolean;
  /** How many seconds the search of a writable folder may take. Default: 3. */
  readonly searchSeconds?: number;
}
