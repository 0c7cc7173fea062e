import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readControl } from "../../src/backends/tmux/control.ts";
import { shownCommand } from "../../src/backends/tmux/shown.ts";
import { strokesOfKey } from "../../src/util/keys.ts";
import { mustBeHere } from "../support/here.ts";
import { tmuxProblem } from "./tmux-server.ts";

mustBeHere("tmux", tmuxProblem());

/** Recorded from tmux 3.3a. */
const RECORDED = `%begin 1795341668 278 0
%end 1795341668 278 0
%session-changed $0 a
%begin 1795341668 283 1
%3
%end 1795341668 283 1
%begin 1795341668 288 1
can't find pane: %99
%error 1795341668 288 1
%window-add @4
%begin 1795341668 289 1
%4 @4
%end 1 1 1

%end 1795341668 289 1
%unlinked-window-close @4
%exit
`;

function heardIn(chunks: readonly Uint8Array[]): readonly string[] {
  const heard: string[] = [];
  const reader = readControl({
    answered: ({ isOurs, failed, lines }) => {
      heard.push(`${isOurs ? "ours" : "other"} ${failed ? "failed" : "ok"} ${JSON.stringify(lines)}`);
    },
    told: (name, words) => heard.push(`${name}: ${words}`),
  });
  for (const chunk of chunks) reader.write(chunk);
  return heard;
}

describe("the output of tmux in control mode", () => {
  test("is parsed as answers, failures and events; a line that looks like an end is not one", () => {
    expect(heardIn([Buffer.from(RECORDED)])).toEqual([
      "other ok []",
      "session-changed: $0 a",
      'ours ok ["%3"]',
      `ours failed ["can't find pane: %99"]`,
      "window-add: @4",
      'ours ok ["%4 @4","%end 1 1 1",""]',
      "unlinked-window-close: @4",
      "exit: ",
    ]);
  });

  test("is parsed equally in chunks of any size", () => {
    const bytes = Buffer.from(RECORDED.replace("can't", "can’t 漢字"));
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        expect(heardIn(chunks)).toEqual(heardIn([bytes]));
      }),
    );
  });
});

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
