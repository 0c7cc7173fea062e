import { common, createLowlight } from "lowlight";
import type { Segment } from "./ansi.ts";

/**
 * Returns the segments of each line of code; `undefined` for an unknown language, and for code that is too long.
 *
 * @param language a name or a file extension, such as "typescript" or "ts"
 */
export type Highlighter = (code: string, language: string) => readonly (readonly Segment[])[] | undefined;

/** Longer code is shown without colours: highlighting takes time. In characters. */
const LONGEST = 20_000;

const { highlight: parse, registered } = createLowlight(common);

type Node = ReturnType<typeof parse>["children"][number];

/** The looks of scopes (https://highlightjs.readthedocs.io/en/latest/css-classes-reference.html). */
const LOOKS: { readonly [scope: string]: string } = {
  ...looks("c-comment", "comment quote meta doctag"),
  ...looks("c-keyword", "keyword selector-tag name section operator"),
  ...looks("c-string", "string regexp addition link code"),
  ...looks("c-number", "number literal symbol bullet variable template-variable"),
  ...looks("c-name", "title attr attribute property selector-class selector-id"),
  ...looks("c-type", "type built_in class params selector-attr selector-pseudo"),
};

function looks(look: string, scopes: string): { readonly [scope: string]: string } {
  return Object.fromEntries(scopes.split(" ").map((scope) => [`hljs-${scope}`, look]));
}

export const highlight: Highlighter = (code, language) => {
  if (code.length > LONGEST || !registered(language)) return undefined;
  const lines: Segment[][] = [[]];
  const add = (node: Node, look: string) => {
    if (node.type === "element") {
      const { className } = node.properties;
      const [scope = ""] = Array.isArray(className) ? className.map(String) : [];
      for (const child of node.children) add(child, LOOKS[scope] ?? look);
    }
    if (node.type !== "text") return;
    for (const [index, text] of node.value.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (text !== "") lines.at(-1)?.push({ text, look });
    }
  };
  for (const node of parse(language, code).children) add(node, "");
  return lines;
};
