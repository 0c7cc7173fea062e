/** Line plots with logarithmic axes, as SVG. */

/**
 * @typedef {object} Axis
 * @property {string} label
 * @property {readonly [number, number]} ends the ends, as powers of ten
 *
 * @typedef {object} Series
 * @property {string} label written beside the last point
 * @property {string} color
 * @property {string} [dashes]
 * @property {readonly (readonly [number, number])[]} points
 */

const [WIDTH, HEIGHT] = [760, 420];
const [LEFT, RIGHT, TOP, BOTTOM] = [80, 200, 40, 60];
/** The least distance of two labels. */
const LINE = 15;

/** @param {{ title: string, x: Axis, y: Axis, series: readonly Series[] }} plot */
export function linePlot({ title, x, y, series }) {
  const left = (/** @type {number} */ value) => along(value, x.ends, LEFT, WIDTH - RIGHT);
  const top = (/** @type {number} */ value) => along(value, y.ends, HEIGHT - BOTTOM, TOP);
  const parts = [
    ...powers(x.ends).map((power) => mark(left(10 ** power), HEIGHT - BOTTOM + 20, "middle", shown(10 ** power))),
    ...powers(y.ends).flatMap((power) => [
      mark(LEFT - 8, top(10 ** power) + 4, "end", shown(10 ** power)),
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${top(10 ** power)}" y2="${top(10 ** power)}" stroke="#ddd"/>`,
    ]),
    mark((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "middle", x.label),
    mark(LEFT, 22, "middle", y.label),
    ...series.map(({ points, color, dashes = "" }) => {
      const line = points.map(([across, up]) => `${left(across)},${top(up)}`).join(" ");
      return `<polyline points="${line}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dashes}"/>`;
    }),
    ...labels(series, top),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/**
 * The names of the lines, beside their ends, apart from each other.
 *
 * @param {readonly Series[]} series
 * @param {(value: number) => number} top
 */
function labels(series, top) {
  const across = WIDTH - RIGHT + 10;
  const ends = series
    .map((each) => ({ ...each, down: top(each.points.at(-1)?.[1] ?? 1) }))
    .toSorted((one, other) => one.down - other.down);
  let lowest = Number.NEGATIVE_INFINITY;
  return ends.flatMap(({ label, color, dashes = "", down }, index) => {
    const room = HEIGHT - BOTTOM - LINE * (ends.length - 1 - index);
    lowest = Math.max(Math.min(down, room), lowest + LINE);
    return [
      `<line x1="${across}" x2="${across + 20}" y1="${lowest}" y2="${lowest}" stroke="${color}" stroke-width="2" ` +
        `stroke-dasharray="${dashes}"/>`,
      `<text x="${across + 26}" y="${lowest + 4}" fill="${color}">${label}</text>`,
    ];
  });
}

/** @param {readonly [number, number]} ends */
function powers([first, last]) {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** @param {number} value @param {readonly [number, number]} ends @param {number} from @param {number} to */
function along(value, [first, last], from, to) {
  return Math.round(from + ((Math.log10(value) - first) / (last - first)) * (to - from));
}

/** @param {number} left @param {number} top @param {string} anchor @param {string} text */
function mark(left, top, anchor, text) {
  return `<text x="${left}" y="${top}" text-anchor="${anchor}" fill="#444">${text}</text>`;
}

/** @param {number} value */
function shown(value) {
  return value.toLocaleString("en-US");
}
