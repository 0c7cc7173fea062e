import { readFileSync, readdirSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/** Loads nothing from other hosts. Only our own files run as scripts or apply as styles: nothing inline, no eval. */
const PAGE_POLICY = [
  "default-src 'none'",
  ...["script-src", "style-src", "connect-src", "font-src", "worker-src", "manifest-src"].map(
    (each) => `${each} 'self'`,
  ),
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const TYPES: { readonly [extension: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};

/** The console's page, as built by `scripts/build.mjs`. */
export interface PageFiles {
  /** Returns the response for one of the page's files; `undefined` if no file has this path. */
  answer(path: string, acceptsGzip: boolean): Response | undefined;
}

/** @param folder contains index.html, and assets/ with files whose names change with their content */
export function createPageFiles(folder = fileURLToPath(new URL(__CONSOLE_PAGE__, import.meta.url))): PageFiles {
  const names = new Set(namesIn(folder));
  const packed = new Map<string, Uint8Array<ArrayBuffer>>();

  return {
    answer(path, acceptsGzip) {
      const name = path === "/" ? "index.html" : path.slice(1);
      const type = TYPES[extname(name)];
      if (!names.has(name) || type === undefined) return undefined;
      const isText = type !== TYPES[".woff2"];
      const bytes = new Uint8Array(readFileSync(join(folder, name)));
      const gzips = acceptsGzip && isText;
      if (gzips && !packed.has(name)) packed.set(name, new Uint8Array(gzipSync(bytes)));
      const headers = {
        "content-type": type,
        "content-security-policy": PAGE_POLICY,
        "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
        ...(isText && { vary: "accept-encoding" }),
        ...(gzips && { "content-encoding": "gzip" }),
      };
      return new Response(gzips ? packed.get(name) : bytes, { headers });
    },
  };
}

/** Returns the names in a folder; none when the page was not built. */
function namesIn(folder: string): readonly string[] {
  try {
    const assets = readdirSync(join(folder, "assets")).map((name) => `assets/${name}`);
    return [...readdirSync(folder), ...assets];
  } catch {
    return [];
  }
}
