/**
 * Builds the page of the console with Vite, for browsers.
 *
 * In:  page.
 * Out: index.html and assets/ (whose names change with their content) in a folder, and the list of their sources.
 */
import { join } from "node:path";
import { build } from "vite";
import { projectRoot } from "./project.mjs";

const root = join(projectRoot, "page");

/**
 * Rejects when a source cannot be bundled.
 *
 * @param {string} folder is emptied first
 * @returns {Promise<string[]>} absolute paths of the bundled files
 */
export async function buildPage(folder) {
  const result = await build({
    root,
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: "warn",
    cacheDir: join(projectRoot, "node_modules", ".cache", "vite"),
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: "es2023",
      cssTarget: ["chrome123", "firefox120", "safari17.5"], // the first versions with light-dark()
      assetsInlineLimit: 0, // the page's policy blocks data: URLs
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        input: join(root, "index.html"),
        output: { entryFileNames: "assets/[name]-[hash].js" },
      },
    },
  });
  if (!("output" in result)) throw new Error("vite: expected one build of the page");
  return result.output.flatMap((file) =>
    file.type === "chunk" ? file.moduleIds : file.originalFileNames.map((name) => join(root, name)),
  );
}
