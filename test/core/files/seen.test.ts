import { expect, test } from "vitest";
import { createSeenFiles } from "../../../src/core/files/seen.ts";

test("a file is remembered with its version and a copy of its content", () => {
  const seen = createSeenFiles();
  const content = Buffer.from("one");
  seen.remember({ path: "/a", version: "1" }, content);
  content.fill("x");
  expect(seen.recall("/a")).toEqual({ version: "1", content: Buffer.from("one") });
  expect(seen.recall("/b")).toBeUndefined();
});

test("the content stays known when a part of the same version is seen, and goes with another version", () => {
  const seen = createSeenFiles();
  seen.remember({ path: "/a", version: "1" }, Buffer.from("one"));
  seen.remember({ path: "/a", version: "1" });
  expect(seen.recall("/a")?.content).toEqual(Buffer.from("one"));
  seen.remember({ path: "/a", version: "2" });
  expect(seen.recall("/a")).toEqual({ version: "2" });
});

test("content over 256 KB is not kept, only the version", () => {
  const seen = createSeenFiles();
  seen.remember({ path: "/a", version: "1" }, Buffer.alloc(256 * 1024));
  seen.remember({ path: "/b", version: "1" }, Buffer.alloc(256 * 1024 + 1));
  expect(seen.recall("/a")?.content?.length).toBe(256 * 1024);
  expect(seen.recall("/b")).toEqual({ version: "1" });
});

test("with too many files, or too much content, the oldest are forgotten", () => {
  const many = createSeenFiles();
  for (let file = 0; file < 1_001; file++) many.remember({ path: `/${file}`, version: "1" });
  expect(many.recall("/0")).toBeUndefined();
  expect(many.recall("/1")).toBeDefined();
  const large = createSeenFiles();
  const remember = (path: string) => large.remember({ path, version: "1" }, Buffer.alloc(256 * 1024));
  for (let file = 0; file < 64; file++) remember(`/${file}`);
  remember("/0");
  remember("/64");
  expect(large.recall("/0")).toBeDefined();
  expect(large.recall("/1")).toBeUndefined();
  expect(large.recall("/2")).toBeDefined();
});
