import { Type } from "typebox";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolOptions, defineTool } from "../contract/tool.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { DELAY_ARGUMENTS, readDelay, waitFirst } from "./shared/delay.ts";

/** Types into a pane of the live terminal (seed 000). Offered only where there is one. */
export const sendKeys = (options: ToolOptions = {}) =>
  defineTool({
    name: "send-keys",
    title: "Type into the terminal",
    description:
      'Type into a tmux pane: literal_text first, then keys, then Enter if asked for. To answer a prompt, drive a full-screen program, or stop what runs (keys: ["C-c"]). ' +
      "Commands are better run by the tool for commands, which returns what they write.",
    aliases: ["send_keys"],
    ...options,
    paramsHint: "keys, literal_text, enter, target, delay",
    touches: ["terminal"],
    input: Type.Object(
      {
        target: Type.Optional(
          Type.String({
            minLength: 1,
            description: "Pane or session, as %3 (default: the pane where commands are typed)",
          }),
        ),
        keys: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 32 }), {
            maxItems: 256,
            description: 'Keys by their names: "C-c", "Enter", "Up", "Escape", "F5"',
          }),
        ),
        literal_text: Type.Optional(Type.String({ description: "Typed letter by letter, before the keys" })),
        enter: Type.Optional(Type.Boolean({ description: "Press Enter at the end (default: false)" })),
        ...DELAY_ARGUMENTS,
      },
      { additionalProperties: false },
    ),
    mend: (raw) => withList(renameKeys(raw, { text: "literal_text", key: "keys", pane: "target" })),
    effects: (input) => {
      const { text, keys } = typedBy(input);
      if (text === undefined && keys.length === 0) return [];
      if (typeof readDelay(input) === "object") return [];
      const { target } = input;
      return [
        {
          kind: "terminal",
          ...(target !== undefined && { pane: target }),
          ...(text !== undefined && { types: text }),
          ...(keys.length > 0 && { keys }),
        },
      ];
    },
    async run(input, { backend, signal }) {
      const { text, keys } = typedBy(input);
      if (text === undefined && keys.length === 0) {
        throw new ToolFailure("send-keys requires at least one of: keys, literal_text, or enter=true");
      }
      await waitFirst(input, signal);
      if (backend.terminal === undefined)
        throw new ToolFailure("there is no live terminal here: commands run without one");
      const { target } = input;
      return backend.terminal.sendKeys({
        ...(target !== undefined && { target }),
        ...(text !== undefined && { text }),
        keys,
      });
    },
    render: ({ pane }) => `sent keys to tmux pane ${pane}`,
  });

/** What is typed in the end: Enter is a key like any other. */
function typedBy({
  literal_text = "",
  keys = [],
  enter = false,
}: {
  readonly literal_text?: string;
  readonly keys?: readonly string[];
  readonly enter?: boolean;
}) {
  return { text: literal_text === "" ? undefined : literal_text, keys: enter ? [...keys, "Enter"] : keys };
}

/** One key as it is, where a list of them is expected. */
function withList(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("keys" in raw) || typeof raw.keys !== "string") return raw;
  return { ...raw, keys: [raw.keys] };
}
