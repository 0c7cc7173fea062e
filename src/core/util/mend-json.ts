/**
 * JSON with three mistakes mended that have only one reading: a Markdown fence around it, a comma after the last value
 * of an object or array, and line breaks and tabs in strings that are not escaped. Nothing else is changed, so the text
 * that is returned may still not be JSON. Valid JSON is returned unchanged.
 */
export function mendJson(text: string): string {
  const inner = FENCED.exec(text)?.[1] ?? text;
  let mended = "";
  let endsValue = false; // whether the last token, white space apart, ends a value
  for (const [token] of inner.matchAll(TOKEN)) {
    if (token.startsWith(",")) {
      mended += endsValue && /[}\]]$/.test(token) ? token.slice(1) : token;
      endsValue = /[}\]]$/.test(token);
      continue;
    }
    mended += token.startsWith('"') ? token.replaceAll(/\\.|[\n\r\t]/gs, (each) => ESCAPED[each] ?? each) : token;
    if (token.trim() !== "") endsValue = !/^[[{:]$/.test(token);
  }
  return mended;
}

const FENCED = /^\s*```(?:json)?[ \t]*\r?\n(.*)\n[ \t]*```\s*$/is;

/**
 * A string (an unclosed string goes to the end), a comma before a closing bracket, white space, or any other character.
 */
const TOKEN = /"(?:[^"\\]|\\.)*(?:"|\\?$)|,(?:\s*[}\]])?|\s+|[^\s",[\]{}:]+|[^]/gs;

const ESCAPED: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
