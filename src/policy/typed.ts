import type { Effect } from "../contract/effect.ts";

type Typing = Pick<Extract<Effect, { kind: "terminal" }>, "types" | "keys">;

/** Keys that end a line, as tmux names them. */
export const ENTER: ReadonlySet<string> = new Set(["Enter", "C-m", "C-j", "KPEnter"]);

/**
 * Keys that by themselves start nothing and agree to nothing: they interrupt, leave, move about, or take back what was typed. C-z only halts what
 * runs; nothing is lost. C-d is none of them (it ends a shell, or what somebody writes), nor is Space, which presses buttons.
 */
const HARMLESS: ReadonlySet<string> = new Set(
  "C-c C-z C-l C-u Escape C-[ q Up Down Left Right Home End PageUp PgUp PPage PageDown PgDn NPage Tab BTab BSpace".split(
    " ",
  ),
);

/** True when nothing but such keys is typed. */
export function isHarmless({ types, keys = [] }: Typing): boolean {
  return types === undefined && keys.every((key) => HARMLESS.has(key));
}

/** True when the text ends with a line end: a person who types that presses Enter. */
export function endsLine(text: string): boolean {
  return /[\r\n]$/.test(text);
}

/** What is typed as a shell would read it: the text, then the keys that are characters. Keys that move or edit leave nothing behind. */
export function scriptTyped({ types = "", keys = [] }: Typing): string {
  return types.replaceAll(/\r\n?/g, "\n") + keys.map(characterOf).join("");
}

function characterOf(key: string): string {
  if (ENTER.has(key)) return "\n";
  if (key === "Space") return " ";
  return /^.$/su.test(key) ? key : "";
}

/** So many words back is looked for what a line began with. */
const MOST_WORDS = 12;

/**
 * What may stand half typed on a screen: the end of its last line from every word on, since nobody can tell where the prompt ends; of a line that
 * goes on with an earlier one (a prompt such as "> " or "quote> ") the earlier ones too. Text without any is "".
 */
export function halfTyped(screen: string): readonly string[] {
  const lines = screen.trimEnd().split("\n").slice(-4);
  let last = lines.pop() ?? "";
  while (lines.length > 0 && CONTINUED.test(last)) last = `${lines.pop() ?? ""}\n${last.replace(CONTINUED, "")}`;
  const starts = [...last.matchAll(/\S+/g)].map(({ index }) => index).slice(-MOST_WORDS);
  return starts.map((start) => last.slice(start));
}

/** What shells show before a line that belongs to the one before: PS2. */
const CONTINUED = /^(?:[a-z ]+)?> ?/;

/** True when the last line of a screen asks for a password or the like: what is typed then is a secret, and no command. */
export function asksForSecret(screen: string): boolean {
  const last = screen.trimEnd().split("\n").at(-1) ?? "";
  return SECRET.test(last);
}

const SECRET =
  /(?:pass\s?(?:word|phrase|code)|passwor[td]|kennwort|mot de passe|contraseña|\bPIN\b|verification code|one-time|\bOTP\b|\btoken\b|\bsecret\b)[^\n]{0,100}[:?]\s*$/i;
