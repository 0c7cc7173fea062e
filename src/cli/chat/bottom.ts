import { oneLine } from "../../core/output/terminal-text.ts";
import type { AnswerEditor } from "./answer-text.ts";
import { paint } from "./draw/paint.ts";
import type { MessageEditor } from "./editor.ts";
import type { Lists } from "./overlay.ts";
import type { Questions } from "./questions.ts";
import type { Queue } from "./queue.ts";
import type { Live } from "./screen.ts";
import type { TurnView } from "./turn-view.ts";

/** What the live part shows. */
export interface LiveParts {
  readonly view: TurnView;
  readonly queue: Queue;
  readonly questions: Questions;
  readonly answers: AnswerEditor;
  readonly lists: Lists;
  readonly editor: MessageEditor;
  /** Returns the last line. */
  readonly status: (columns: number) => string;
}

interface Size {
  readonly rows: number;
  readonly columns: number;
}

/** The most queued messages that are shown. */
const SHOWN_QUEUED = 4;

/** Draws the live part: the running calls, queued messages, the open question or the editor, and the status. */
export function drawLive(parts: LiveParts, size: Size): Live {
  const below = bottomOf(parts, size);
  const above = parts.view.lines(Math.max(2, Math.floor(size.rows / 2) - below.lines.length));
  return under(["", ...above, ...(above.length > 0 ? [""] : [])], below);
}

function bottomOf({ queue, questions, answers, lists, editor, status }: LiveParts, size: Size): Live {
  const above = [
    ...queueLines(queue, editor, size.columns),
    ...questionLines(questions, answers, size),
    ...answerLines(answers),
  ];
  const last = paint("dim", status(size.columns));
  if (questions.isFocused() && answers.current() === undefined) return { lines: [...above, last] };
  const { lines, cursor } = (lists.current() ?? editor).lines(size.columns);
  return under(above, { lines: [...lines, last], cursor });
}

/** Puts lines above others, and moves the cursor with these. */
function under(above: readonly string[], { lines, cursor }: Live): Live {
  const all = [...above, ...lines];
  return cursor === undefined ? { lines: all } : { lines: all, cursor: { ...cursor, row: cursor.row + above.length } };
}

function queueLines(queue: Queue, editor: MessageEditor, columns: number): readonly string[] {
  const all = queue.all();
  const lines = all.slice(-SHOWN_QUEUED).map(({ draft, when }, index, shown) => {
    const hint = index === shown.length - 1 ? "  ↑ edit · Enter now" : "";
    const word = when === "steer" ? "queued" : "after the turn";
    const room = columns - hint.length - 2;
    const line = oneLine(`${word}: ${editor.shown(draft)}`, room - 2).padEnd(room - 2);
    return paint("dim", `  ${line}${hint}`.trimEnd());
  });
  const left = all.length - lines.length;
  return left > 0 ? [paint("dim", `  … ${left} more`), ...lines] : lines;
}

function questionLines(questions: Questions, answers: AnswerEditor, size: Size): readonly string[] {
  const question = questions.current();
  if (question === undefined) return [];
  const { box } = question.draw(size, questions.waiting());
  const needsHint = answers.current() === undefined && !questions.isFocused();
  return needsHint ? [...box, paint("dim", " Tab answers the question")] : box;
}

function answerLines(answers: AnswerEditor): readonly string[] {
  const answer = answers.current();
  if (answer === undefined) return [];
  const words = answer.how === "refuse" ? "A reason, if you like; Enter refuses" : "Enter approves the call as edited";
  return [paint("dim", ` ${words} · Esc back`)];
}
