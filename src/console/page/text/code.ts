import { signal } from "@preact/signals";
import type { Highlighter } from "./highlighter.ts";

const highlighter = signal<Highlighter | undefined>(undefined);
let isLoading = false;

/**
 * Returns the highlighter; `undefined` without a language, and until it is loaded, which the first call starts. The
 * calling component renders again then.
 */
export function highlighterFor(language: string | undefined): Highlighter | undefined {
  if (language === undefined) return undefined;
  if (highlighter.value === undefined && !isLoading) void load();
  return highlighter.value;
}

async function load(): Promise<void> {
  isLoading = true;
  try {
    const { highlight } = await import("./highlighter.ts");
    highlighter.value = highlight;
  } catch {
    isLoading = false; // the next code tries again
  }
}

/** Returns the language of a file by its name, as its extension: "ts". */
export function languageOf(path: unknown): string | undefined {
  if (typeof path !== "string") return undefined;
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return name === "makefile" ? name : /\.(\w+)$/.exec(name)?.[1];
}
