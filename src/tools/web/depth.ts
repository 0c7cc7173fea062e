/** Tags whose end tag is optional or does not exist. They do not count for the depth of a page. */
const UNCOUNTED = new Set(
  (
    "area base br col embed hr img input link meta param source track wbr p li dt dd option optgroup " +
    "tr td th thead tbody tfoot colgroup html head body"
  ).split(" "),
);

const TAG = /<(\/?)([a-zA-Z][^\s/>]*)[^>]*>/g;

/**
 * Removes the tags of elements nested deeper than `most`, but keeps their content: the time of parsers grows with the
 * square of the depth. A page that is less deep is returned unchanged.
 */
export function limitDepth(html: string, most: number): string {
  let depth = 0;
  let deepest = 0;
  const step = (end: string, name: string): boolean => {
    if (UNCOUNTED.has(name.toLowerCase())) return depth > most && /^(td|tr|table|tbody|li)$/i.test(name);
    const isBelow = depth > most || (depth === most && end === "");
    depth = Math.max(0, depth + (end === "" ? 1 : -1));
    deepest = Math.max(deepest, depth);
    return isBelow;
  };
  for (const [, end = "", name = ""] of html.matchAll(TAG)) step(end, name);
  if (deepest <= most) return html;
  depth = 0;
  return html.replace(TAG, (tag: string, end: string, name: string) => (step(end, name) ? " " : tag));
}
