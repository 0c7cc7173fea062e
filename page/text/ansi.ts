/** A part of a line whose characters all have the same style. */
export interface Segment {
  readonly text: string;
  /** Class names, such as "a-red bold", or "". */
  readonly look: string;
}

/** The look of the text after an escape sequence, until the next one. */
export interface Look {
  readonly colour?: string;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
  readonly inverse?: boolean;
}

const COLOURS = ["dim", "red", "green", "yellow", "blue", "magenta", "cyan", "text"] as const;

/** Escape sequences of ECMA-48: control sequences, strings including their end, and short ones. */
const SEQUENCE = new RegExp(
  [
    String.raw`(?:\x1b\[|\x9b)([0-9;:<=>?]{0,256})([ -/]{0,8}[@-~])`,
    String.raw`(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,65536}(?:\x07|\x1b\\|\x9c)`,
    String.raw`\x1b[ -/]{0,8}[0-~]`,
  ].join("|"),
  "g",
);

/**
 * Splits a line into segments of one look each. Colours become one of 16 classes. Other escape sequences are removed
 * and counted.
 *
 * @param look the look at the end of the previous line
 */
export function parseAnsi(
  line: string,
  look: Look = {},
): { readonly segments: readonly Segment[]; readonly look: Look; readonly dropped: number } {
  if (!/[\x1b\x90-\x9f]/.test(line)) return { segments: [{ text: line, look: classesOf(look) }], look, dropped: 0 };
  const segments: Segment[] = [];
  let [now, at, dropped] = [look, 0, 0];
  const put = (text: string) => {
    if (text !== "") segments.push({ text, look: classesOf(now) });
  };
  for (const { index, 0: found, 1: parameters = "", 2: end } of line.matchAll(SEQUENCE)) {
    put(line.slice(at, index));
    at = index + found.length;
    if (end === "m" && /^[0-9;:]*$/.test(parameters)) now = afterCodes(now, parameters);
    else dropped += 1;
  }
  put(line.slice(at));
  return { segments, look: now, dropped };
}

function classesOf({ colour, bold, dim, italic, underline, inverse }: Look): string {
  const names = [
    colour !== undefined && `a-${colour}`,
    bold === true && "bold",
    dim === true && colour === undefined && "a-dim",
    italic === true && "italic",
    underline === true && "underline",
    inverse === true && "inverse",
  ];
  return names.filter((name) => name !== false).join(" ");
}

/**
 * Applies Select Graphic Rendition (ECMA-48 8.3.117). Ignores backgrounds, because contrast could not be guaranteed.
 */
function afterCodes(look: Look, parameters: string): Look {
  const codes = parameters.split(";").map((code) => code.split(":").map(Number));
  let now: Look = look;
  for (let at = 0; at < codes.length; at += 1) {
    const [code = 0, ...sub] = codes[at] ?? [];
    if (code === 38 || code === 48) {
      const rest = sub.length > 0 ? sub : codes.slice(at + 1).map(([first = 0]) => first);
      const isIndexed = rest[0] === 5;
      if (sub.length === 0) at += isIndexed ? 2 : 4;
      if (code === 48) continue;
      const rgb = sub.length > 4 ? rest.slice(2) : rest.slice(1); // the form with colons may name a colour space
      now = withColour(now, isIndexed ? ofIndex(rest[1] ?? 0) : ofRgb(rgb[0] ?? 0, rgb[1] ?? 0, rgb[2] ?? 0));
    } else now = afterCode(now, code);
  }
  return now;
}

function afterCode(look: Look, code: number): Look {
  if (code === 0) return {};
  if (code === 1) return { ...look, bold: true };
  if (code === 2) return { ...look, dim: true };
  if (code === 3) return { ...look, italic: true };
  if (code === 4) return { ...look, underline: true };
  if (code === 7) return { ...look, inverse: true };
  if (code === 22) return { ...look, bold: false, dim: false };
  if (code === 23) return { ...look, italic: false };
  if (code === 24) return { ...look, underline: false };
  if (code === 27) return { ...look, inverse: false };
  if (code >= 30 && code <= 37) return withColour(look, ofIndex(code - 30));
  if (code >= 90 && code <= 97) return withColour(look, ofIndex(code - 82));
  return code === 39 ? withColour(look, undefined) : look;
}

function withColour({ colour: _, ...look }: Look, colour: string | undefined): Look {
  return colour === undefined ? look : { ...look, colour };
}

/** Maps the 256 colours: 16 named colours, a cube of 6 × 6 × 6, and greys. */
function ofIndex(index: number): string | undefined {
  if (index === 8) return "dim";
  if (index < 16) return index % 8 === 7 ? "text" : COLOURS[index % 8];
  if (index >= 232) return index < 246 ? "dim" : "text";
  const level = (value: number) => (value % 6) * 51;
  return ofRgb(level(Math.floor((index - 16) / 36)), level(Math.floor((index - 16) / 6)), level(index - 16));
}

/** Returns the nearest colour by hue; "text" or "dim" for greys. */
function ofRgb(red: number, green: number, blue: number): string {
  const most = Math.max(red, green, blue);
  const range = most - Math.min(red, green, blue);
  if (range < 48) return most < 140 ? "dim" : "text";
  const sector =
    most === red
      ? ((green - blue) / range + 6) % 6
      : most === green
        ? (blue - red) / range + 2
        : (red - green) / range + 4;
  const names = ["red", "yellow", "green", "cyan", "blue", "magenta"] as const;
  return names[Math.round(sector) % 6] ?? "text";
}
