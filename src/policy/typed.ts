import type { Effect } from "../contract/effect.ts";
import { isCharacter, strokesOfKey, strokesOfText } from "../util/keys.ts";

type Typing = Pick<Extract<Effect, { kind: "terminal" }>, "types" | "keys">;

/**
 * Strokes that by themselves start nothing and agree to nothing. C-z only halts what runs. Not C-d, which ends a shell;
 * Space, which presses buttons; Tab, since what completes words runs programs.
 */
const HARMLESS: ReadonlySet<string> = new Set(
  "C-c C-z C-l C-u Escape q Up Down Left Right Home End PageUp PageDown BSpace".split(" "),
);

/** A stroke that neither interrupts, leaves nor takes anything back. */
export const MOVE = /^(?:Up|Down|Left|Right|Home|End|PageUp|PageDown)$/;

/** What is typed, stroke by stroke: the text, then the keys (see `strokesOfKey`). What is no key stands as it is. */
export function strokesOf({ types = "", keys = [] }: Typing): readonly string[] {
  return [...strokesOfText(types), ...keys.flatMap((key) => strokesOfKey(key) ?? [key])];
}

/** True when nothing else is typed, and no Escape twice: that completes words, or puts `sudo` before the line. */
export function isHarmless(typing: Typing, strokes: readonly string[] = strokesOf(typing)): boolean {
  const isTwice = strokes.some((stroke, index) => stroke === "Escape" && strokes[index + 1] === "Escape");
  return typing.types === undefined && !isTwice && strokes.every((stroke) => HARMLESS.has(stroke));
}

/** True when there is a stroke that may bring other text to the line, or go elsewhere in it. */
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
 * The scripts of lines by which programs run a command: `:!make` of vim, `!ls` of less, `\! ls` of psql; in a shell
 * `!word` runs an earlier command. `undefined`: there is no such line.
 */
export function escapedToShell(script: string): string | undefined {
  const lines = script.split("\n").flatMap((line) => /^\s*(?::[%.,$\d]*|\\)?!+\s*(.+)$/.exec(line)?.[1] ?? []);
  return lines.length === 0 ? undefined : lines.join("\n");
}

/** True for a line that runs an earlier one again: `!!`, `!-2`, `!ma`, `^a^b` (bash(1), HISTORY EXPANSION). */
export function recallsLine(script: string): boolean {
  return /(?:^|[;&|])[ \t]*![!?\w-]|^\^[^\s^]+\^/m.test(script);
}

/** So many words back is looked for what a line began with. */
const MOST_WORDS = 24;

/**
 * What may be half typed on a screen: the end of its last line from every word on, since nobody can tell where the
 * prompt ends, with the lines that it continues (a prompt such as "> ").
 */
export function halfTyped(screen: string): readonly string[] {
  const lines = screen.trimEnd().split("\n").slice(-5);
  if (SEARCH.test(lines.at(-1) ?? "")) lines.pop();
  let last = lines.pop() ?? "";
  while (lines.length > 0 && CONTINUED.test(last)) last = `${lines.pop() ?? ""}\n${last.replace(CONTINUED, "")}`;
  const starts = [...last.matchAll(/\S+/g)].map(({ index }) => index).slice(-MOST_WORDS);
  return starts.map((start) => last.slice(start));
}

/** Where zsh shows what is looked for in the history: below the line that is found. */
const SEARCH = /^(?:failing )?(?:bck|fwd)-i-search: /;

/** What shells show before a line that belongs to the one before: PS2. */
const CONTINUED = /^(?:[a-z ]+)?> ?/;

export function lastLine(screen: string): string {
  return screen.trimEnd().split("\n").at(-1)?.trim() ?? "";
}

/** True when the screen ends in a question of Handrail's own (cli/approver.ts), which only a person answers. */
export function asksForLeave(screen: string): boolean {
  return /^[A-Z][\w ,%-]*: .*\[y\/N\]\s*\w*$|\[y\/N\/s(?:\/a)?\]\s*\w*$/.test(lastLine(screen));
}

/** True when a screen asks for a password or the like, in its last line or in a dialog. */
export function asksForSecret(screen: string): boolean {
  if (ASKS.test(lastLine(screen))) return true;
  return /<\s*OK\s*>/i.test(screen) && new RegExp(SECRETS, "i").test(screen);
}

const SECRETS =
  String.raw`pass\s?(?:word|phrase|code)|passwor[td]|kennwort|mot de passe|contraseña|\bPIN\b|verification code|` +
  String.raw`one-time|\bOTP\b|\btoken\b|\bsecret\b`;

const ASKS = new RegExp(String.raw`(?:${SECRETS})[^\n]{0,100}[:?]\s*$`, "i");
