import { ToolFailure } from "../contract/failure.ts";
import { messageOf } from "../util/errors.ts";

/** The image types that models accept. */
export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/**
 * The largest image that models accept without scaling it themselves, as edge in pixels and size in bytes.
 * https://docs.anthropic.com/en/docs/build-with-claude/vision#evaluate-image-size
 */
const MAX_EDGE = 2_000;
const MAX_BYTES = 4.5 * 1024 * 1024;

/** Decoding an image with more pixels would take gigabytes. */
const MAX_PIXELS = 200_000_000;

export interface FittedImage {
  readonly bytes: Uint8Array;
  readonly type: ImageType;
  readonly width: number;
  readonly height: number;
  /** The size and type in the file, if the image was changed. */
  readonly original?: { readonly width: number; readonly height: number; readonly type: ImageType };
}

/** Detects the type of an image from its first bytes; `undefined` for anything that models do not accept. */
export function imageType(start: Uint8Array): ImageType | undefined {
  const text = Buffer.from(start.subarray(0, 16)).toString("latin1");
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("GIF87a") || text.startsWith("GIF89a")) return "image/gif";
  if (text.startsWith("RIFF") && text.slice(8, 12) === "WEBP") return "image/webp";
  return undefined;
}

/**
 * Returns the image in a form that models accept: unchanged up to 2000x2000 and 4.5 MB, otherwise scaled.
 *
 * @throws ToolFailure when it is cut off or damaged, has too many pixels, or needs scaling and sharp is not installed.
 */
export async function fitImage(bytes: Uint8Array, type: ImageType, path: string): Promise<FittedImage> {
  if (!isWhole(bytes, type)) throw new ToolFailure(`${path} is a truncated image`);
  const { width, height } = await sizeOf(bytes, path);
  if (width <= MAX_EDGE && height <= MAX_EDGE && bytes.length <= MAX_BYTES) return { bytes, type, width, height };
  const scaled = await scale(bytes, type, path);
  return { ...scaled, original: { width, height, type } };
}

/** Checks that an image is not cut off. A provider would reject every later request of the conversation. */
function isWhole(bytes: Uint8Array, type: ImageType): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (type === "image/png") return buffer.includes("IEND", 0, "latin1");
  if (type === "image/jpeg") return buffer.includes("\xff\xd9", 0, "latin1");
  if (type === "image/webp") return buffer.length >= 12 && buffer.readUInt32LE(4) + 8 <= buffer.length;
  return true; // a cut-off GIF is shown as far as it goes
}

async function sizeOf(bytes: Uint8Array, path: string): Promise<{ width: number; height: number }> {
  const { imageSize } = await import("image-size");
  try {
    const { width, height } = imageSize(bytes);
    return { width, height };
  } catch (error) {
    throw new ToolFailure(`${path} looks like an image but cannot be read as one: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function scale(bytes: Uint8Array, type: ImageType, path: string): Promise<FittedImage> {
  const { default: sharp } = await import("sharp").catch((error: unknown) => {
    throw new ToolFailure(
      `${path} is larger than ${MAX_EDGE}x${MAX_EDGE} or ${MAX_BYTES / 1024 / 1024}MB, and scaling it needs ` +
        `the package "sharp"`,
      {
        hint: "Install it with: npm install sharp",
        cause: error,
      },
    );
  });
  try {
    // An image with transparency stays a PNG if that is small enough.
    for (const [edge, target] of ATTEMPTS) {
      const as = target ?? (type === "image/jpeg" ? "image/jpeg" : "image/png");
      const image = sharp(bytes, { limitInputPixels: MAX_PIXELS })
        .rotate()
        .resize(edge, edge, { fit: "inside", withoutEnlargement: true });
      const { data, info } = await (
        as === "image/png" ? image.png() : image.flatten({ background: "white" }).jpeg({ quality: 80 })
      ).toBuffer({ resolveWithObject: true });
      if (data.length <= MAX_BYTES) return { bytes: data, type: as, width: info.width, height: info.height };
    }
  } catch (error) {
    throw new ToolFailure(`${path} cannot be scaled: ${messageOf(error)}`, { cause: error });
  }
  throw new ToolFailure(`${path} cannot be made small enough for a model`);
}

const ATTEMPTS: readonly (readonly [edge: number, type?: ImageType])[] = [
  [MAX_EDGE],
  [MAX_EDGE, "image/jpeg"],
  [1_000, "image/jpeg"],
];
