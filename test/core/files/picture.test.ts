import { expect, test } from "vitest";
import { takenPart } from "../../../src/core/call/taken-part.ts";
import { pictureOf } from "../../../src/core/files/picture.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQ==";
const base64 = (text: string) => Buffer.from(text).toString("base64");

test.each([
  ["as it is", PNG, "image/png"],
  ["wrapped", PNG.replaceAll(/(.{20})/g, "$1\r\n"), "image/png"],
  ["a data URL", `data:image/jpeg;base64,${PNG}`, "image/png"],
  ["without its end", PNG.replace(/=+$/, ""), "image/png"],
  ["in the alphabet for URLs", JPEG.replaceAll("/", "_").replaceAll("+", "-"), "image/jpeg"],
])("base64 %s is a picture of the type that its bytes have", (_, data, mimeType) => {
  const plain = mimeType === "image/png" ? PNG : JPEG;
  expect(pictureOf(data)).toEqual({ type: "image", data: plain, mimeType });
});

test.each([
  ["SVG", base64('<svg xmlns="http://www.w3.org/2000/svg"/>'), /beginning "<svg xmlns/],
  ["HTML", base64("<!doctype html><title>404</title>"), /beginning "<!doctype html>/],
  ["a TIFF", base64("II*\0\b\0\0\0"), /not a PNG, JPEG, GIF or WebP/],
  ["no base64", "§§§", /not a PNG/],
  ["nothing", "", /not a PNG/],
])("%s that is labelled image/png is left out with a note", (_, data, note) => {
  expect(takenPart({ type: "image", data, mimeType: "image/png" })).toEqual({
    type: "text",
    text: expect.stringMatching(note) as string,
  });
});

test.each(["image/jpg", "IMAGE/PNG", "image/png; charset=binary", "application/octet-stream"])(
  "the label %s does not matter",
  (mimeType) => {
    expect(takenPart({ type: "image", data: PNG, mimeType })).toEqual({
      type: "image",
      data: PNG,
      mimeType: "image/png",
    });
  },
);
