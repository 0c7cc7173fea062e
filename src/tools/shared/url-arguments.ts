import { renameKeys } from "../../core/util/rename-keys.ts";

/** Ends the descriptions of tools that fetch: with a remote target, a model would expect otherwise. */
export const FROM_HERE = "Requests are sent from the machine that runs Handrail, whatever the target is.";

const SPELLINGS: { readonly [spelling: string]: string } = { uri: "url", link: "url", href: "url", address: "url" };

/** Repairs the arguments of a tool that takes a URL: a bare string is the URL, and https is the default scheme. */
export function mendUrl(raw: unknown): unknown {
  const mended = typeof raw === "string" ? { url: raw } : renameKeys(raw, SPELLINGS);
  if (typeof mended !== "object" || mended === null || !("url" in mended) || typeof mended.url !== "string")
    return mended;
  const url = mended.url.trim();
  const hasNoScheme = /^[\p{L}\d-]+(\.[\p{L}\d-]+)+([:/?#]|$)/u.test(url) && !/^[a-z][a-z+.-]*:\D/i.test(url);
  return { ...mended, url: hasNoScheme ? `https://${url}` : url };
}
