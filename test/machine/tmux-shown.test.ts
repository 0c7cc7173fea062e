import { describe, expect, test } from "vitest";
import { shownCommand } from "../../src/machine/tmux/shown.ts";
import { strokesOfKey } from "../../src/core/util/keys.ts";

describe("keys", () => {
  test("are those that tmux knows, with any modifiers", () => {
    for (const key of [
      "C-c",
      "^C",
      "M-x",
      "C-M-Left",
      "S-Up",
      "Enter",
      "enter",
      "F5",
      "F12",
      "a",
      "ä",
      "-",
      "PgUp",
      "C--",
    ]) {
      expect([key, strokesOfKey(key)]).not.toEqual([key, undefined]);
    }
    for (const text of ["", "Foo", "C-", "yes", "F99", "ctrl-c", "C-c C-d", "Enter\n"]) {
      expect([text, strokesOfKey(text)]).toEqual([text, undefined]);
    }
  });
});

describe("the command shown after the prompt", () => {
  test("is the script, or the words, with nothing in it that acts on the terminal", () => {
    expect(shownCommand({ argv: ["/bin/bash", "-c", "cd x\nmake"] })).toBe("cd x\nmake");
    expect(shownCommand({ argv: ["rg", "--", "a b"] })).toBe("rg -- 'a b'");
    expect(shownCommand({ argv: ["sh", "-c", 'echo "$1"', "sh", "x"] })).toBe(`sh -c 'echo "$1"' sh x`);
    expect(shownCommand({ argv: ["sh", "-c", "printf '\u001b[2J'"] })).toBe("printf '\\x1b[2J'");
    const long = Array.from({ length: 30 }, (_, line) => `echo ${line}`).join("\n");
    expect(shownCommand({ argv: ["/usr/bin/make"], label: "make\u001b[2J" })).toBe("make\\x1b[2J");
    expect(shownCommand({ argv: ["sh", "-c", long] })).toMatch(/echo 19\n… \(10 more lines\)$/);
  });
});
