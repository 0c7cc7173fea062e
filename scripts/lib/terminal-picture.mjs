/** The width of a character and the height of a line in pixels, for a monospace font of size 14. */
const CHARACTER = 8.43;
const LINE = 18;
const MARGIN = 16;

/**
 * Screens of a terminal as an SVG picture: one dark panel a screen, below each other, each with its title. The last
 * line of a screen is tmux's status line, unless `hasStatus` is false.
 *
 * @param {readonly { readonly title: string, readonly lines: readonly string[], readonly hasStatus?: boolean }[]}
 *   screens
 * @param {number} columns
 */
export function terminalPicture(screens, columns) {
  const width = Math.ceil(columns * CHARACTER + 4 * MARGIN);
  let top = MARGIN;
  const panels = screens.map(({ title, lines, hasStatus = true }) => {
    const panel = drawPanel({ title, lines, hasStatus, top, width });
    top += heightOf(lines) + 2 * MARGIN + LINE;
    return panel;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">`,
    `<rect width="${width}" height="${top}" fill="#f6f8fa"/>`,
    ...panels,
    "</svg>",
    "",
  ].join("\n");
}

/** @param {{ title: string, lines: readonly string[], hasStatus: boolean, top: number, width: number }} panel */
function drawPanel({ title, lines, hasStatus, top, width }) {
  const screenTop = top + LINE;
  const baseline = (/** @type {number} */ index) => screenTop + MARGIN + LINE * (index + 1) - 5;
  const last = hasStatus ? lines.length - 1 : lines.length;
  /** @type {Style} the style at the end of a line holds in the next one */
  let style = {};
  const rows = lines.flatMap((line, index) => {
    const parts = styledParts(line, style);
    style = parts.at(-1)?.style ?? style;
    const colour = index === last ? "#0d1117" : "#e6edf3";
    return line === "" ? [] : [drawParts(parts, 2 * MARGIN, baseline(index), colour)];
  });
  const wide = width - 2 * MARGIN;
  return [
    drawText(title, MARGIN, top + LINE - 6, "#24292f"),
    `<rect x="${MARGIN}" y="${screenTop}" width="${wide}" height="${heightOf(lines)}" rx="8" fill="#0d1117"/>`,
    ...(hasStatus
      ? [
          `<rect x="${MARGIN}" y="${screenTop + MARGIN + LINE * last}" width="${wide}" height="${LINE}" fill="#3fb950"/>`,
        ]
      : []),
    ...rows,
  ].join("\n");
}

/** @param {readonly string[]} lines */
function heightOf(lines) {
  return lines.length * LINE + 2 * MARGIN;
}

/** @param {string} line @param {number} x @param {number} y @param {string} colour */
function drawText(line, x, y, colour) {
  return drawParts(styledParts(line), x, y, colour);
}

/**
 * A line as the terminal shows it: with the colours and styles of its escape sequences (SGR).
 *
 * @param {readonly Part[]} parts
 * @param {number} x
 * @param {number} y
 * @param {string} colour
 */
function drawParts(parts, x, y, colour) {
  const spans = parts.map(({ text, style }) => {
    if (text === "") return "";
    const attributes = attributesOf(style, colour);
    return attributes === "" ? escaped(text) : `<tspan${attributes}>${escaped(text)}</tspan>`;
  });
  return `<text x="${x}" y="${y}" fill="${colour}" xml:space="preserve">${spans.join("")}</text>`;
}

/** The eight colours of a dark theme, and their bright forms: https://github.com/primer/primitives (dark). */
const COLOURS = ["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"];
const BRIGHT = ["#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"];

/** @typedef {{ readonly bold?: boolean, readonly dim?: boolean, readonly underline?: boolean, readonly reverse?: boolean, readonly colour?: string }} Style */

/** @typedef {{ readonly text: string, readonly style: Style }} Part */

/**
 * @param {string} line
 * @param {Style} [before] the style at its beginning
 * @returns {readonly Part[]} the last part may be empty, with the style at the end
 */
function styledParts(line, before = {}) {
  /** @type {Part[]} */
  const parts = [];
  let style = before;
  for (const piece of line.split(/(\x1b\[[\d;]*m)/)) {
    const [, codes] = /^\x1b\[([\d;]*)m$/.exec(piece) ?? [];
    if (codes !== undefined) for (const code of codes.split(";")) style = styleAfter(style, Number(code));
    else if (piece !== "") parts.push({ text: piece, style });
  }
  return [...parts, { text: "", style }];
}

/** @param {Style} style @param {number} code @returns {Style} */
function styleAfter(style, code) {
  if (code === 0) return {};
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 7) return { ...style, reverse: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 24) return { ...style, underline: false };
  if (code === 27) return { ...style, reverse: false };
  if (code === 39) return { ...style, colour: "" };
  const colour = code >= 90 ? BRIGHT[code - 90] : code >= 30 && code < 38 ? COLOURS[code - 30] : undefined;
  return colour === undefined ? style : { ...style, colour };
}

/** @param {Style} style @param {string} plain */
function attributesOf({ bold, dim, underline, reverse, colour = "" }, plain) {
  return [
    reverse ? ' fill="#e3b341"' : colour !== "" && colour !== plain ? ` fill="${colour}"` : "",
    bold ? ' font-weight="bold"' : "",
    dim ? ' fill-opacity="0.6"' : "",
    underline ? ' text-decoration="underline"' : "",
  ].join("");
}

/** @param {string} line */
function escaped(line) {
  return line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
