import type { Toolkit } from "../../core/contract/toolkit.ts";

/**
 * Returns an object or array that has the toolkit's tools at any moment, also those of servers and plugins that start
 * later: an SDK that was given it once reads it again for each request.
 *
 * @param make makes its content, first at once and again after each change of the tools
 */
export function liveTools<T extends object>(toolkit: Pick<Toolkit, "tools">, make: () => T): T {
  let from = toolkit.tools;
  const shown = make();
  const now = (): T => {
    if (from === toolkit.tools) return shown;
    from = toolkit.tools;
    for (const key of Object.keys(shown)) Reflect.deleteProperty(shown, key);
    if (Array.isArray(shown)) shown.length = 0;
    return Object.assign(shown, make());
  };
  return new Proxy(shown, {
    get: (_, key) => Reflect.get(now(), key) as unknown,
    has: (_, key) => Reflect.has(now(), key),
    ownKeys: () => Reflect.ownKeys(now()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(now(), key),
  });
}
