import { expect, test } from "vitest";
import { bareName } from "../../../src/core/util/bare-name.ts";

test.each([
  ["read", "read"],
  ["functions.read", "read"],
  ["default_api.read", "read"],
  ["default_api:read", "read"],
  ["functions.read:0", "read"],
  ["tools/read", "read"],
  [" read ", "read"],
  ["\n`read`\t", "read"],
  ["read()", "read"],
  ["read<|channel|>commentary", "read"],
  ["<|constrain|>read", "read"],
  ["read<|channel|", "read"],
  ["functions. read<|end|>", "read"],
  ["", ""],
  ["...", "..."],
  ["x".repeat(1_000_000), "x".repeat(1_000_000)],
])("%j is the tool %j", (name, expected) => {
  expect(bareName(name)).toBe(expected);
});
