import { expect, test } from "vitest";
import fc from "fast-check";
import { formatSize } from "../../../src/core/output/size.ts";

test.each([
  [0, "0B"],
  [512, "512B"],
  [1023, "1023B"],
  [1024, "1KB"],
  [1075, "1KB"],
  [1076, "1.1KB"],
  [51_200, "50KB"],
  [1_048_524, "1023.9KB"],
  [1_048_575, "1MB"],
  [1_572_864, "1.5MB"],
  [1024 ** 3 - 1, "1GB"],
  [2 * 1024 ** 3, "2GB"],
  [1024 ** 4, "1TB"],
  [3 * 1024 ** 5, "3PB"],
])("%i bytes are %s", (bytes, words) => {
  expect(formatSize(bytes)).toBe(words);
});

test("any size has at most four digits, one decimal, and an error of at most a twentieth of its unit", () => {
  fc.assert(
    fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (bytes) => {
      const [, value, unit] = /^(\d{1,4}(?:\.[1-9])?)(B|KB|MB|GB|TB|PB)$/.exec(formatSize(bytes)) ?? [];
      expect(Number(value)).toBeLessThan(1024);
      const inUnit = bytes / 1024 ** ["B", "KB", "MB", "GB", "TB", "PB"].indexOf(unit ?? "");
      expect(Math.abs(Number(value) - inUnit)).toBeLessThanOrEqual(0.0500001);
    }),
  );
});
