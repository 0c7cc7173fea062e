import { Type } from "typebox";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolOptions, defineTool } from "../contract/tool.ts";
import { countCharacters } from "../output/measure.ts";
import { truncateTail } from "../output/truncate.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { DELAY_ARGUMENTS, readDelay, waitFirst } from "./shared/delay.ts";

/** Seed 000's: characters, the tail kept. */
const LIMIT = { characters: 8_000 };

/** Shows what a pane of the live terminal shows (seed 000). Offered only where there is one. */
export const capturePane = (options: ToolOptions = {}) => {
  const limit = options.limit ?? LIMIT;
  return defineTool({
    name: "capture-pane",
    title: "Look at the terminal",
    description:
      "Show the screen of a tmux pane as a person sees it; of a long text the end. With a delay it waits first, to look again at a running command.",
    ...options,
    limit,
    keep: "tail",
    touches: ["terminal"],
    input: Type.Object(
      {
        target: Type.Optional(
          Type.String({
            minLength: 1,
            description: "Pane or session, as %3 (default: the pane where commands are typed)",
          }),
        ),
        start: line('First line: 0 is the top of the screen, -10 ten lines above it, "-" the beginning of the history'),
        end: line('Last line, "-" is the end of the screen'),
        join_wrapped_lines: flag("A line that was wrapped is one line (default: true)"),
        preserve_trailing_spaces: flag("Keep the spaces at the ends of lines (default: false)"),
        include_escape_sequences: flag("Colours and such as escape sequences (default: false)"),
        escape_non_printable: flag("What cannot be printed as octal numbers, \\033 (default: false)"),
        include_alternate_screen: flag("The alternate screen, that of full-screen programs (default: false)"),
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
      if (backend.terminal === undefined)
        throw new ToolFailure("there is no live terminal here: commands run without one");
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
      const whole = text.replace(/\n+$/, ""); // below the last line the screen is empty
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
      const after = no_alternate_screen ? ["[no alternate screen is active; this is the main one]"] : [];
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

/** Lines are told as numbers as well. */
function withTexts(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return raw;
  const asText = ([key, value]: [string, unknown]): [string, unknown] =>
    (key === "start" || key === "end") && typeof value === "number" ? [key, String(value)] : [key, value];
  return Object.fromEntries(Object.entries(raw).map(asText));
}
