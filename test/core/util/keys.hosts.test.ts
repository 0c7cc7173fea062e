import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isCharacter, strokesOfKey } from "../../../src/core/util/keys.ts";
import { testServer, tmuxProblem } from "../../machine/tmux-server.ts";
import { mustBeHere } from "../../support/here.ts";
import { until } from "../../support/until.ts";

const problem = tmuxProblem();
mustBeHere("what tmux makes of keys", problem);

describe.skipIf(problem !== undefined)("as tmux types them", () => {
  const server = testServer();

  /** What a terminal sends for a stroke; `undefined`: more than one byte, or not the same everywhere. */
  const bytesOf = (stroke: string): string | undefined => {
    if (isCharacter(stroke)) return stroke;
    const letter = /^C-([a-z])$/.exec(stroke)?.[1];
    if (letter !== undefined) return String.fromCharCode(letter.charCodeAt(0) - 96);
    return { Escape: "\u001b", Tab: "\t", "C-Space": "\0" }[stroke];
  };

  /** What may be held down with every key that has a name. */
  const combined = () => {
    const named = "Up Home Insert DC PgUp F5 F12 BSpace BTab Tab Escape Enter Space KP5 KPEnter é".split(" ");
    const ascii = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));
    const names = [...named, ...ascii];
    const modifiers = "C- M- S- C-M- C-S- M-S- C-M-S- ^ ^M-".split(" ");
    return modifiers.flatMap((modifier) => names.map((name) => `${modifier}${name}`)).filter(isKey);
  };
  const isKey = (name: string) => strokesOfKey(name) !== undefined;

  /** A program in a pane that keeps what is typed into it. */
  const reader = async () => {
    const file = join(server.folder, `typed-${randomUUID()}`);
    writeFileSync(file, "");
    const begins = `stty raw -echo; printf ready; exec cat >>'${file}'`;
    const pane = await server.run("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=keep:", begins);
    await until("it reads", async () => (await server.run("capture-pane", "-p", "-t", pane)).includes("ready"));
    return async (key: string) => {
      writeFileSync(file, "");
      await server.run("send-keys", "-t", pane, "--", key.replace(/;$/, "\\;"), "=");
      await until(`${key} is typed`, () => readFileSync(file, "utf8").endsWith("="));
      return readFileSync(file, "utf8").slice(0, -1).replaceAll("\r", "\n");
    };
  };

  test("no key types a character, or ends a line, that is not among its strokes", async () => {
    const typedBy = await reader();
    const letters = Array.from("abcdefghijklmnopqrstuvwxyz", (letter) => [`C-${letter}`, `^${letter.toUpperCase()}`]);
    const keypad = Array.from("/*-+.0123456789", (character) => `KP${character}`);
    const named = "Enter KPEnter Space Tab Escape C-Space C-[ M-x M-Enter C-M-m".split(" ");
    const keys = [...Array.from("aZ9~^é"), ...letters.flat(), ...keypad, ...named].flatMap((key) => [
      key,
      key.toLowerCase(),
    ]);
    for (const key of keys) {
      const typed = await typedBy(key);
      const strokes = strokesOfKey(key) ?? [];
      const expected = strokes.map((stroke) => (stroke === "Enter" ? "\n" : (bytesOf(stroke) ?? "?"))).join("");
      expect([key, expected.includes("?") ? typed.length : typed]).toEqual([
        key,
        expected.includes("?") ? 1 : expected,
      ]);
    }
  });

  test("with any modifiers, no character is typed that is not among its strokes", async () => {
    const typedBy = await reader();
    for (const key of combined()) {
      const typed = (await typedBy(key)).replaceAll(/\u001b(?:[[O][\d;]*[A-Za-z~])?|[\0-\x1f\x7f]/g, "");
      const characters = (strokesOfKey(key) ?? []).filter(isCharacter).join("");
      expect([key, typed]).toEqual([key, typed === "" ? "" : characters]);
    }
  });
});
