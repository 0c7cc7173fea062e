/** A script as this policy sees it: who runs what, in which order, and what of it is not understood. */
export type Tree =
  /** One after the other, in one shell: `a; b`, `a || b`, `{ a; b; }`. */
  | { readonly kind: "sequence"; readonly steps: readonly Tree[] }
  /** The same, but each only when the one before it went well: `a && b`. */
  | { readonly kind: "and"; readonly steps: readonly Tree[] }
  /** Each step in a shell of its own: `a | b`. */
  | { readonly kind: "pipeline"; readonly steps: readonly Tree[] }
  /** A shell of its own: `( … )`, `a &`. */
  | { readonly kind: "subshell"; readonly body: Tree }
  /** Some of it runs, some does not, some again and again: if, case, for, while. */
  | { readonly kind: "choice"; readonly parts: readonly Tree[] }
  | { readonly kind: "function"; readonly name: string; readonly text: string; readonly body: Tree }
  | CommandNode
  /** Words that are only expanded: those of a `for`, of a `case`, of `[[ … ]]`. */
  | { readonly kind: "words"; readonly words: readonly Word[] }
  | { readonly kind: "redirected"; readonly text: string; readonly redirects: readonly Redirect[]; readonly body: Tree }
  /** Not understood, with why; `inside` is what can be seen of it all the same. */
  | { readonly kind: "unclear"; readonly text: string; readonly why: string; readonly inside: readonly Tree[] };

/** A simple command. Without words it only assigns, or only redirects. */
export interface CommandNode {
  readonly kind: "command";
  readonly text: string;
  readonly assignments: readonly Assignment[];
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
}

export interface Assignment {
  readonly text: string;
  readonly name: string;
  /** Its words: one, or those of an array, and the subscript. */
  readonly words: readonly Word[];
  /** False for arrays, subscripts and `+=`. */
  readonly plain: boolean;
}

export type Redirect =
  | { readonly kind: "file"; readonly use: "read" | "write"; readonly target: Word; readonly text: string }
  /** A descriptor, a here-document or a here-string: nothing is opened. */
  | { readonly kind: "data"; readonly words: readonly Word[]; readonly text: string }
  | { readonly kind: "unclear"; readonly why: string; readonly words: readonly Word[]; readonly text: string };

/** A word of a script, quotes removed. */
export interface Word {
  /** As it is written. */
  readonly text: string;
  /** What it is when it runs; `undefined` when that is not known before (expansions, globs). */
  readonly value: string | undefined;
  /** What it certainly begins with: all of it when it is known. */
  readonly prefix: string;
  /** True when it may become several words, or none (unquoted expansions and globs). */
  readonly splits: boolean;
  /** The parts that are not known, as they are written, for the person asked: ["$x"]. */
  readonly unknown: readonly string[];
  /** A pattern of file names, `*`, `?` and `[…]` unquoted and everything else literal (escaped by `\`); only when nothing else is unknown. */
  readonly glob?: string;
  /** What runs in order to know it: command and process substitutions. */
  readonly scripts: readonly Tree[];
}

/** What stands right inside of it. */
export function insideOf(tree: Tree): readonly Tree[] {
  switch (tree.kind) {
    case "sequence":
    case "and":
    case "pipeline":
      return tree.steps;
    case "choice":
      return tree.parts;
    case "unclear":
      return tree.inside;
    case "subshell":
    case "function":
    case "redirected":
      return [tree.body];
    case "command":
    case "words":
      return [];
  }
}
