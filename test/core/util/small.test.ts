import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Stop, onAbort, pause, untilAborted } from "../../../src/core/util/abort.ts";
import { codeOf, messageOf } from "../../../src/core/util/errors.ts";
import { randomName } from "../../../src/core/util/identifier.ts";
import { renameKeys } from "../../../src/core/util/rename-keys.ts";
import { requireNode } from "../../../src/core/util/runtime.ts";
import { clip, plural } from "../../../src/core/util/text.ts";

describe("clip", () => {
  test("the text has at most the given length, the same beginning, and never ends in half a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 20 }), (text, most) => {
        const clipped = clip(text, most);
        expect(clipped.length).toBeLessThanOrEqual(Math.max(most, 1));
        if (text.length <= most) {
          expect(clipped).toBe(text);
          return;
        }
        expect(clipped.endsWith("…")).toBe(true);
        expect(text.startsWith(clipped.slice(0, -1))).toBe(true);
        expect(clipped).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });

  test("an emoji at the cut is removed as a whole", () => {
    expect(clip("ab😀cd", 4)).toBe("ab…");
    expect(clip("ab😀cd", 5)).toBe("ab😀…");
  });
});

test("plural counts", () => {
  expect([0, 1, 2].map((count) => plural(count, "match", "matches"))).toEqual(["0 matches", "1 match", "2 matches"]);
  expect(plural(2, "file")).toBe("2 files");
});

describe("renameKeys", () => {
  const names = { file_path: "path", filePath: "path" };

  test("other spellings are renamed, in place; an existing key wins", () => {
    expect(renameKeys({ file_path: "a", offset: 1 }, names)).toEqual({ path: "a", offset: 1 });
    expect(renameKeys({ path: "right", file_path: "other" }, names)).toEqual({ path: "right" });
  });

  test("a value that is no object is returned unchanged", () => {
    for (const raw of ["text", 5, null, undefined, true, ["file_path"]]) expect(renameKeys(raw, names)).toBe(raw);
  });

  test("names that every object inherits are not spellings", () => {
    expect(renameKeys({ toString: 1, constructor: 2 }, names)).toEqual({ toString: 1, constructor: 2 });
  });

  test("a key __proto__ changes no prototype and is not lost to validation", () => {
    const renamed = renameKeys(JSON.parse('{"__proto__":{"path":"evil"},"file_path":"a"}'), names) as {
      path?: unknown;
    };
    expect(Object.getPrototypeOf(renamed)).toBe(Object.prototype);
    expect(Object.keys(renamed as object).sort()).toEqual(["__proto__", "path"]);
    expect(renamed.path).toBe("a");
  });
});

describe("untilAborted", () => {
  test("work that ends before the signal settles as usual", async () => {
    const { signal } = new AbortController();
    await expect(untilAborted(Promise.resolve(7), signal)).resolves.toBe(7);
    await expect(untilAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
  });

  test("the signal ends the wait with its reason, before and during it", async () => {
    const reason = new Error("enough");
    await expect(untilAborted(new Promise(() => {}), AbortSignal.abort(reason))).rejects.toBe(reason);
    await expect(untilAborted(Promise.reject(new Error("unread")), AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const waiting = untilAborted(new Promise(() => {}), controller.signal);
    controller.abort("a word");
    await expect(waiting).rejects.toThrow("a word");
  });
});

describe("onAbort", () => {
  test("it calls once: when the signal fires, at once if it has fired, never after it was removed", () => {
    const controller = new AbortController();
    let calls = 0;
    const count = () => void calls++;
    onAbort(controller.signal, count);
    onAbort(controller.signal, () => (calls += 100))();
    expect(calls).toBe(0);
    controller.abort();
    expect(calls).toBe(1);
    onAbort(controller.signal, count);
    expect(calls).toBe(2);
  });
});

describe("Stop", () => {
  test("it is stopped by itself or by one above, once, and tells its signal and listeners with the reason", () => {
    const above = new AbortController();
    const [early, late, unlinked] = [new Stop(above.signal), new Stop(above.signal), new Stop(above.signal)];
    const below = new Stop(early);
    const { signal } = early; // asked for before the stop; that of `late` after it
    let calls = 0;
    onAbort(below, () => void calls++);
    unlinked.unlink();
    above.abort(new Error("enough"));
    early.abort(new Error("too late"));
    expect([signal.reason, late.signal.reason, below.reason].map(String)).toEqual(Array(3).fill("Error: enough"));
    expect([calls, unlinked.aborted, unlinked.signal.aborted, new Stop(early).aborted]).toEqual([
      1,
      false,
      false,
      true,
    ]);
    expect(() => below.throwIfAborted()).toThrow("enough");
  });
});

describe("pause", () => {
  test("it ends at once when the signal fires, and if it has fired before", async () => {
    const controller = new AbortController();
    const long = pause(3_600_000, controller.signal);
    controller.abort();
    expect(await long).toBeUndefined();
    expect(await pause(3_600_000, AbortSignal.abort())).toBeUndefined();
  });
});

test("messageOf and codeOf accept any thrown value", () => {
  expect(messageOf(new Error("text"))).toBe("text");
  expect(messageOf(new RangeError(""))).toBe("RangeError");
  expect([undefined, null, 5, "x", {}].map(messageOf)).toEqual(["undefined", "null", "5", "x", "[object Object]"]);
  expect(codeOf(Object.assign(new Error("x"), { code: "ENOENT" }))).toBe("ENOENT");
  expect([undefined, null, 5, "x", {}, { code: 5 }].map(codeOf)).toEqual(Array.from({ length: 6 }, () => undefined));
});

test("randomName has the length, only unambiguous letters, and never repeats", () => {
  const names = Array.from({ length: 2_000 }, () => randomName(12));
  for (const name of names) expect(name).toMatch(/^[0-9a-hjkmnp-tv-z]{12}$/);
  expect(new Set(names).size).toBe(names.length);
});

test("on Bun and Deno one sentence says that Node is needed", () => {
  expect(() => requireNode()).not.toThrow();
  expect(() => requireNode({ node: "24.3.0", bun: "1.4.5" })).toThrow(/needs Node\.js .* this is Bun 1\.4\.5/);
  expect(() => requireNode({ node: "24.9.0", deno: "2.9.6" })).toThrow(/needs Node\.js .* this is Deno 2\.9\.6/);
});
