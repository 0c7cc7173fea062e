/** A text parsed as one shell command: its words without quotes, or why it is not one. */
export type Words =
  | { readonly ok: true; readonly words: readonly string[] }
  /** "list": several commands, or a command with a redirection or a substitution; "open": a quote is not closed. */
  | { readonly ok: false; readonly why: "list" | "open" };

const TOKEN = /'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^]|[^\S\n]+|[^\s'"\\;&|<>`()]+|[^]/g;

/** The words of one simple command, as people write it in a rule or an example. Nothing is expanded. */
export function wordsOf(text: string): Words {
  const words: string[] = [];
  let word: string | undefined;
  for (const [token] of text.matchAll(TOKEN)) {
    if (/^["']$/.test(token)) return { ok: false, why: "open" };
    if (/^[;&|<>`\n()]|^".*(\$\(|`)/s.test(token)) return { ok: false, why: "list" };
    const isBlank = /^\s/.test(token);
    if (isBlank && word !== undefined) words.push(word);
    word = isBlank ? undefined : (word ?? "") + unquoted(token);
  }
  return { ok: true, words: word === undefined ? words : [...words, word] };
}

function unquoted(token: string): string {
  if (token.startsWith('"')) return token.slice(1, -1).replace(/\\(["\\$`])/g, "$1");
  return token.startsWith("'") ? token.slice(1, -1) : token.replace(/^\\(?=[^])/, "");
}
