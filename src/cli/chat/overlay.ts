import { oneLine } from "../../core/output/terminal-text.ts";
import { paint } from "./draw/paint.ts";
import { type Keys, isCharacter } from "./keys.ts";
import type { Live } from "./screen.ts";
import { widthOf } from "./wrap.ts";

/** A list to choose from, in the place of the editor. */
export interface Overlay {
  /** Handles a key. Returns true when the person has chosen something or left the list. */
  key(data: string): boolean;
  /** Leaves the list. */
  cancel(): void;
  lines(columns: number): Required<Live>;
}

/** An entry of a list. */
export interface Entry<T> {
  readonly label: string;
  readonly value: T;
}

/** The list that is open, if one is. */
export interface Lists {
  /** Opens a list in the place of another. Resolves to what was chosen; `undefined` when the person left it. */
  pick<T>(title: string, items: readonly Entry<T>[]): Promise<T | undefined>;
  current(): Overlay | undefined;
  /** Handles a key. Returns false if no list is open. */
  key(data: string): boolean;
  /** Leaves the list. */
  close(): void;
}

/** @param onOpen called when a list was opened */
export function createLists(keys: Keys, onOpen: () => void): Lists {
  let open: Overlay | undefined;
  const close = () => {
    const left = open;
    open = undefined;
    left?.cancel();
  };
  return {
    pick: (title, items) =>
      new Promise((resolve) => {
        close();
        open = pickList(title, items, keys, resolve);
        onOpen();
      }),
    current: () => open,
    key(data) {
      if (open === undefined) return false;
      if (open.key(data)) open = undefined;
      return true;
    },
    close,
  };
}

/** How many entries are shown at once. */
const SHOWN = 8;

/**
 * A list that is filtered by the typed text.
 *
 * @param title what is chosen; what is typed follows it
 * @param chosen called once, with `undefined` when the person leaves the list
 */
function pickList<T>(
  title: string,
  items: readonly Entry<T>[],
  keys: Keys,
  chosen: (value: T | undefined) => void,
): Overlay {
  let query = "";
  let selected = 0;
  const found = () => items.filter(({ label }) => label.toLowerCase().includes(query.toLowerCase()));
  const move = (by: number) => {
    selected = Math.max(0, Math.min(found().length - 1, selected + by));
    return false;
  };
  const close = (value: T | undefined) => {
    chosen(value);
    return true;
  };

  return {
    key(data) {
      if (keys.is(data, "stop") || keys.is(data, "interrupt")) return close(undefined);
      if (keys.is(data, "send") || keys.is(data, "complete")) return close(found()[selected]?.value);
      if (keys.is(data, "search") || keys.is(data, "down")) return move(1);
      if (keys.is(data, "up")) return move(-1);
      if (keys.is(data, "delete-left")) query = query.slice(0, -1);
      else if (isCharacter(data)) query += data;
      else return false;
      selected = 0;
      return false;
    },
    cancel: () => void close(undefined),
    lines(columns) {
      const rule = paint("dim", "─".repeat(columns));
      const head = oneLine(`${title} ${query}`, columns - 1);
      const first = Math.max(0, selected - SHOWN + 1);
      const list = found()
        .slice(first, first + SHOWN)
        .map(({ label }, index) => {
          const isSelected = first + index === selected;
          const line = `${isSelected ? "→" : " "} ${oneLine(label, columns - 4)}`;
          return `  ${isSelected ? paint("bold", line) : line}`;
        });
      const shown = list.length === 0 ? [paint("dim", "    (nothing found)")] : list;
      return { lines: [rule, head, ...shown, rule], cursor: { row: 1, column: widthOf(head) } };
    },
  };
}
