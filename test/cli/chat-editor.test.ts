// The parts of the chat at a terminal that need none: the editor, its completions and keys, the queue, the screen.
import { describe, expect, test } from "vitest";
import { createCompletions } from "../../src/cli/chat/completions.ts";
import { type Draft, createEditor } from "../../src/cli/chat/editor.ts";
import { createKeys } from "../../src/cli/chat/keys.ts";
import { createQueue } from "../../src/cli/chat/queue.ts";
import { type Live, createScreen } from "../../src/cli/chat/screen.ts";

const COMMANDS = [
  { name: "/undo", does: "take back" },
  { name: "/help", does: "show this" },
];
const completions = createCompletions(
  () => COMMANDS,
  async () => ["src/", "src/my notes.md", "src/retry.js", "retry.md"],
);

function editor(history: readonly string[] = []) {
  createKeys();
  const sent: Draft[] = [];
  const made = createEditor({
    ...{ history, completions, rows: () => 24, onChange: () => {} },
    onSubmit: (draft) => void sent.push(draft),
  });
  const type = (...keys: readonly string[]) => {
    for (const key of keys) made.key(key);
  };
  const rows = (columns = 60) => made.lines(columns).lines.slice(1, -1);
  return { ...made, sent, type, rows };
}

const [ENTER, BACKSPACE, LEFT, UP] = ["\r", "\x7f", "\x1b[D", "\x1b[A"];
const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`).join("\n");

describe("the editor", () => {
  test("Enter sends; Ctrl-J, a backslash and Shift-Enter in either protocol begin a line", () => {
    const { type, sent, rows } = editor();
    type("a", "\n", "b", "\\", ENTER, "c", "\x1b[13;2u", "d", "\x1b[27;2;13~", "e");
    expect(rows()).toEqual(["> a", "  b", "  c", "  d", "  e"]);
    type(ENTER);
    expect(sent).toEqual([{ text: "a\nb\nc\nd\ne" }]);
  });

  test("a paste of 9 lines or 1,001 characters is one block, which Backspace removes and Enter on it opens", () => {
    const { paste, rows, type, opened, shown, draft, isOnPaste, openPaste } = editor();
    paste(lines(8));
    expect(rows()).toHaveLength(7); // at most 30 % of the window
    type("\x15");
    while (draft().text !== "") type(BACKSPACE);
    type("x");
    paste(lines(9));
    paste("y".repeat(1_001));
    expect(rows()).toEqual(["> x", "  [paste #1 · 9 lines · 62B][paste #2 · 1 line · 1001B]"]);
    expect(opened(draft())).toBe(`x\n${lines(9)}${"y".repeat(1_001)}`);
    type(BACKSPACE);
    expect(shown(draft())).toBe("x\n[paste #1 · 9 lines · 62B]");
    expect(isOnPaste()).toBe(false);
    type(LEFT);
    expect(isOnPaste()).toBe(true);
    openPaste();
    expect(draft().text).toBe(`x\n${lines(9)}`);
  });

  test("an image is sent as a part; its label survives another editor", () => {
    const { image, type, content, draft, shown, closed, opened } = editor();
    type("see ");
    image({ name: "shot.png", data: "aGVsbG8=", mimeType: "image/png" });
    expect(shown(draft())).toBe("see [image #1 · shot.png · 6B]");
    const parts = content(closed(`${opened(draft())} and this`));
    expect(parts).toEqual([
      { type: "text", text: "see [image #1 · shot.png · 6B] and this" },
      { type: "image", data: "aGVsbG8=", mimeType: "image/png" },
    ]);
  });

  test("Up recalls whole messages, and Down the draft", () => {
    const { type, rows } = editor(["two\nlines", "one"]);
    type("d", "\x01", UP);
    expect(rows()).toEqual(["> two", "  lines"]);
    type(UP);
    expect(rows()).toEqual(["> one"]);
    type("\x1b[B", "\x1b[B", "\x1b[B", "\x1b[B");
    expect(rows()).toEqual(["> d"]);
  });

  test("control and bidi characters are visible; emoji, CJK and Persian have their width", () => {
    const { paste, lines: drawn } = editor();
    paste("👩‍👩‍👧 日本 \u202eabc");
    const { lines: all, cursor } = drawn(60);
    expect(all[1]).toContain("日本 \\u202eabc");
    expect(cursor).toEqual({ row: 1, column: 2 + 2 + 1 + 4 + 1 + 6 + 3 });
  });
});

test("completion takes what is typed now, also when the list was made for less", async () => {
  const { getSuggestions, applyCompletion } = completions;
  const signal = new AbortController().signal;
  const at = (text: string) => getSuggestions([text], 0, text.length, { signal });
  expect((await at("/u"))?.items.map(({ value }) => value)).toEqual(["/undo"]);
  expect((await at("see @re"))?.items.map(({ value }) => value)).toEqual(["@retry.md", "@src/retry.js"]);
  expect((await at("@note"))?.items.map(({ value }) => value)).toEqual(['@"src/my notes.md"']);
  const apply = (text: string, value: string) =>
    applyCompletion([text], 0, text.length, { value, label: value }, "/").lines[0];
  expect(apply("/un", "/undo")).toBe("/undo ");
  expect(apply("/he", "/undo")).toBe("/he");
  expect(apply("see @re", "@src/retry.js")).toBe("see @src/retry.js ");
  expect(apply("see @s", "@src/")).toBe("see @src/");
});

test("keys are those of the configuration, in every protocol, and are listed", () => {
  const keys = createKeys({ queue: ["ctrl+q"], search: [] });
  expect(keys.is("\x11", "queue")).toBe(true);
  expect(keys.is("\x1b\r", "queue")).toBe(false);
  expect(keys.is("\x12", "search")).toBe(false);
  expect(keys.is("\x1b[99;5u", "interrupt")).toBe(true); // kitty
  expect(keys.is("\x1b[27;5;99~", "interrupt")).toBe(true); // modifyOtherKeys
  expect(keys.name("expand")).toBe("Ctrl-O");
  expect(keys.list()).toContainEqual(expect.stringMatching(/^Ctrl-Q +send when the turn has ended$/));
  expect(keys.list().join("\n")).not.toContain("search earlier");
  createKeys();
});

test("queued messages are taken back from the last one on, unless the model has them", () => {
  const queue = createQueue();
  const had = { text: "had" };
  queue.add({ draft: had, when: "steer", takeBack: () => false });
  queue.add({ draft: { text: "steers" }, when: "steer", takeBack: () => true });
  queue.add({ draft: { text: "waits" }, when: "after" });
  expect(queue.takeLast()?.text).toBe("waits");
  expect(queue.next()).toBeUndefined();
  queue.hold(); // the turn is being stopped
  expect(queue.next()?.text).toBe("steers");
  expect(queue.takeLast()).toBeUndefined();
  expect(queue.delivered((draft) => draft === had)).toBe(had);
  expect(queue.all()).toEqual([]);
});

describe("the screen", () => {
  function screen(first: Live) {
    let written = "";
    let live = first;
    const terminal = { columns: 20, rows: 10, write: (text: string) => ((written += text), true) };
    const made = createScreen(terminal, () => live);
    const draw = (next: Live = live) => {
      [live, written] = [next, ""];
      made.draw();
      return written;
    };
    return { ...made, draw, terminal };
  }
  const cursor = { row: 2, column: 2 };

  test("writes only changed lines, together, and nothing when nothing changed", () => {
    const { draw, close } = screen({ lines: ["one", "two", "> "], cursor });
    draw();
    expect(draw()).toBe("");
    const change = draw({ lines: ["one", "2", "> "], cursor });
    expect(change).toMatch(/^\x1b\[\?2026h.*\x1b\[1A\r2\x1b\[K.*\x1b\[1B\r\x1b\[2C\x1b\[\?2026l$/);
    expect(change).not.toContain("one");
    close();
  });

  test("prints finished lines once, above the live part", () => {
    const { draw, print, close } = screen({ lines: ["> "], cursor: { row: 0, column: 2 } });
    draw();
    print(["finished"]);
    expect(draw()).toContain("finished\x1b[K\n");
    expect(draw({ lines: ["> a"], cursor: { row: 0, column: 3 } })).not.toContain("finished");
    close();
  });

  test("goes up as many rows as a narrower terminal has made of the live part", () => {
    const { draw, terminal, close } = screen({
      lines: ["─".repeat(20), "> ", "─".repeat(20)],
      cursor: { row: 1, column: 2 },
    });
    draw();
    terminal.columns = 10;
    expect(draw({ lines: ["─".repeat(10), "> ", "─".repeat(10)], cursor: { row: 1, column: 2 } })).toMatch(
      /^\x1b\[\?2026h\x1b\[2A\r/,
    );
    close();
  });
});
