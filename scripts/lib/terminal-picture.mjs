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
  const rows = lines.flatMap((line, index) =>
    line === "" ? [] : [drawText(line, 2 * MARGIN, baseline(index), index === last ? "#0d1117" : "#e6edf3")],
  );
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

/**
 * @param {string} line
 * @param {number} x
 * @param {number} y
 * @param {string} colour
 */
function drawText(line, x, y, colour) {
  return `<text x="${x}" y="${y}" fill="${colour}" xml:space="preserve">${escaped(line)}</text>`;
}

/** @param {string} line */
function escaped(line) {
  return line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
