import { Type } from "typebox";
import type { Terminal } from "../core/contract/backend.ts";
import type { Effect } from "../core/contract/effect.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolOptions, defineTool, withToolNames } from "../core/contract/tool.ts";
import { pause } from "../core/util/abort.ts";
import { isCharacter, strokesOfKey, strokesOfText } from "../core/util/keys.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { DELAY_ARGUMENTS, readDelay, waitFirst } from "./shared/delay.ts";
import { inTurn } from "./shared/in-turn.ts";
import { type TypedPart, typedParts } from "./shared/typed-parts.ts";

/** The effect of a key is complete when two captures of the pane, this long apart, are equal. Milliseconds. */
const LOOK_MS = 30;
/** The maximum number of captures, because another program may be writing to the pane all the time. */
const MOST_LOOKS = 10;

/** Types into a pane. Offered only with a live terminal. */
export const sendKeys = (options: ToolOptions = {}) => {
  const unseen = unseenKeys();
  return withToolNames((names) =>
    defineTool({
      name: "send-keys",
      title: "Type into terminal",
      description:
        "Type into a tmux pane: literal_text first, then keys, then Enter if enter is set. Use it to answer a " +
        'prompt, to control a full-screen program, or to stop a command (keys: ["C-c"]).' +
        commandText(names("bash")),
      ...options,
      touches: ["terminal"],
      input: Type.Object(
        {
          target: Type.Optional(
            Type.String({
              minLength: 1,
              description: "Pane or session, such as %3 (default: the pane where commands run)",
            }),
          ),
          keys: Type.Optional(
            Type.Array(Type.String({ minLength: 1, maxLength: 32 }), {
              maxItems: 256,
              description: 'Names of keys: "C-c", "Enter", "Up", "Escape", "F5"',
            }),
          ),
          literal_text: Type.Optional(Type.String({ description: "Text to type, before the keys" })),
          enter: Type.Optional(Type.Boolean({ description: "Press Enter at the end (default: false)" })),
          ...DELAY_ARGUMENTS,
        },
        { additionalProperties: false },
      ),
      mend: (raw) => withList(renameKeys(raw, { text: "literal_text", key: "keys", pane: "target" })),
      // After a delay, and after unseen keys, the policy judges by what the pane shows then (`permit` below).
      effects: (input) => {
        const typed = typedBy(input);
        const [first] = typed.problem === undefined ? typed.parts : [];
        return first === undefined || readDelay(input) !== 0 ? [] : [effectOf(first, input)];
      },
      async run(input, { backend: { terminal }, signal, permit }) {
        const { parts, problem } = typedBy(input);
        if (problem !== undefined) throw problem;
        await waitFirst(input, signal);
        if (terminal === undefined) throw new ToolFailure("this target has no live terminal (tmux)");
        const where = input.target === undefined ? {} : { target: input.target };
        let pane = "";
        const typeOut = async ({ text, keys, isUnseen }: TypedPart) => {
          ({ pane } = await terminal.sendKeys({ ...where, ...(text !== "" && { text }), keys }));
          if (isUnseen) await showPane(terminal, where, signal);
        };
        /** Types nothing and returns false when another call has typed unseen keys since this part was judged. */
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

/** The longest time between judging a call and running it when no person is asked, in milliseconds. */
const RECENT_MS = 1_000;

/**
 * Counts when any call begins to type unseen keys, and when their effect is on the screen. A part that was judged
 * before such a change must be judged again, since the screen has changed.
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

/** The parts to type, with `enter` as a key; or the problem with them. */
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
    return new ToolFailure(`literal_text contains a control character, the key ${control}`, {
      hint: `Put it into keys: ["${control}"]. Keys are typed after the text.`,
    });
  }
  const unknown = keys.find((key) => strokesOfKey(key) === undefined);
  if (unknown === undefined) return undefined;
  return new ToolFailure(`tmux has no key ${JSON.stringify(unknown)}`, {
    hint: "Use names such as C-c, Enter, Escape, Up, F5, M-x, or one character. Put text into literal_text.",
  });
}

/** Control characters that are allowed in text. */
const IN_TEXT: ReadonlySet<string> = new Set(["Enter", "Tab"]);

function effectOf({ text, keys }: TypedPart, { target }: Typed): Effect {
  return {
    kind: "terminal",
    ...(target !== undefined && { pane: target }),
    ...(text !== "" && { types: text }),
    ...(keys.length > 0 && { keys }),
  };
}

/** Waits until the pane shows the effect of the keys. */
async function showPane(terminal: Terminal, where: { readonly target?: string }, signal: AbortSignal): Promise<void> {
  let before: string | undefined;
  for (let look = 0; look < MOST_LOOKS && !signal.aborted; look++) {
    await pause(LOOK_MS, signal);
    const { text } = await terminal.capture(where);
    if (text === before) return;
    before = text;
  }
}

/** Wraps a single key in a list. */
function withList(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("keys" in raw) || typeof raw.keys !== "string") return raw;
  return { ...raw, keys: [raw.keys] };
}
