import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { controlWord, readControl } from "../../src/backends/tmux/control.ts";
import { mustBeHere } from "../support/here.ts";
import { testServer, tmuxProblem } from "./tmux-server.ts";

mustBeHere("tmux", tmuxProblem());

describe.skipIf(tmuxProblem() !== undefined)("a word for tmux", () => {
  const server = testServer();

  test("arrives unchanged, whatever it contains", () => {
    const send = (word: string) => {
      const said = execFileSync("tmux", ["-u", "-L", server.socket, "-C", "attach-session", "-t", "=keep"], {
        input: `set-option -g @word ${controlWord(word)}\nshow-options -gv @word\n`,
      });
      const answers: string[] = [];
      const reader = readControl({
        answered: ({ isOurs, lines }) => void (isOurs && answers.push(lines.join("\n"))),
        told: () => undefined,
      });
      reader.write(said);
      return answers.at(-1);
    };
    for (const word of [
      "",
      "plain",
      "a b",
      "'\"`$HOME\\",
      "~",
      "#{pane_id}",
      "; kill-server",
      "{a}",
      "%if",
      "漢字",
      "a\nb\tc",
    ]) {
      expect(send(word)).toBe(word);
    }
  });
});
