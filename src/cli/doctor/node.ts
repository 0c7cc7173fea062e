import type { Check } from "./check.ts";

// The minimum version. Same as "engines" in package.json.
const LEAST = [20, 19] as const;
const FIX = "nvm install --lts";

/** Checks the version of Node.js. */
export const node: Check = {
  name: "Node.js",
  required: true,
  fix: FIX,
  async run() {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    const isEnough = major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]);
    if (isEnough) return { status: "ok", detail: process.versions.node };
    return { status: "broken", detail: `${process.versions.node}, expected ${LEAST.join(".")} or newer`, fix: FIX };
  },
};
