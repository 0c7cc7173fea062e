/** The maximum number of marked hits: more than fit on a screen. */
const MOST = 500;

/** Highlights a text in an element without changing its nodes. Does nothing in a browser without highlights. */
export function highlight(element: HTMLElement, text: string): void {
  if (!("highlights" in CSS)) return;
  const wanted = text.toLowerCase();
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); wanted !== "" && node !== null && ranges.length < MOST; node = walker.nextNode()) {
    const words = (node.nodeValue ?? "").toLowerCase();
    for (let at = words.indexOf(wanted); at !== -1; at = words.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + wanted.length, node.nodeValue?.length ?? 0));
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}
