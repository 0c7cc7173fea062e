import { common, createLowlight } from "lowlight";
import type { Line, Look, Span } from "./paint.ts";
import type { Highlight } from "./render.ts";

/** Longer code is drawn without colours: reading it takes time. In characters. */
const LONGEST = 20_000;

const { highlight: read, registered } = createLowlight(common);

type Node = ReturnType<typeof read>["children"][number];

/** The colours of scopes (https://highlightjs.readthedocs.io/en/latest/css-classes-reference.html). */
const LOOKS: { readonly [scope: string]: Look } = {
  ...looks("dim", "comment quote meta doctag"),
  ...looks("magenta", "keyword selector-tag name section operator"),
  ...looks("green", "string regexp addition link code"),
  ...looks("yellow", "number literal symbol bullet variable template-variable"),
  ...looks("blue", "title attr attribute property selector-class selector-id"),
  ...looks("cyan", "type built_in class params selector-attr selector-pseudo"),
  ...looks("red", "deletion"),
};

function looks(look: Look, scopes: string): { readonly [scope: string]: Look } {
  return Object.fromEntries(scopes.split(" ").map((scope) => [`hljs-${scope}`, look]));
}

/** Colours code in the colours of the terminal. */
export const highlight: Highlight = (code, language) => {
  if (code.length > LONGEST || !registered(language)) return undefined;
  const lines: Span[][] = [[]];
  const add = (node: Node, look: Look | undefined) => {
    if (node.type === "element") {
      const { className } = node.properties;
      const [scope = ""] = Array.isArray(className) ? className.map(String) : [];
      for (const child of node.children) add(child, LOOKS[scope] ?? look);
    }
    if (node.type !== "text") return;
    for (const [index, text] of node.value.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (text !== "") lines.at(-1)?.push({ text, ...(look !== undefined && { looks: [look] }) });
    }
  };
  for (const node of read(language, code).children) add(node, undefined);
  return lines satisfies readonly Line[];
};
