import { expect, test } from "vitest";
import { logFile } from "../../../src/core/output/log-file.ts";
import { createOutputLog } from "../../../src/core/output/log.ts";
import { testFolders } from "./folder.ts";

const newFolder = testFolders();
const words = (bytes: Uint8Array) => Buffer.from(bytes).toString();

test("a log as a file has its length at that time, whatever is added later", async () => {
  const log = createOutputLog({ folder: await newFolder() });
  log.write(Buffer.from("0123456789"));
  const file = logFile(log, "output://job-1", 1_234);
  log.write(Buffer.from("more"));
  expect(file.info).toEqual({
    path: "output://job-1",
    kind: "file",
    size: 10,
    modifiedMs: 1_234,
    mode: 0o600,
    links: 1,
    version: "10",
  });
  expect(words(await file.read(0, 100))).toBe("0123456789");
  expect(words(await file.read(8, 1))).toBe("8");
  expect(words(await file.read(10, 5))).toBe("");
  expect(logFile(log, "output://job-1", 1_234).info.version).not.toBe(file.info.version);
  await file.close();
  expect(words(await log.tail(4))).toBe("more");
  await log.dispose();
});

test("of a log beyond its cap, the file is the kept part", async () => {
  const log = createOutputLog({ folder: await newFolder(), start: 4 });
  log.write(Buffer.from("0123456789"));
  const file = logFile(log, "output://job-1", 0);
  expect(file.info.size).toBe(4);
  expect(words(await file.read(0, 100))).toBe("0123");
  await log.dispose();
});
