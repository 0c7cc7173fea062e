import type { Effect } from "../core/contract/effect.ts";
import { isCharacter, strokesOfKey, strokesOfText } from "../core/util/keys.ts";

type Typing = Pick<Extract<Effect, { kind: "terminal" }>, "types" | "keys">;

/**
 * Strokes that neither start nor confirm anything. C-z only stops what runs. Not included: C-d ends a shell, Space
 * presses buttons, and Tab runs completion programs.
 */
const HARMLESS: ReadonlySet<string> = new Set(
  "C-c C-z C-l C-u Escape q Up Down Left Right Home End PageUp PageDown BSpace".split(" "),
);

/** A stroke that neither interrupts nor exits nor deletes anything. */
export const MOVE = /^(?:Up|Down|Left|Right|Home|End|PageUp|PageDown)$/;

/** Returns the strokes of the text, then of the keys (see `strokesOfKey`). An unknown key stays as written. */
export function strokesOf({ types = "", keys = [] }: Typing): readonly string[] {
  return [...strokesOfText(types), ...keys.flatMap((key) => strokesOfKey(key) ?? [key])];
}

/**
 * Whether only harmless strokes are typed, and not Escape twice, which completes words or puts `sudo` before the line.
 */
export function isHarmless(typing: Typing, strokes: readonly string[] = strokesOf(typing)): boolean {
  const isTwice = strokes.some((stroke, index) => stroke === "Escape" && strokes[index + 1] === "Escape");
  return typing.types === undefined && !isTwice && strokes.every((stroke) => HARMLESS.has(stroke));
}

/** Whether a stroke may bring other text to the line or move the cursor in it. */
export function movesAbout(strokes: readonly string[]): boolean {
  return strokes.some((stroke) => !isCharacter(stroke) && !STAYS.has(stroke));
}

const STAYS: ReadonlySet<string> = new Set("Enter C-c C-d C-l C-u C-z Escape BSpace PageUp PageDown".split(" "));

/** Strokes as a shell would read them: characters and line ends, without keys that move or edit. */
export function scriptOf(strokes: readonly string[]): string {
  return strokes.map((stroke) => (isCharacter(stroke) ? stroke : (LEAVES[stroke] ?? ""))).join("");
}

const LEAVES: { readonly [stroke: string]: string | undefined } = { Enter: "\n", Tab: "\t" };

/**
 * Returns the scripts of lines with which programs run a command: `:!make` in vim, `!ls` in less, `\! ls` in psql. In a
 * shell, `!word` runs an earlier command. `undefined` if no line is of this kind.
 */
export function escapedToShell(script: string): string | undefined {
  const lines = script.split("\n").flatMap((line) => /^\s*(?::[%.,$\d]*|\\)?!+\s*(.+)$/.exec(line)?.[1] ?? []);
  return lines.length === 0 ? undefined : lines.join("\n");
}

/** Whether a line runs an earlier line again: `!!`, `!-2`, `!ma`, `^a^b` (bash(1), HISTORY EXPANSION). */
export function recallsLine(script: string): boolean {
  return /(?:^|[;&|])[ \t]*![!?\w-]|^\^[^\s^]+\^/m.test(script);
}

/** How many words back the start of a line is searched for. */
const MOST_WORDS = 24;

/**
 * Returns what may be half typed on a screen: the text from each word of the last line to its end, because it is
 * unknown where the prompt ends. Includes the lines that it continues (after a prompt such as "> ").
 */
export function halfTyped(screen: string): readonly string[] {
  const lines = screen.trimEnd().split("\n").slice(-5);
  if (SEARCH.test(lines.at(-1) ?? "")) lines.pop();
  let last = lines.pop() ?? "";
  while (lines.length > 0 && CONTINUED.test(last)) last = `${lines.pop() ?? ""}\n${last.replace(CONTINUED, "")}`;
  const starts = [...last.matchAll(/\S+/g)].map(({ index }) => index).slice(-MOST_WORDS);
  return starts.map((start) => last.slice(start));
}

/** zsh shows a history search below the line that it found. */
const SEARCH = /^(?:failing )?(?:bck|fwd)-i-search: /;

/** The prompt before a continuation line: PS2. */
const CONTINUED = /^(?:[a-z ]+)?> ?/;

export function lastLine(screen: string): string {
  return screen.trimEnd().split("\n").at(-1)?.trim() ?? "";
}

/** Whether the screen ends in an approval question of Handrail (cli/approver.ts), which only a person answers. */
export function asksForLeave(screen: string): boolean {
  return /^[A-Z][\w ,%-]*: .*\[y\/N\]\s*\w*$|\[y\/N\/s(?:\/a)?\]\s*\w*$/.test(lastLine(screen));
}

/** Whether a screen asks for a password or another secret, in its last line or in a dialog. */
export function asksForSecret(screen: string): boolean {
  if (ASKS.test(lastLine(screen))) return true;
  return /<\s*OK\s*>/i.test(screen) && new RegExp(SECRETS, "i").test(screen);
}

const SECRETS =
  String.raw`pass\s?(?:word|phrase|code)|passwor[td]|kennwort|mot de passe|contraseña|\bPIN\b|verification code|` +
  String.raw`one-time|\bOTP\b|\btoken\b|\bsecret\b`;

const ASKS = new RegExp(String.raw`(?:${SECRETS})[^\n]{0,100}[:?]\s*$`, "i");
