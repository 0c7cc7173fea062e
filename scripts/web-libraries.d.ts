// The used parts of libraries without types. A file with imports would not declare modules, so types are imported where
// they are used.
// oxlint-disable typescript/consistent-type-imports

declare module "@mixmark-io/domino" {
  const domino: { createDocument(html: string): import("../src/tools/web/dom.ts").DomDocument };
  export default domino;
}

declare module "@joplin/turndown-plugin-gfm" {
  type Plugin = (service: import("turndown").default) => void;
  const plugins: { readonly tables: Plugin; readonly strikethrough: Plugin; readonly taskListItems: Plugin };
  export default plugins;
}

declare module "turndown" {
  type Element = import("../src/tools/web/dom.ts").DomElement;
  export default class TurndownService {
    constructor(options: { readonly [name: string]: string });
    use(plugins: readonly ((service: TurndownService) => void)[]): this;
    addRule(
      name: string,
      rule: {
        filter: string | readonly string[] | ((node: Element) => boolean);
        replacement(content: string, node: Element): string;
      },
    ): this;
    turndown(page: Element | string): string;
  }
}
