import { hostOf } from "./hosts.ts";

/**
 * The hosts that each thread has met: in a search result, by fetching a page, or in the user's own words. In memory.
 */
export interface KnownHosts {
  /** Whether the thread knows the host of this URL. "www." in front makes no difference. */
  has(thread: string, url: URL): boolean;
  /** Adds the host of a URL. Ignores other text. */
  add(thread: string, url: string): void;
  /** Adds every host that a text names, with a scheme or without. */
  addFrom(thread: string, text: string): void;
}

/** The most hosts that are remembered per thread; the oldest are dropped. */
const MOST_HOSTS = 10_000;

/** Scheme or not, then labels with a dot between, or an address. Whether it is a host, `URL` decides. */
const HOST_IN_TEXT =
  /(?:https?:\/\/)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]{2,}|\d+(?:\.\d+){3}|\[[\da-f:.]+\]|localhost\b)/giu;

export function createKnownHosts(): KnownHosts {
  const threads = new Map<string, Set<string>>();

  const add = (thread: string, url: string) => {
    if (!URL.canParse(url)) return;
    const hosts = threads.get(thread) ?? new Set();
    threads.set(thread, hosts.add(nameOf(new URL(url))));
    const [oldest] = hosts;
    if (hosts.size > MOST_HOSTS && oldest !== undefined) hosts.delete(oldest);
  };

  return {
    has: (thread, url) => threads.get(thread)?.has(nameOf(url)) ?? false,
    add,
    addFrom(thread, text) {
      for (const [, host = ""] of text.matchAll(HOST_IN_TEXT)) add(thread, `http://${host}/`);
    },
  };
}

function nameOf(url: URL): string {
  return hostOf(url).replace(/^www\./, "");
}
