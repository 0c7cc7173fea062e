import { parse as parseBash } from "./grammar.ts";
import { createTreeReader, placeOf } from "./read-tree.ts";
import type { Tree } from "./tree.ts";

/** A longer script is not looked at: 16 KiB. */
export const MAX_SCRIPT_BYTES = 16_384;

/** Deeper nested substitutions and subshells are not looked at. */
const MAX_PARENTHESES = 64;

/** What is known of the shell that will run the script. */
interface ShellFacts {
  /** What `~` stands for. */
  readonly home: string;
  /** Where it starts, if that is known. */
  readonly cwd?: string | undefined;
}

interface ParsedShell {
  readonly tree: Tree;
  /** Why the script is not one that this policy can read, with the place. None: it could be read. */
  readonly errors: readonly string[];
}

/**
 * Reads a shell script. Never throws. What has errors is read as far as it goes, so that what can be seen in it is judged too; it must not
 * count as understood.
 */
export function parseShell(script: string, { home, cwd }: ShellFacts): ParsedShell {
  const large = tooLarge(script);
  if (large !== undefined) return { tree: NOTHING, errors: [large] };
  const refused = unreadable(script);
  const errors: string[] = refused === undefined ? [] : [refused];
  // A script that sets HOME makes `~` something else.
  const fixedHome = /\bHOME\b/.test(script.replaceAll(/\$\{?HOME\b/g, "")) ? undefined : home;
  // So does one that sets PWD, or goes elsewhere.
  const moves = /\bPWD\b|\b(cd|pushd|popd|source|eval)\b|(^|[\s;&|])\.\s/.test(script.replaceAll(/\$\{?PWD\b/g, ""));
  const readTree = createTreeReader(errors, { HOME: fixedHome, PWD: moves ? undefined : cwd });
  try {
    return { tree: readTree(parseBash(script), script), errors };
  } catch (error) {
    return { tree: NOTHING, errors: [...errors, error instanceof Error ? error.message : String(error)] };
  }
}

const NOTHING: Tree = { kind: "sequence", steps: [] };

/** What would take too long to read. */
function tooLarge(script: string): string | undefined {
  const bytes = Buffer.byteLength(script);
  if (bytes > MAX_SCRIPT_BYTES)
    return (
      `it is ${bytes} bytes long, and more than ${MAX_SCRIPT_BYTES} are not looked at; ` +
      "write long text to a file instead of giving it to a command"
    );
  let depth = 0;
  for (const [letter] of script.matchAll(/[()]/g)) {
    depth += letter === "(" ? 1 : -1;
    if (depth > MAX_PARENTHESES) return `its parentheses are nested more than ${MAX_PARENTHESES} deep`;
  }
  return undefined;
}

/** What makes a script one that shells and this policy could read differently. */
function unreadable(script: string): string | undefined {
  const control = /[\x00-\x08\x0b-\x1f\x7f]/.exec(script);
  if (control === null) return undefined;
  const code = (script.codePointAt(control.index) ?? 0).toString(16).padStart(2, "0");
  return `there is a control character (0x${code}) ${placeOf(script, control.index)}`;
}
