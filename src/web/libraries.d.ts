// What is used of libraries that bring no types for it.

declare module "@mixmark-io/domino" {
  const domino: { createDocument(html: string): import("./dom.ts").DomDocument };
  export default domino;
}

declare module "@joplin/turndown-plugin-gfm" {
  type Plugin = (service: import("turndown").default) => void;
  const plugins: { readonly tables: Plugin; readonly strikethrough: Plugin; readonly taskListItems: Plugin };
  export default plugins;
}

declare module "turndown" {
  type Element = import("./dom.ts").DomElement;
  export default class TurndownService {
    constructor(options: { readonly [name: string]: string });
    use(plugins: readonly ((service: TurndownService) => void)[]): this;
    addRule(
      name: string,
      rule: { filter: string | readonly string[]; replacement(content: string, node: Element): string },
    ): this;
    turndown(root: Element): string;
  }
}
