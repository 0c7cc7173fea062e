import type { ComponentType } from "preact";

/**
 * A page at the foot of the list of threads. `load` is a dynamic import, so that the page is not in the initial bundle.
 */
export interface Page {
  /** The name in the address: `#/tools`. */
  readonly id: string;
  readonly title: string;
  /** True for a page that is opened from other pages and is not in the list. */
  readonly isHidden?: boolean;
  load(): Promise<ComponentType>;
}

/** The pages, in display order. To add one, add a file to this folder and a line here. */
export const PAGES: readonly Page[] = [
  { id: "tools", title: "Tools", load: async () => (await import("./tools.tsx")).Tools },
  { id: "grants", title: "Grants", load: async () => (await import("./grants.tsx")).Grants },
  { id: "held-back", title: "Put aside", load: async () => (await import("./held-back.tsx")).HeldBackPage },
  { id: "browsers", title: "Browsers", load: async () => (await import("./browsers.tsx")).Browsers },
  { id: "schedules", title: "Schedules", load: async () => (await import("./schedules.tsx")).Schedules },
  { id: "workers", title: "Workers", load: async () => (await import("./workers.tsx")).Workers },
  { id: "memory", title: "Memory", load: async () => (await import("./memory.tsx")).MemoryPage },
  { id: "output", title: "Output", isHidden: true, load: async () => (await import("./output.tsx")).OutputPage },
];
