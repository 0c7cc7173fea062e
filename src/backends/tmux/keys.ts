/** Names of keys beside single characters (tmux(1), KEY BINDINGS). */
const NAMES = [
  ..."Up Down Left Right BSpace BTab DC Delete End Enter Escape Home IC Insert NPage PageDown PgDn PPage PageUp PgUp Space Tab".split(
    " ",
  ),
  ..."KP/ KP* KP- KP7 KP8 KP9 KP+ KP4 KP5 KP6 KP1 KP2 KP3 KPEnter KP0 KP.".split(" "),
  ...Array.from({ length: 12 }, (_, index) => `F${index + 1}`),
].map((name) => name.toLowerCase());

/**
 * Whether tmux knows the key: a name or one character, with `C-`, `M-` and `S-` (also `^`) before it. What it does not know it would type letter by
 * letter, without a word.
 */
export function isKey(name: string): boolean {
  const key = name.replace(/^(?:(?:[CMScms]-|\^)(?=.))*/, "");
  return /^.$/u.test(key) || NAMES.includes(key.toLowerCase());
}
