import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { absolutePath, displayPath, isInside } from "../../../src/core/util/paths.ts";

const base = { workDir: "/srv/ws", home: "/home/dev" };

const name = fc.stringMatching(/^[a-z. ~-]{1,4}$/).filter((part) => part !== "." && part !== "..");
const absolute = fc.array(name, { maxLength: 5 }).map((parts) => `/${parts.join("/")}`);

describe("absolutePath", () => {
  test.each([
    [".", "/srv/ws"],
    ["", "/srv/ws"],
    ["a/b", "/srv/ws/a/b"],
    ["./a//b/", "/srv/ws/a/b"],
    ["a/../b", "/srv/ws/b"],
    ["../..", "/"],
    ["../../../../etc", "/etc"],
    ["/etc/./passwd", "/etc/passwd"],
    ["//etc//passwd", "/etc/passwd"],
    ["~", "/home/dev"],
    ["~/", "/home/dev"],
    ["~/.ssh/../x", "/home/dev/x"],
    ["~/../..", "/"],
    ["~root/x", "/srv/ws/~root/x"],
    ["a/~/b", "/srv/ws/a/~/b"],
    ["..\\..\\x", "/srv/ws/..\\..\\x"],
    ["…/é", "/srv/ws/…/é"],
  ])("%j is %j", (path, expected) => {
    expect(absolutePath(path, base)).toBe(expected);
  });

  test("the result is absolute, without . and .., and stable", () => {
    const anything = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom("..", ".", "a", "", "~", "b c")).map((parts) => parts.join("/")),
    );
    fc.assert(
      fc.property(anything, (path) => {
        const once = absolutePath(path, base);
        expect(once.startsWith("/")).toBe(true);
        expect(once.split("/")).not.toContain("..");
        expect(once.split("/")).not.toContain(".");
        expect(absolutePath(once, base)).toBe(once);
      }),
    );
  });
});

describe("isInside", () => {
  test.each([
    ["/srv/ws", "/srv/ws", true],
    ["/srv/ws/a", "/srv/ws", true],
    ["/srv/ws2", "/srv/ws", false],
    ["/srv/ws-old/a", "/srv/ws", false],
    ["/srv", "/srv/ws", false],
    ["/SRV/ws/a", "/srv/ws", false],
    ["/", "/", true],
    ["/etc", "/", true],
    ["/", "/etc", false],
  ])("%j in %j: %j", (path, folder, expected) => {
    expect(isInside(path, folder)).toBe(expected);
  });

  test("a path joined to a folder is inside it, a sibling is not", () => {
    fc.assert(
      fc.property(
        absolute,
        fc.array(name, { minLength: 1, maxLength: 3 }),
        fc.stringMatching(/^[a-z0-9-]{1,3}$/),
        (folder, parts, tail) => {
          expect(isInside(`${folder === "/" ? "" : folder}/${parts.join("/")}`, folder)).toBe(true);
          if (folder !== "/") expect(isInside(`${folder}${tail}`, folder)).toBe(false);
        },
      ),
    );
  });
});

test("displayPath is relative below the working directory and absolute otherwise", () => {
  expect(displayPath("/srv/ws", base)).toBe(".");
  expect(displayPath("/srv/ws/a/b", base)).toBe("a/b");
  expect(displayPath("/srv/ws2/a", base)).toBe("/srv/ws2/a");
  expect(displayPath("/etc", { workDir: "/" })).toBe("etc");
});
