import { common, createLowlight } from "lowlight";

export type CodeKind = "comment" | "keyword" | "string" | "number" | "name" | "type" | "deletion";

/** Part of a line of code. `kind` is missing for text without a colour. */
export interface CodePart {
  readonly text: string;
  readonly kind?: CodeKind;
}

/** Longer code has no colours: reading it takes time. In characters. */
const LONGEST = 20_000;

const { highlight, registered } = createLowlight(common);

type Node = ReturnType<typeof highlight>["children"][number];

/** The scopes of each kind (https://highlightjs.readthedocs.io/en/latest/css-classes-reference.html). */
const SCOPES: Readonly<Record<CodeKind, string>> = {
  comment: "comment quote meta doctag",
  keyword: "keyword selector-tag name section operator",
  string: "string regexp addition link code",
  number: "number literal symbol bullet variable template-variable",
  name: "title attr attribute property selector-class selector-id",
  type: "type built_in class params selector-attr selector-pseudo",
  deletion: "deletion",
};

const KINDS: ReadonlyMap<string, CodeKind> = new Map(
  Object.entries(SCOPES).flatMap(([kind, scopes]) =>
    scopes.split(" ").map((scope) => [`hljs-${scope}`, kind as CodeKind]),
  ),
);

/**
 * Returns the parts of each line of code; `undefined` for an unknown language, and for code that is too long.
 *
 * @param language a name or a file extension, such as "typescript" or "ts"
 */
export function colouredCode(code: string, language: string): readonly (readonly CodePart[])[] | undefined {
  if (code.length > LONGEST || !registered(language)) return undefined;
  const lines: CodePart[][] = [[]];
  const add = (node: Node, kind: CodeKind | undefined) => {
    if (node.type === "element") {
      const { className } = node.properties;
      const [scope = ""] = Array.isArray(className) ? className.map(String) : [];
      for (const child of node.children) add(child, KINDS.get(scope) ?? kind);
    }
    if (node.type !== "text") return;
    for (const [index, text] of node.value.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (text !== "") lines.at(-1)?.push({ text, ...(kind !== undefined && { kind }) });
    }
  };
  for (const node of highlight(language, code).children) add(node, undefined);
  return lines;
}
