// What is asked of a live terminal (`Terminal` in backend.ts).

export interface CaptureOptions {
  /** As tmux's `-t`. Default: the pane where commands are typed. */
  readonly target?: string;
  /** First and last line, as tmux's `-S` and `-E`; "-" is the beginning of the history, the end of the screen. Default: what is visible. */
  readonly start?: string;
  readonly end?: string;
  /** A line that was wrapped is one line (`-J`). Default true. */
  readonly joinWrappedLines?: boolean;
  /** `-N`. Default false. */
  readonly preserveTrailingSpaces?: boolean;
  /** Colours and such, as escape sequences (`-e`). Default false. */
  readonly includeEscapeSequences?: boolean;
  /** Others as octal numbers (`-C`). Default false. */
  readonly escapeNonPrintable?: boolean;
  /** The screen beneath a full-screen program, or that program's (`-a`). Default false. */
  readonly includeAlternateScreen?: boolean;
}

export interface Captured {
  readonly pane: string;
  readonly text: string;
  /** The alternate screen was asked for, and there is none: this is the main one. */
  readonly noAlternateScreen: boolean;
}

export interface Keys {
  /** As tmux's `-t`. Default: the pane where commands are typed. */
  readonly target?: string;
  /** Typed as it is. */
  readonly text?: string;
  /** Names of keys as tmux knows them: "C-c", "Up", "F5". */
  readonly keys?: readonly string[];
  readonly enter?: boolean;
}
