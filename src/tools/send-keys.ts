import { Type } from "typebox";
import type { Terminal } from "../contract/backend.ts";
import type { Effect } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolOptions, defineTool, withToolNames } from "../contract/tool.ts";
import { pause } from "../util/abort.ts";
import { isCharacter, strokesOfKey, strokesOfText } from "../util/keys.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { DELAY_ARGUMENTS, readDelay, waitFirst } from "./shared/delay.ts";
import { inTurn } from "./shared/in-turn.ts";
import { type TypedPart, typedParts } from "./shared/typed-parts.ts";

/** What a key has brought is seen when the pane shows the same twice, so long apart. */
const LOOK_MS = 30;
/** Something else may be writing there. */
const MOST_LOOKS = 10;

/** Types into a pane of the live terminal (seed 000). Offered only where there is one. */
export const sendKeys = (options: ToolOptions = {}) => {
  const unseen = unseenKeys();
  return withToolNames((names) =>
    defineTool({
      name: "send-keys",
      title: "Type into the terminal",
      description:
        'Type into a tmux pane: literal_text first, then keys, then Enter if asked for. To answer a prompt, use a full-screen program, or stop a command (keys: ["C-c"]).' +
        commandText(names("bash")),
      ...options,
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
      // What is typed later is judged then, by what the pane shows then.
      effects: (input) => {
        const typed = typedBy(input);
        const [first] = typed.problem === undefined ? typed.parts : [];
        return first === undefined || readDelay(input) !== 0 ? [] : [effectOf(first, input)];
      },
      async run(input, { backend: { terminal }, signal, permit }) {
        const { parts, problem } = typedBy(input);
        if (problem !== undefined) throw problem;
        await waitFirst(input, signal);
        if (terminal === undefined) throw new ToolFailure("there is no live terminal here: commands run without one");
        const where = input.target === undefined ? {} : { target: input.target };
        let pane = "";
        const typeOut = async ({ text, keys, isUnseen }: TypedPart) => {
          ({ pane } = await terminal.sendKeys({ ...where, ...(text !== "" && { text }), keys }));
          if (isUnseen) await shown(terminal, where, signal);
        };
        /** False, and nothing is typed, when others have brought something unseen since it was judged. */
        const type = (part: TypedPart, judgedAt: number): Promise<boolean> =>
          inTurn(unseen, signal, async () => {
            if (unseen.count() !== judgedAt) return false;
            await (part.isUnseen ? unseen.during(() => typeOut(part)) : typeOut(part));
            return true;
          });
        let isJudged = readDelay(input) === 0 && !unseen.isRecent();
        for (const part of parts) {
          for (let isTyped = false; !isTyped; isJudged = false) {
            const judgedAt = unseen.count();
            if (!isJudged) await permit(effectOf(part, input));
            isTyped = await type(part, judgedAt);
          }
        }
        return { pane };
      },
      render: ({ pane }) => `sent keys to tmux pane ${pane}`,
    }),
  );
};

function commandText(bash: string | undefined): string {
  return bash === undefined ? "" : ` To run a command use ${bash}, which returns its output.`;
}

/** A call is judged so long before it runs at most, when nobody is asked. Milliseconds. */
const RECENT_MS = 1_000;

/**
 * Counts when keys, of all calls, that bring what only the screen shows begin to be typed, and when that is shown. What was judged before must be judged again: it was
 * by a screen that is no longer there.
 */
function unseenKeys() {
  let count = 0;
  let shownMs = Number.NEGATIVE_INFINITY;
  return {
    count: () => count,
    isRecent: () => performance.now() - shownMs < RECENT_MS,
    async during(type: () => Promise<void>): Promise<void> {
      count++;
      try {
        await type();
      } finally {
        count++;
        shownMs = performance.now();
      }
    },
  };
}

interface Typed {
  readonly literal_text?: string;
  readonly keys?: readonly string[];
  readonly enter?: boolean;
  readonly target?: string;
}

/** What is typed in the end: Enter is a key like any other. */
function typedBy({ literal_text = "", keys = [], enter = false }: Typed) {
  const all = enter ? [...keys, "Enter"] : keys;
  return { problem: problemOf(literal_text, all), parts: typedParts(literal_text, all) };
}

function problemOf(text: string, keys: readonly string[]): ToolFailure | undefined {
  if (text === "" && keys.length === 0) {
    return new ToolFailure("send-keys requires at least one of: keys, literal_text, or enter=true");
  }
  const control = strokesOfText(text).find((stroke) => !isCharacter(stroke) && !IN_TEXT.has(stroke));
  if (control !== undefined) {
    return new ToolFailure(`literal_text is text, but it contains a control character: the key ${control}`, {
      hint: `Give it in keys: ["${control}"]. Keys are typed after the text.`,
    });
  }
  const unknown = keys.find((key) => strokesOfKey(key) === undefined);
  if (unknown === undefined) return undefined;
  return new ToolFailure(`tmux knows no key ${JSON.stringify(unknown)}`, {
    hint: "Keys are named as C-c, Enter, Escape, Up, F5, M-x, or are one character. Text is typed as text.",
  });
}

/** Strokes that are a part of text. */
const IN_TEXT: ReadonlySet<string> = new Set(["Enter", "Tab"]);

function effectOf({ text, keys }: TypedPart, { target }: Typed): Effect {
  return {
    kind: "terminal",
    ...(target !== undefined && { pane: target }),
    ...(text !== "" && { types: text }),
    ...(keys.length > 0 && { keys }),
  };
}

/** Waits until the pane shows what the keys have brought. */
async function shown(terminal: Terminal, where: { readonly target?: string }, signal: AbortSignal): Promise<void> {
  let before: string | undefined;
  for (let look = 0; look < MOST_LOOKS && !signal.aborted; look++) {
    await pause(LOOK_MS, signal);
    const { text } = await terminal.capture(where);
    if (text === before) return;
    before = text;
  }
}

/** One key as it is, where a list of them is expected. */
function withList(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("keys" in raw) || typeof raw.keys !== "string") return raw;
  return { ...raw, keys: [raw.keys] };
}
