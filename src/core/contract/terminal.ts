// Options of a live terminal (`Terminal` in backend.ts).

export interface CaptureOptions {
  /** As tmux's `-t`. Default: the pane where commands run. */
  readonly target?: string;
  /**
   * First and last line, as tmux's `-S` and `-E`; "-" is the beginning of the history or the end of the screen.
   * Default: the visible lines.
   */
  readonly start?: string;
  readonly end?: string;
  /** Join wrapped lines (`-J`). Default true. */
  readonly joinWrappedLines?: boolean;
  /** Keep trailing spaces (`-N`). Default false. */
  readonly preserveTrailingSpaces?: boolean;
  /** Include escape sequences, such as colours (`-e`). Default false. */
  readonly includeEscapeSequences?: boolean;
  /** Show other non-printable characters as octal numbers (`-C`). Default false. */
  readonly escapeNonPrintable?: boolean;
  /** Capture the alternate screen (`-a`). Default false. */
  readonly includeAlternateScreen?: boolean;
  /** Report where the cursor is. Default false. */
  readonly includeCursor?: boolean;
}

export interface Captured {
  readonly pane: string;
  readonly text: string;
  /** Whether the alternate screen was requested but is not active: then this is the main screen. */
  readonly noAlternateScreen: boolean;
  /** The cursor's position, counted from 0 at the top left, if it was asked for. Absent while the cursor is hidden. */
  readonly cursor?: { readonly column: number; readonly row: number };
}

export interface Keys {
  /** As tmux's `-t`. Default: the pane where commands run. */
  readonly target?: string;
  /** Typed as it is. */
  readonly text?: string;
  /** Names of keys in tmux: "C-c", "Up", "F5". */
  readonly keys?: readonly string[];
  readonly enter?: boolean;
}
