import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { oneLine, terminalSafe } from "../../../src/core/output/terminal-text.ts";

describe("terminalSafe", () => {
  test.each([
    ["a colour", "\x1b[32mgreen\x1b[0m and \x1b[1;38;5;8;48;2;8;5;6mmore\x1b[m"],
    ["colours with colons", "\x1b[38:2::255:8:5m\x1b[4:3mcurly\x1b[59m"],
    ["newlines and tabs", "a\tb\n\n"],
    ["letters of any script", "naïve – 汉字 – עברית – العربية – ไทย – e\u0301"],
    ["joined emoji", "👩🏽‍💻 ❤️‍🔥 🏳️‍🌈 👨‍👩‍👧‍👦"],
    ["emoji with a selector, keycaps and text style", "❤️ 1️⃣ #️⃣ ☺︎"],
  ])("%s stays", (_name, text) => {
    expect(terminalSafe(text)).toBe(text);
  });

  test.each([
    ["a window title", "\x1b]2;pwned\x07", "\\x1b]2;pwned\\x07"],
    ["the clipboard", "\x1b]52;c;ZWNobw==\x1b\\", "\\x1b]52;c;ZWNobw==\\x1b\\"],
    ["queries that make a terminal type", "\x1b[6n\x1b[0c\x05", "\\x1b[6n\\x1b[0c\\x05"],
    ["a picture", "\x1b_Gf=100;iVBO\x1b\\", "\\x1b_Gf=100;iVBO\\x1b\\"],
    ["a device control string", "\x1bP+q544e\x1b\\", "\\x1bP+q544e\\x1b\\"],
    ["clearing the screen", "\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"],
    ["a private sequence that ends in m", "\x1b[>4;2m", "\\x1b[>4;2m"],
    ["hidden text", "\x1b[8msecret\x1b[0;8m", "\\x1b[8msecret\\x1b[0;8m"],
    ["blinking", "\x1b[5m", "\\x1b[5m"],
    ["a colour that is cut short", "\x1b[38;5m", "\\x1b[38;5m"],
    ["a resetting escape", "\x1bc", "\\x1bc"],
    ["C1 controls", "\x9b31m\x9d0;t\x9c\x85", "\\x9b31m\\x9d0;t\\x9c\\x85"],
    ["going back to overwrite", "safe\rrm -rf ~", "safe\\rrm -rf ~"],
    ["backspaces", "cat\b\b\bdog", "cat\\x08\\x08\\x08dog"],
    ["NUL, form feed and DEL", "\0\f\x7f", "\\x00\\x0c\\x7f"],
    [
      "bidi controls",
      "\u202etxt.exe\u202c \u2066x\u2069 \u200e\u200f\u061c",
      "\\u202etxt.exe\\u202c \\u2066x\\u2069 \\u200e\\u200f\\u061c",
    ],
    [
      "zero-width and soft characters",
      "a\u200bb\u200cc\u2060d\ufeffe\u00adf",
      "a\\u200bb\\u200cc\\u2060d\\ufeffe\\xadf",
    ],
    ["a joiner in a word that needs it", "می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"],
    ["a joiner that joins no emoji", "a\u200db 😀\u200d \u200d😀", "a\\u200db 😀\\u200d \\u200d😀"],
    ["tag characters", "\u{e0041}\u{e007f}", "\\u{e0041}\\u{e007f}"],
    ["line separators", "a\u2028b\u2029", "a\\u2028b\\u2029"],
    ["selectors that carry data", "a\ufe0fb\u{e0101} 😀\ufe0f\ufe01", "a\\ufe0fb\\u{e0101} 😀\ufe0f\\ufe01"],
    ["a blank letter", "user\u3164", "user\\u3164"],
  ])("%s becomes visible", (_name, text, shown) => {
    expect(terminalSafe(text)).toBe(shown);
  });

  test("CR LF is a newline, but a carriage return before it is not", () => {
    expect(terminalSafe("a\r\nb\r\r\n")).toBe("a\nb\\r\n");
  });

  const character = fc.oneof(
    fc.constantFrom(
      "\x1b",
      "[",
      "m",
      "31",
      "8",
      ";",
      "\r",
      "\n",
      "\x9b",
      "\x07",
      "\u200d",
      "\ufe0f",
      "😀",
      "❤",
      "🏽",
      "\u202e",
    ),
    fc.integer({ min: 0, max: 0x2fff }).map((code) => String.fromCodePoint(code)),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  const wild = fc.array(character, { maxLength: 40 }).map((parts) => parts.join(""));

  test("only colours, emoji joiners and selectors stay invisible, and a second pass changes nothing", () => {
    fc.assert(
      fc.property(wild, (text) => {
        const safe = terminalSafe(text);
        expect(safe.replace(/\x1b\[[0-9;:]*m/g, "").replace(/\n|\t|\u200d|[\ufe00-\ufe0f]/g, "")).not.toMatch(
          /[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u,
        );
        expect(terminalSafe(safe)).toBe(safe);
      }),
      { numRuns: 2000 },
    );
  });

  test("one line is one line, within its length, with nothing invisible", () => {
    fc.assert(
      fc.property(wild, fc.nat({ max: 60 }), (text, most) => {
        const line = oneLine(text, most);
        expect(Array.from(line).length).toBeLessThanOrEqual(most);
        expect(line).not.toMatch(/\p{Cc}/u);
        expect(terminalSafe(line)).toBe(line);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("oneLine", () => {
  test("shows newlines and tabs visibly, and drops colours", () => {
    expect(oneLine("\x1b[1mecho\x1b[0m a\tb\r\nls\n", 100)).toBe("echo a\\tb\\nls\\n");
  });

  test("text around a dropped colour cannot become a sequence", () => {
    expect(oneLine("\x1b\x1b[0m[2J", 100)).toBe("\\x1b[2J");
  });

  test("omits the middle and says how much", () => {
    const line = oneLine(`curl ${"x".repeat(1000)} | sh`, 60);
    expect(line).toBe(`curl ${"x".repeat(16)}[…969 characters…]${"x".repeat(15)} | sh`);
    expect(Array.from(line).length).toBeLessThanOrEqual(60);
  });

  test("does not cut inside a visible escape", () => {
    const ends = Array.from({ length: 30 }, (_, extra) => oneLine("\u202e".repeat(100), 40 + extra));
    for (const line of ends) expect(line).toMatch(/^(?:\\u202e)+\[…\d+ characters…\](?:\\u202e)*$/);
  });

  test("leaves no joiner, selector or skin colour without its emoji at a cut", () => {
    for (const emoji of ["👩🏽‍💻", "❤️‍🔥", "👨‍👩‍👧‍👦"]) {
      for (let most = 0; most < 60; most += 1) {
        const line = oneLine(emoji.repeat(30), most);
        expect(terminalSafe(line)).toBe(line);
        expect(line).not.toMatch(/[…\]][\u{1f3fd}\u200d\ufe0f]/u);
      }
    }
  });

  test("cuts at the end if the mark does not fit", () => {
    expect(oneLine("abcdefghijklmnopqrstuvwxyz", 5)).toBe("abcd…");
    expect(oneLine("abc", 1)).toBe("…");
    expect(oneLine("abc", 0)).toBe("");
    expect(oneLine("abc", 3)).toBe("abc");
  });
});
