import { readFileSync } from "node:fs";

/**
 * Imports `.sh` files as text, in the build (rolldown) and in tests (vite). Omits comment lines, because the text is
 * sent over every connection.
 */
export function shellText() {
  return {
    name: "shell-text",
    /**
     * @param {string} id
     * @returns {{ code: string, moduleType: "js" } | null}
     */
    load(id) {
      if (!id.endsWith(".sh")) return null;
      const text = readFileSync(id, "utf8").replace(/^[ \t]*#.*\n/gm, "");
      return { code: `export default ${JSON.stringify(text)};`, moduleType: "js" };
    },
  };
}
