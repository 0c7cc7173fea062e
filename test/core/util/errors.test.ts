import { openSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { messageOf } from "../../../src/core/util/errors.ts";

test.skipIf(process.platform !== "linux")("the error of a full disk says so in words", () => {
  const full = openSync("/dev/full", "w"); // full(4)
  let message = "";
  try {
    writeSync(full, "x");
  } catch (error) {
    message = messageOf(error);
  }
  expect(message).toBe("the disk is full: make room (ENOSPC: no space left on device, write)");
});
