import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of the checkout, with a `/` at its end. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** A block of code on a page. */
export interface Block {
  /** `docs/agent.md:12`, the line on which the code begins. */
  readonly at: string;
  readonly page: string;
  /** The word behind the fence; empty if there is none. */
  readonly language: string;
  readonly code: string;
}

/** The README, the docs and CONTRIBUTING, by their paths in the project. Decisions are about the past, so not them. */
export const PAGES: ReadonlyMap<string, string> = new Map(
  [
    "README.md",
    "CONTRIBUTING.md",
    ...readdirSync(`${root}docs`)
      .filter(isPage)
      .map((name) => `docs/${name}`),
  ].map((page) => [page, readFileSync(root + page, "utf8")]),
);

/** Returns the blocks of all pages, in their order. */
export function allBlocks(): readonly Block[] {
  return [...PAGES].flatMap(([page, text]) =>
    [...text.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(({ 1: language = "", 2: code = "", index }) => {
      const line = text.slice(0, index).split("\n").length + 1;
      return { at: `${page}:${line}`, page, language, code };
    }),
  );
}

/** Returns the blocks in some languages. */
export function blocksIn(...languages: readonly string[]): readonly Block[] {
  return allBlocks().filter(({ language }) => languages.includes(language));
}

function isPage(name: string): boolean {
  return name.endsWith(".md");
}
