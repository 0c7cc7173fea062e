import { CURSOR_MARKER, type AutocompleteProvider, Editor, type TUI, truncateToWidth } from "@earendil-works/pi-tui";
import { type Content, text } from "../../core/contract/content.ts";
import { formatSize } from "../../core/output/size.ts";
import { terminalSafe } from "../../core/output/terminal-text.ts";
import { plural } from "../../core/util/text.ts";
import { paint } from "./draw/paint.ts";
import type { Live } from "./screen.ts";
import { widthOf } from "./wrap.ts";

/** What a person has written. Folded blocks are single characters of `text`, which the editor knows. */
export interface Draft {
  readonly text: string;
}

/** An image that is sent with a message. `data` is base64. */
export interface DraftImage {
  readonly name: string;
  readonly data: string;
  readonly mimeType: string;
}

/**
 * An editor for messages of several lines. A long paste and an image are blocks: one piece that is deleted as a whole,
 * and a long paste can be opened.
 */
export interface MessageEditor {
  /** Handles a key. Enter submits through `onSubmit`. */
  key(data: string): void;
  /** Inserts a pasted text: folded, if it has more than 8 lines or 1,000 characters. */
  paste(pasted: string): void;
  /** Inserts an image as a block. */
  image(image: DraftImage): void;
  /** Whether a list of completions is open. */
  hasList(): boolean;
  isEmpty(): boolean;
  /** Whether Enter opens the block under the cursor. */
  isOnPaste(): boolean;
  /** Opens the paste under the cursor. */
  openPaste(): void;
  /** Returns what is written, and clears it. */
  take(): Draft;
  /** Returns what is written. */
  draft(): Draft;
  /** Replaces what is written. */
  put(draft: Draft): void;
  /** Returns a text from another editor as a draft: placeholders of images become images again. */
  closed(text: string): Draft;
  /** Adds a message that Up recalls. */
  remember(draft: Draft): void;
  /** Returns the text with its pastes opened, as for another editor. Images stay as `[image #1 …]`. */
  opened(draft: Draft): string;
  /** Returns the text for people: with `[paste #1 · 201 lines · 9.4KB]`. */
  shown(draft: Draft): string;
  /** Returns the parts of a message, with its images. */
  content(draft: Draft): readonly Content[];
  /** Returns the lines: a rule, the text, the completions and a rule. */
  lines(columns: number): Required<Live>;
}

export interface EditorSettings {
  /** Earlier messages, newest first. */
  readonly history: readonly string[];
  /** Completes commands and paths. */
  readonly completions: AutocompleteProvider;
  /** Returns the rows of the terminal. */
  readonly rows: () => number;
  /** Called when something changed without a key, such as a list that was loaded. */
  readonly onChange: () => void;
  readonly onSubmit: (draft: Draft) => void;
}

type Block = { readonly label: string; readonly text: string } | { readonly label: string; readonly image: DraftImage };

/** A paste is folded if it has more lines or characters than these. */
const [PASTE_LINES, PASTE_CHARACTERS] = [8, 1_000];
const PROMPT = "> ";
const FORWARD_DELETE = "\x1b[3;2~"; // Shift-Delete, which the editor handles whatever the keys are
const PASTE = { start: "\x1b[200~", end: "\x1b[201~" };

/**
 * The characters that stand for blocks: the end of the last private-use plane. What is pasted or typed never contains
 * them.
 */
const FIRST_BLOCK = 0x10f000;
const BLOCKS = /[\u{10f000}-\u{10fffd}]/gu;

export function createEditor({ history, completions, rows, onChange, onSubmit }: EditorSettings): MessageEditor {
  const blocks = new Map<string, Block>();
  // The editor of pi-tui needs only this of its screen.
  const surroundings = {
    requestRender: onChange,
    terminal: {
      get rows() {
        return rows();
      },
    },
  };
  const dim = (line: string) => paint("dim", line);
  const same = (line: string) => line;
  const selectList = {
    selectedPrefix: same,
    selectedText: (line: string) => paint("bold", line),
    description: dim,
    scrollInfo: dim,
    noMatch: dim,
  };
  const editor = new Editor(
    surroundings as unknown as TUI,
    { borderColor: same, selectList },
    { paddingX: PROMPT.length, autocompleteMaxVisible: 8 },
  );
  editor.focused = true;
  editor.setAutocompleteProvider(completions);
  editor.onSubmit = (submitted) => onSubmit({ text: submitted });
  for (const message of history.toReversed()) editor.addToHistory(message);

  const insertBlock = (block: Block) => {
    const character = String.fromCodePoint(FIRST_BLOCK + blocks.size);
    blocks.set(character, block);
    editor.insertTextAtCursor(character);
  };
  const pastes = () => [...blocks.values()].filter((block) => "text" in block).length;
  const images = () => blocks.size - pastes();
  const underCursor = () => {
    const { line, col } = editor.getCursor();
    const found = editor.getLines()[line]?.codePointAt(col);
    const block = found === undefined ? undefined : blocks.get(String.fromCodePoint(found));
    return block !== undefined && "text" in block ? block.text : undefined;
  };
  const replaced = (written: string, by: (block: Block) => string) =>
    written.replace(BLOCKS, (character) => {
      const block = blocks.get(character);
      return block === undefined ? "" : by(block);
    });
  const opened = (draft: Draft) => replaced(draft.text, (block) => ("text" in block ? block.text : block.label));

  /** Shows blocks by their labels, as far as they fit into the row. */
  const withLabels = (line: string, columns: number) => {
    let left = columns - widthOf(line);
    return line.replace(BLOCKS, (character) => {
      const label = blocks.get(character)?.label ?? "";
      const short = `${label.split(" · ")[0]}${label.includes(" · ") ? "]" : ""}`;
      const fits = [label, short].find((each) => widthOf(each) - 1 <= left) ?? "▤";
      left -= widthOf(fits) - 1;
      return fits;
    });
  };
  const safe = (line: string, columns: number) => {
    const shown = withLabels(terminalSafe(line), columns);
    return widthOf(shown) <= columns ? shown : truncateToWidth(shown, columns, "…");
  };

  return {
    key: (data) => editor.handleInput(data),
    paste(pasted) {
      const cleaned = pasted.replace(BLOCKS, "").replace(/\r\n?/g, "\n");
      const lines = cleaned.split("\n").length;
      if (lines <= PASTE_LINES && cleaned.length <= PASTE_CHARACTERS)
        return editor.handleInput(PASTE.start + cleaned + PASTE.end);
      const label = `[paste #${pastes() + 1} · ${plural(lines, "line")} · ${formatSize(Buffer.byteLength(cleaned))}]`;
      const { line, col } = editor.getCursor();
      if (lines > 1 && col > 0) editor.insertTextAtCursor("\n");
      insertBlock({ label, text: cleaned });
      if (lines > 1 && (editor.getLines()[line + (col > 0 ? 1 : 0)]?.length ?? 0) > 2) editor.insertTextAtCursor("\n");
    },
    image(image) {
      const bytes = Math.floor((image.data.length * 3) / 4);
      insertBlock({ label: `[image #${images() + 1} · ${image.name} · ${formatSize(bytes)}]`, image });
    },
    hasList: () => editor.isShowingAutocomplete(),
    isEmpty: () => editor.getText() === "",
    isOnPaste: () => underCursor() !== undefined,
    openPaste() {
      const pasted = underCursor();
      if (pasted === undefined) return;
      editor.handleInput(FORWARD_DELETE);
      editor.insertTextAtCursor(pasted);
    },
    take() {
      const draft = { text: editor.getText() };
      editor.setText("");
      return draft;
    },
    draft: () => ({ text: editor.getText() }),
    put: (draft) => editor.setText(draft.text),
    closed(written) {
      const pictures = [...blocks].filter(([, block]) => "image" in block);
      return { text: pictures.reduce((all, [character, { label }]) => all.replaceAll(label, character), written) };
    },
    remember: (draft) => editor.addToHistory(draft.text),
    opened,
    shown: (draft) => replaced(draft.text, ({ label }) => label),
    content(draft) {
      const words = opened(draft).trim();
      const pictures = [...draft.text.matchAll(BLOCKS)].flatMap(([character]) => {
        const block = blocks.get(character);
        return block !== undefined && "image" in block ? [block.image] : [];
      });
      return [
        ...(words === "" ? [] : [text(words)]),
        ...pictures.map(({ data, mimeType }) => ({ type: "image", data, mimeType }) as const),
      ];
    },
    lines(columns) {
      const rendered = editor.render(columns);
      // Rules are the only lines that begin in the first column.
      const bottom = rendered.findIndex((line, index) => index > 0 && !line.startsWith(" "));
      const [top = "", ...written] = rendered.slice(0, bottom);
      const list = rendered.slice(bottom + 1).map((line) => line.slice(PROMPT.length).trimEnd());
      let cursor = { row: 1, column: PROMPT.length };
      const shown = written.map((line, index) => {
        const first = index === 0 && !top.includes("↑") ? PROMPT : "  ";
        const plain = line.replaceAll("\x1b[7m", "").replaceAll("\x1b[0m", "");
        const [before = "", after] = plain.slice(PROMPT.length).split(CURSOR_MARKER);
        const width = columns - PROMPT.length;
        if (after !== undefined) {
          const left = widthOf(safe(before, width - widthOf(after.trimEnd())));
          cursor = { row: index + 1, column: Math.min(columns - 1, PROMPT.length + left) };
        }
        return (first + safe((before + (after ?? "")).trimEnd(), width)).trimEnd();
      });
      const indented = list.map((line) => `  ${line}`);
      return { lines: [dim(top), ...shown, ...indented, dim(rendered[bottom] ?? "")], cursor };
    },
  };
}
