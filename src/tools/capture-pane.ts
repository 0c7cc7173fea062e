import { Type } from "typebox";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolOptions, defineTool } from "../core/contract/tool.ts";
import { countCharacters } from "../core/output/measure.ts";
import { truncateTail } from "../core/output/truncate.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { DELAY_ARGUMENTS, readDelay, waitFirst } from "./shared/delay.ts";

/** About four screens of 80 columns and 24 lines. */
const LIMIT = { characters: 8_000 };

/** Shows the content of a pane. Offered only with a live terminal. */
export const capturePane = (options: ToolOptions = {}) => {
  const limit = options.limit ?? LIMIT;
  return defineTool({
    name: "capture-pane",
    title: "Show terminal",
    description:
      "Show the screen of a tmux pane as a person sees it; a long text is cut at the beginning. " +
      "With a delay it waits first: use that to poll a running command.",
    ...options,
    limit,
    keep: "tail",
    touches: ["terminal"],
    input: Type.Object(
      {
        target: Type.Optional(
          Type.String({
            minLength: 1,
            description: "Pane or session, such as %3 (default: the pane where commands run)",
          }),
        ),
        start: line('First line: 0 is the top of the screen, -10 ten lines above it, "-" the beginning of the history'),
        end: line('Last line; "-" is the end of the screen'),
        join_wrapped_lines: flag("Join wrapped lines (default: true)"),
        preserve_trailing_spaces: flag("Keep trailing spaces (default: false)"),
        include_escape_sequences: flag("Include escape sequences, such as colours (default: false)"),
        escape_non_printable: flag("Show non-printable characters as octal numbers, \\033 (default: false)"),
        include_alternate_screen: flag("Show the alternate screen, which full-screen programs use (default: false)"),
        ...DELAY_ARGUMENTS,
      },
      { additionalProperties: false },
    ),
    mend: (raw) => withTexts(renameKeys(raw === "" ? {} : raw, SPELLINGS)),
    effects: (input) => {
      if (typeof readDelay(input) === "object") return [];
      return [{ kind: "terminal", ...(input.target !== undefined && { pane: input.target }) }];
    },
    async run(input, { backend, signal, mask }) {
      await waitFirst(input, signal);
      if (backend.terminal === undefined) throw new ToolFailure("this target has no live terminal (tmux)");
      const {
        target,
        start,
        end,
        preserve_trailing_spaces: trailing = false,
        include_alternate_screen = false,
      } = input;
      const { pane, text, noAlternateScreen } = await backend.terminal.capture({
        ...(target !== undefined && { target }),
        ...(start !== undefined && { start }),
        ...(end !== undefined && { end }),
        joinWrappedLines: input.join_wrapped_lines ?? true,
        preserveTrailingSpaces: trailing,
        includeEscapeSequences: input.include_escape_sequences ?? false,
        escapeNonPrintable: input.escape_non_printable ?? false,
        includeAlternateScreen: include_alternate_screen,
      });
      const whole = text.replace(/\n+$/, ""); // the screen is empty below the last line
      const shown = truncateTail(whole, limit, mask);
      return {
        pane,
        text: shown.text,
        left_out: shown.truncated === false ? 0 : countCharacters(whole) - countCharacters(shown.text),
        no_alternate_screen: noAlternateScreen,
      };
    },
    render({ pane, text, left_out, no_alternate_screen }) {
      const before = left_out === 0 ? [] : [`[truncated ${left_out} chars from start]`];
      const after = no_alternate_screen ? ["[no alternate screen is active; this is the main screen]"] : [];
      return [...before, text === "" ? `(pane ${pane} is empty)` : text, ...after].join("\n");
    },
  });
};

const SPELLINGS: { readonly [spelling: string]: string } = {
  pane: "target",
  t: "target",
  start_line: "start",
  end_line: "end",
};

function line(description: string) {
  return Type.Optional(Type.String({ pattern: "^(-|-?\\d+)$", description }));
}

function flag(description: string) {
  return Type.Optional(Type.Boolean({ description }));
}

/** Converts line numbers to text. */
function withTexts(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return raw;
  const asText = ([key, value]: [string, unknown]): [string, unknown] =>
    (key === "start" || key === "end") && typeof value === "number" ? [key, String(value)] : [key, value];
  return Object.fromEntries(Object.entries(raw).map(asText));
}
