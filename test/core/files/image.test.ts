import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import { describe, expect, test } from "vitest";
import { fitImage, imageType } from "../../../src/core/files/image.ts";

const MAX_BYTES = 4.5 * 1024 * 1024;

const ENCODERS = {
  "image/png": (image: Sharp) => image.png(),
  "image/jpeg": (image: Sharp) => image.jpeg(),
  "image/gif": (image: Sharp) => image.gif(),
  "image/webp": (image: Sharp) => image.webp(),
} as const;

describe.for(Object.entries(ENCODERS))("%s", ([type, encode]) => {
  const picture = (width: number, height: number) =>
    encode(sharp({ create: { width, height, channels: 3, background: "teal" } })).toBuffer();

  test("is detected by its first bytes", async () => {
    expect(imageType((await picture(3, 2)).subarray(0, 16))).toBe(type);
  });

  test("of up to 2000x2000 is unchanged", async () => {
    const bytes = await picture(2_000, 2_000);
    expect(await fitImage(bytes, imageType(bytes) ?? fail(), "p")).toEqual({
      bytes,
      type,
      width: 2_000,
      height: 2_000,
    });
  });

  test("that is larger is scaled to 2000 at its longer side, and its original size is returned", async () => {
    const bytes = await picture(2_100, 700);
    const fitted = await fitImage(bytes, imageType(bytes) ?? fail(), "p");
    const shown = type === "image/jpeg" ? "image/jpeg" : "image/png";
    expect(fitted).toMatchObject({
      type: shown,
      width: 2_000,
      height: 667,
      original: { width: 2_100, height: 700, type },
    });
    expect(await sharp(fitted.bytes).metadata()).toMatchObject({
      width: 2_000,
      height: 667,
      format: shown.slice("image/".length),
    });
  });
});

test("of more than 4.5 MB becomes a smaller one", async () => {
  const noise = await sharp(randomBytes(1_500 * 1_500 * 3), { raw: { width: 1_500, height: 1_500, channels: 3 } })
    .png()
    .toBuffer();
  expect(noise.length).toBeGreaterThan(MAX_BYTES);
  const fitted = await fitImage(noise, "image/png", "p");
  expect(fitted).toMatchObject({ type: "image/jpeg", width: 1_500, height: 1_500 });
  expect(fitted.bytes.length).toBeLessThanOrEqual(MAX_BYTES);
});

test("with a rotation mark is scaled upright", async () => {
  const turned = await sharp({ create: { width: 3_000, height: 1_000, channels: 3, background: "red" } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
  expect(await fitImage(turned, "image/jpeg", "p")).toMatchObject({ width: 667, height: 2_000 });
});

describe("an image that a model could not accept is rejected", () => {
  test.for(["image/png", "image/jpeg", "image/webp"] as const)("%s that is cut off", async (type) => {
    const bytes = await ENCODERS[type](
      sharp(randomBytes(3 * 64 * 64), { raw: { width: 64, height: 64, channels: 3 } }),
    ).toBuffer();
    await expect(fitImage(bytes.subarray(0, bytes.length >> 1), type, "p.img")).rejects.toThrow(
      /^p\.img is a truncated image/,
    );
  });

  test("one with a broken header", async () => {
    const broken = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.from("nonsense IEND")]);
    await expect(fitImage(broken, "image/png", "p.png")).rejects.toThrow(
      /^p\.png looks like an image but cannot be read as one: /,
    );
  });

  test("one with so many pixels that decoding it would take gigabytes", async () => {
    const bytes = await sharp({ create: { width: 1, height: 1, channels: 3, background: "black" } })
      .png()
      .toBuffer();
    // The header chunk: 4 bytes of length, "IHDR", width, height, 5 bytes more, and their checksum.
    bytes.writeUInt32BE(20_000, 16);
    bytes.writeUInt32BE(11_000, 20);
    bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29);
    await expect(fitImage(bytes, "image/png", "p.png")).rejects.toThrow(/^p\.png cannot be scaled: .*pixel limit/i);
  });
});

test("other content that resembles an image is not one", () => {
  for (const start of ["", "PNG", "BM", "RIFF....WAVE", "%PDF-1.7", "<svg xmlns="]) {
    expect(imageType(Buffer.from(start, "latin1"))).toBeUndefined();
  }
});

function fail(): never {
  throw new Error("the test's own picture is not told as one");
}
