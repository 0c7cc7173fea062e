/** What a text comes to as one shell command: its words without quotes, or why it is not one. */
export type Words =
  | { readonly ok: true; readonly words: readonly string[] }
  /** "list": several commands, or one with a redirection or a substitution; "open": a quote is not closed. */
  | { readonly ok: false; readonly why: "list" | "open" };

/** The words of one simple command, as people write it in a rule or an example. Nothing is expanded. */
export function wordsOf(text: string): Words {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "'" || character === '"') {
      const end = closing(text, at, character);
      if (end === -1) return { ok: false, why: "open" };
      const inside = text.slice(at + 1, end);
      if (character === '"' && /\$\(|`/.test(inside)) return { ok: false, why: "list" };
      word = (word ?? "") + (character === '"' ? inside.replace(/\\(["\\$`])/g, "$1") : inside);
      at = end;
    } else if (character === "\\" && at + 1 < text.length) {
      word = (word ?? "") + text.charAt(++at);
    } else if (/\s/.test(character) && character !== "\n") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (/[;&|<>`\n()]/.test(character)) {
      return { ok: false, why: "list" };
    } else {
      word = (word ?? "") + character;
    }
  }
  return { ok: true, words: word === undefined ? words : [...words, word] };
}

function closing(text: string, start: number, quote: string): number {
  for (let at = start + 1; at < text.length; at++) {
    if (quote === '"' && text.charAt(at) === "\\") at++;
    else if (text.charAt(at) === quote) return at;
  }
  return -1;
}
