/** The part of domino's DOM that is used to read pages. */
export interface DomNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly parentNode: DomElement | null;
  readonly firstChild: DomNode | null;
  readonly nextSibling: DomNode | null;
  readonly previousSibling: DomNode | null;
  readonly textContent: string;
}

export interface DomElement extends DomNode {
  readonly className: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  removeChild(node: DomNode): void;
  closest(selector: string): DomElement | null;
  querySelector(selector: string): DomElement | null | undefined;
  querySelectorAll(selector: string): Iterable<DomElement>;
  readonly nextElementSibling: DomElement | null;
}

export interface DomDocument {
  readonly title: string;
  /** Absent in a page of frames. */
  readonly body: DomElement | null;
  readonly documentElement: DomElement;
  querySelector(selector: string): DomElement | null | undefined;
  querySelectorAll(selector: string): Iterable<DomElement>;
}

export function isElement(node: DomNode): node is DomElement {
  return node.nodeType === 1;
}

/** The text of an element, in one line. */
export function lineOf(element: DomElement | null | undefined): string {
  return (element?.textContent ?? "").replace(/\s+/g, " ").trim();
}
