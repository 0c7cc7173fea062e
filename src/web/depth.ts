/** Tags whose end may be left out, or that have none: they say nothing of how deep a page is. */
const UNCOUNTED =
  /^(area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|dt|dd|option|optgroup|tr|td|th|thead|tbody|tfoot|colgroup|html|head|body)$/i;

const TAG = /<(\/?)([a-zA-Z][^\s/>]*)[^>]*>/g;

/**
 * Leaves out the tags of elements that are nested deeper than `most`, with what is in them staying: parsers need time with the square of the depth.
 * A page that is not so deep comes back as it is.
 */
export function limitDepth(html: string, most: number): string {
  let depth = 0;
  let deepest = 0;
  const step = (end: string, name: string): boolean => {
    if (UNCOUNTED.test(name)) return depth > most && /^(td|tr|table|tbody|li)$/i.test(name);
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
