import { randomBytes } from "node:crypto";
import { readFile, truncate } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import sharp from "sharp";
import { expect, test } from "vitest";
import { toolsOn } from "./tools.ts";

const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: "teal" } });

test("an image is attached unchanged, with a line about it", async () => {
  const bytes = await picture(30, 20).png().toBuffer();
  const { call } = await toolsOn({ "a.png": bytes });
  expect(await call("read", { path: "a.png" })).toEqual({
    id: expect.any(String) as string,
    status: "ok",
    content: [
      { type: "text", text: `[Image: a.png, image/png, 30x20, ${bytes.length}B]` },
      { type: "image", mimeType: "image/png", data: bytes.toString("base64") },
    ],
    data: {
      kind: "image",
      path: "a.png",
      type: "image/png",
      size: bytes.length,
      width: 30,
      height: 20,
      shown: { type: "image/png", width: 30, height: 20 },
    },
  });
});

test("a large image is scaled to 2000x2000 and 4.5 MB, with a notice", async () => {
  const noise = sharp(randomBytes(1_600 * 1_600 * 3), { raw: { width: 1_600, height: 1_600, channels: 3 } });
  const { text, call } = await toolsOn({
    "wide.jpg": await picture(4_000, 1_000).jpeg().toBuffer(),
    "heavy.png": await noise.png().toBuffer(),
  });
  expect(await text("read", { path: "wide.jpg" })).toMatch(
    /^\[Image: wide\.jpg, image\/jpeg, 4000x1000, [\d.]+KB, shown scaled to 2000x500\]/,
  );
  expect(await text("read", { path: "heavy.png" })).toMatch(
    /^\[Image: heavy\.png, image\/png, 1600x1600, [\d.]+MB, shown as image\/jpeg\]/,
  );
  const result = await call("read", { path: "wide.jpg" });
  const image = result.status === "ok" ? result.content.find((part) => part.type === "image") : undefined;
  expect(await sharp(Buffer.from(image?.data ?? "", "base64")).metadata()).toMatchObject({ width: 2_000, height: 500 });
});

test("an image is recognized by its content, not by its name", async () => {
  const { text } = await toolsOn({ "notes.txt": await picture(3, 2).gif().toBuffer(), "logo.png": "just words\n" });
  expect(await text("read", { path: "notes.txt" })).toMatch(/^\[Image: notes\.txt, image\/gif, 3x2, /);
  expect(await text("read", { path: "logo.png" })).toBe("just words\n");
});

test("an image that no model could take is refused with the reason", async () => {
  const whole = await picture(300, 200).webp().toBuffer();
  const { folder, text } = await toolsOn({
    "cut.webp": whole.subarray(0, whole.length - 10),
    "huge.jpg": await picture(3, 2).jpeg().toBuffer(),
    "old.bmp": Buffer.concat([Buffer.from("BM"), Buffer.alloc(60)]),
  });
  await truncate(join(folder, "huge.jpg"), 65 * 1024 * 1024);
  expect(await text("read", { path: "cut.webp" })).toBe("Tool error: cut.webp is a truncated image");
  expect(await text("read", { path: "huge.jpg" })).toBe(
    "Tool error: huge.jpg is an image of 65MB; the largest that can be shown is 64MB",
  );
  expect(await text("read", { path: "old.bmp" })).toMatch(
    /^Tool error: Not text: old\.bmp is BMP \(image\/bmp\), 62B\n/,
  );
});

test("other binary files are refused with their kind", async () => {
  const program = (await readFile(process.execPath)).subarray(0, 100_000);
  const { text } = await toolsOn({ program, "a.pdf": "%PDF-1.7\n\0", "a.gz": gzipSync("text") });
  expect(await text("read", { path: "program" })).toMatch(
    /^Tool error: Not text: program is ELF \(application\/x-elf\), 97\.7KB\n/,
  );
  expect(await text("read", { path: "a.gz" })).toMatch(
    /^Tool error: Not text: a\.gz is GZ \(application\/gzip\), \d+B\n/,
  );
  expect(await text("read", { path: "a.pdf" })).toMatch(
    /^Tool error: Not text: a\.pdf is PDF \(application\/pdf\), 10B\n/,
  );
});
