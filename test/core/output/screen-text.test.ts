import { describe, expect, test } from "vitest";
import { screenText } from "../../../src/core/output/screen-text.ts";

describe("what a terminal would show", () => {
  test.each([
    ["plain text is as it is", "a\tb\n\n  c  ", "a\tb\n\n  c  "],
    ["CR LF ends a line", "a\r\nb\r\n", "a\nb\n"],
    ["the last frame of a progress bar", "start\n\r  1%\r 50%\r100%\ndone\n", "start\n100%\ndone\n"],
    ["a shorter frame leaves the rest of a longer one", "\rlonger\rxy", "xynger"],
    ["a line that was erased", "\r50% [===   ]\r\x1b[Kdone\n\rabc\x1b[2K\rd\n", "done\nd\n"],
    ["a line that was overwritten with blanks", "\r50% \r    \rok\n", "ok\n"],
    ["a spinner", "wait |\b/\b-\b\\\bdone\n", "wait done\n"],
    ["bars of several lines", "a 1%\nb 1%\n\x1b[2A\ra 9%\x1b[K\nb 9%\x1b[K\n\x1b[1Fb ok\nend", "a 9%\nb ok\nend"],
    [
      "colours, links and titles",
      "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(B\x07é \u{1f600}",
      "red link é \u{1f600}",
    ],
    ["frames of a cleared screen", "first\n\x1b[H\x1b[2Jframe 1\n\x1b[H\x1b[2Jframe 2\n", "first\nframe 2\n"],
    ["frames at absolute positions", "first\n\x1b[1;1Ha\x1b[2;3Hb\x1b[1;1HA", "first\nA\n  b"],
    [
      "the screen of a full-screen program",
      "before\n\x1b[?1049h\x1b[3;1H~\x1b[24;1Hx\x1b[?1049lafter\n",
      "before\nafter\n",
    ],
    ["a column", "a\x1b[5Gb\x1b[3Dc\x1b[2Cd", "a c bd"],
    ["a saved position", "\x1b7one\x1b8two\n\x1b[sx\x1b[uy", "two\ny"],
    ["movements far away", "a\x1b[999999999A\x1b[999999999Bb\x1b[999999999Dc", "cb"],
    ["half a sequence at the end", "a\x1b", "a"],
  ])("%s", (_, written, shown) => expect(screenText(written)).toBe(shown));

  test("a long line with many frames takes time in proportion to its length", () => {
    const long = "x".repeat(500_000);
    expect(screenText(`${long}${"\b|\b/".repeat(200_000)}`)).toBe(`${"x".repeat(499_999)}/`);
  });
});
