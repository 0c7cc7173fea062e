import { readFileSync, statSync } from "node:fs";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { polledLog } from "../../../src/core/output/polled-log.ts";
import { until } from "../../support/until.ts";
import { testFolders } from "./folder.ts";

const newFolder = testFolders();
const words = (bytes: Uint8Array) => Buffer.from(bytes).toString();

/** A log of a file that another process writes, until `end()`. */
async function grownBy(content = "") {
  const path = join(await newFolder(), "output");
  await writeFile(path, content);
  let ended = false;
  const size = () => statSync(path).size;
  const log = polledLog({
    get size() {
      return size();
    },
    get kept() {
      return size();
    },
    look: async () => ({ isOver: ended, kept: size() }),
    read: async (start, end) => readFileSync(path).subarray(start, end),
  });
  return { path, log, end: () => (ended = true) };
}

test("ranges and the tail are limited to what is there", async () => {
  const { log } = await grownBy("0123456789");
  expect([log.size, log.kept]).toEqual([10, 10]);
  for (const [start, end, expected] of [
    [0, 10, "0123456789"],
    [3, 5, "34"],
    [8, 99, "89"],
    [-5, 2, "01"],
    [5, 3, ""],
    [50, 60, ""],
  ] as const) {
    expect(words(await log.read(start, end))).toBe(expected);
  }
  expect(words(await log.tail(3))).toBe("789");
  expect(words(await log.tail(99))).toBe("0123456789");
});

test("what others append is read, and waited for", async () => {
  const { path, log, end } = await grownBy("one");
  await log.grown(2);
  let resolved = false;
  const more = log.grown(3).then(() => (resolved = true));
  await appendFile(path, " two");
  await more;
  expect(resolved).toBe(true);
  expect(words(await log.read(3, 99))).toBe(" two");
  end();
  await log.grown(1_000);
});

test("waiting ends when the signal fires, even if nothing arrives", async () => {
  const { log } = await grownBy();
  const controller = new AbortController();
  const waiting = log.grown(0, controller.signal);
  controller.abort();
  await expect(waiting).resolves.toBeUndefined();
  await expect(log.grown(0, AbortSignal.abort())).resolves.toBeUndefined();
});

test("following returns everything, including what is written just before the end, and then ends", async () => {
  const { path, log, end } = await grownBy("a".repeat(100_000));
  const parts: string[] = [];
  const following = (async () => {
    for await (const chunk of log.follow()) parts.push(words(chunk));
  })();
  await until("the beginning was given", () => parts.join("").length === 100_000);
  await appendFile(path, "b");
  end();
  await following;
  expect(parts.join("")).toBe(`${"a".repeat(100_000)}b`);
});

test("following ends when the signal fires", async () => {
  const { log } = await grownBy("x");
  const controller = new AbortController();
  const parts: string[] = [];
  for await (const chunk of log.follow(controller.signal)) {
    parts.push(words(chunk));
    controller.abort();
  }
  expect(parts).toEqual(["x"]);
});

test("disposing leaves the file unchanged, and ends waiting readers", async () => {
  const { path, log } = await grownBy("x");
  const waiting = log.grown(5);
  await log.dispose();
  await waiting;
  await expect(log.read(0, 1)).rejects.toThrow("this output is gone: its log was disposed of");
  expect(await readFile(path, "utf8")).toBe("x");
});
