/** More words than this from one are not worked out, … */
const MOST_WORDS = 64;
/** … nor are words with more braces: looking for the ones that belong together takes time. */
const MOST_BRACES = 16;

/**
 * The words that bash makes of one with brace lists and ranges in it, `a{b,c}` and `{1..3}`, in order; an empty one is none (`{env,} x` is
 * `env x`). The word has no quotes, escapes or expansions in it. `undefined`: more than 64, or a form that is not worked out here (ranges of letters or with steps).
 */
export function expandBraces(word: string): readonly string[] | undefined {
  if (word.split("{").length - 1 > MOST_BRACES) return undefined;
  const words = expand(word);
  if (words?.some((each) => /\{[^{},]*\.\.[^{},]*\}/.test(each))) return undefined;
  return words?.filter((each) => each !== "");
}

function expand(word: string): readonly string[] | undefined {
  const open = findList(word);
  if (open === undefined) return [word];
  const { start, end, items } = open;
  const choices: string[] = [];
  for (const item of items) {
    const inner = expand(item);
    if (inner === undefined) return undefined;
    choices.push(...inner);
    if (choices.length > MOST_WORDS) return undefined;
  }
  const tails = expand(word.slice(end));
  if (tails === undefined || choices.length * tails.length > MOST_WORDS) return undefined;
  const head = word.slice(0, start);
  return choices.flatMap((choice) => tails.map((tail) => head + choice + tail));
}

interface BraceList {
  readonly start: number;
  /** Behind its closing brace. */
  readonly end: number;
  readonly items: readonly string[];
}

/** The first brace of a word that opens a list or a range. */
function findList(word: string): BraceList | undefined {
  for (let start = word.indexOf("{"); start !== -1; start = word.indexOf("{", start + 1)) {
    const list = listAt(word, start);
    if (list !== undefined) return list;
  }
  return undefined;
}

function listAt(word: string, start: number): BraceList | undefined {
  const items: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < word.length; at++) {
    const letter = word[at];
    if (letter === "{") depth++;
    if (letter === "," && depth === 1) {
      items.push(word.slice(from, at));
      from = at + 1;
    }
    if (letter !== "}" || --depth > 0) continue;
    items.push(word.slice(from, at));
    const all = items.length > 1 ? items : range(items[0] ?? "");
    return all === undefined ? undefined : { start, end: at + 1, items: all };
  }
  return undefined;
}

function range(text: string): readonly string[] | undefined {
  const match = /^(-?\d{1,6})\.\.(-?\d{1,6})$/.exec(text);
  if (match === null) return undefined;
  const [from, to] = [Number(match[1]), Number(match[2])];
  const length = Math.abs(to - from) + 1;
  if (length > MOST_WORDS || /^-?0\d/.test(match[1] ?? "") || /^-?0\d/.test(match[2] ?? "")) return undefined;
  return Array.from({ length }, (_, index) => String(from + (to < from ? -index : index)));
}
