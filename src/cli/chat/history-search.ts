import { oneLine } from "../../output/terminal-text.ts";
import { painted } from "./blocks.ts";
import type { Draft } from "./editor.ts";
import { type Keys, isCharacter } from "./keys.ts";
import type { Live } from "./screen.ts";
import { widthOf } from "./wrap.ts";

/** A search in the earlier messages, in the place of the editor. */
export interface HistorySearch {
  /** Handles a key. Returns the chosen message, "closed" when the person has left the search, otherwise `undefined`. */
  key(data: string): Draft | "closed" | undefined;
  lines(columns: number): Required<Live>;
}

/** How many messages are listed. */
const LISTED = 6;

/**
 * @param history newest first
 * @param shown returns the text of a message for people
 */
export function historySearch(history: readonly Draft[], shown: (draft: Draft) => string, keys: Keys): HistorySearch {
  let query = "";
  let selected = 0;
  const found = () => {
    const words = query.toLowerCase();
    const texts = new Map(history.map((draft) => [shown(draft), draft]));
    return [...texts].filter(([each]) => each.toLowerCase().includes(words)).slice(0, 100);
  };
  const move = (by: number) => void (selected = Math.max(0, Math.min(found().length - 1, selected + by)));

  return {
    key(data) {
      if (keys.is(data, "stop") || keys.is(data, "interrupt")) return "closed";
      if (keys.is(data, "send") || keys.is(data, "complete")) return found()[selected]?.[1] ?? "closed";
      if (keys.is(data, "search") || keys.is(data, "down")) return move(1);
      if (keys.is(data, "up")) return move(-1);
      if (keys.is(data, "delete-left")) query = query.slice(0, -1);
      else if (isCharacter(data)) query += data;
      else return undefined;
      selected = 0;
      return undefined;
    },
    lines(columns) {
      const rule = painted("dim", "─".repeat(columns));
      const head = oneLine(`search: ${query}`, columns - 1);
      const first = Math.max(0, selected - LISTED + 1);
      const list = found()
        .slice(first, first + LISTED)
        .map(([words], index) => {
          const line = `${first + index === selected ? "→" : " "} ${oneLine(words, columns - 4)}`;
          return `  ${first + index === selected ? painted("bold", line) : line}`;
        });
      const none = list.length === 0 ? [painted("dim", "    (no earlier message)")] : [];
      return { lines: [rule, head, ...list, ...none, rule], cursor: { row: 1, column: widthOf(head) } };
    },
  };
}
