/** Names of keys in tmux, in lower case (tmux(1), KEY BINDINGS), and their strokes. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ..."Up Down Left Right Home End Insert Delete PageUp PageDown BSpace BTab Tab Escape Enter".split(" ").map(asItself),
  ...Array.from({ length: 12 }, (_, index) => asItself(`F${index + 1}`)),
  ...Array.from("/*-+.0123456789", (character) => [`kp${character}`, character] as const), // keys of the keypad
  ["kpenter", "Enter"],
  ["space", " "],
  ["ic", "Insert"],
  ["dc", "Delete"],
  ...["ppage", "pgup"].map((name) => [name, "PageUp"] as const),
  ...["npage", "pgdn"].map((name) => [name, "PageDown"] as const),
]);

function asItself(name: string): readonly [string, string] {
  return [name.toLowerCase(), name];
}

/** Ctrl with one of these keys is another key: a terminal sends the same byte for both (ASCII). */
const SAME_BYTE: { readonly [stroke: string]: string | undefined } = {
  "C-m": "Enter",
  "C-j": "Enter",
  "C-i": "Tab",
  "C-[": "Escape",
  "C-h": "BSpace",
  "C-?": "BSpace",
};

/**
 * Converts a key name of tmux to strokes. A character stands for itself; any other stroke has one name, whichever name
 * was used ("Enter" for `KPEnter`, `c-M` and `^j`; "-" for `KP-`). Meta is Escape first. `undefined`: tmux does not
 * know the key.
 */
export function strokesOfKey(name: string): readonly string[] | undefined {
  const [modifiers = ""] = /^(?:(?:[CMS]-|\^)(?=.))*/i.exec(name) ?? [];
  const key = name.slice(modifiers.length);
  const [base] = /^.$/u.test(key) ? strokesOfText(key) : [NAMES.get(key.toLowerCase())];
  if (base === undefined) return undefined;
  const held = [/c-|\^/i, /m-/i, /s-/i].map((modifier) => modifier.test(modifiers));
  if (isTypedOut(base, held)) return undefined;
  const [isHeld, isMeta, isShifted] = held;
  const meta = isMeta ? ["Escape"] : [];
  if (base === "Enter") return [...meta, base];
  if (!isHeld) return [...meta, isShifted ? `S-${base}` : base];
  const stroke = base === " " ? "C-Space" : `C-${base.length === 1 ? base.toLowerCase() : base}`;
  return [...meta, SAME_BYTE[stroke] ?? stroke];
}

/**
 * Whether tmux accepts a key but has no bytes for it. Then tmux types the key's name ("S-a" as three characters), or
 * the key without its modifiers (tmux 3.3: every key was tested with every modifier).
 */
function isTypedOut(base: string, [isHeld, isMeta, isShifted]: readonly (boolean | undefined)[]): boolean {
  if (/^(?:Up|Down|Left|Right|Home|End|Insert|Delete|PageUp|PageDown|F\d+)$/.test(base)) return false;
  if (isShifted === true) return true;
  if (isHeld !== true) return false;
  return isMeta === true ? !/^[a-z @[\\\]^_?]$/i.test(base) : /["$%&*{|}~]|[^ -~]/.test(base);
}

/** The strokes of text, by the same names. A line end is Enter, however it is written. */
export function strokesOfText(text: string): readonly string[] {
  return Array.from(text.replaceAll("\r\n", "\n"), (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code === 127) return "BSpace";
    if (code >= 32) return character;
    const held = code === 0 ? "C-Space" : `C-${String.fromCodePoint(code + 64).toLowerCase()}`;
    return SAME_BYTE[held] ?? held;
  });
}

/** True for a stroke that is a character: it is typed as it is. */
export function isCharacter(stroke: string): boolean {
  return /^.$/u.test(stroke);
}
