import type { Check } from "./check.ts";

const FIX = "npm install sharp";

/** Checks sharp, which scales pictures that are too large for a model. */
export const pictures: Check = {
  name: "pictures",
  required: false,
  fix: FIX,
  async run() {
    const loaded = await import("sharp").catch(() => undefined);
    if (loaded === undefined) {
      return { status: "missing", detail: "sharp is not installed: large pictures cannot be shown", fix: FIX };
    }
    const { default: sharp } = loaded;
    const big = { create: { width: 8, height: 8, channels: 3 as const, background: "white" } };
    const { info } = await sharp(big).resize(4, 4).png().toBuffer({ resolveWithObject: true });
    if (info.width !== 4) return { status: "broken", detail: "sharp does not scale a picture", fix: FIX };
    return { status: "ok", detail: `sharp ${sharp.versions.sharp ?? ""}`.trimEnd() };
  },
};
