import type { Ref } from "preact";

interface KeyboardProps {
  readonly field: Ref<HTMLTextAreaElement>;
  /** Its name for screen readers. */
  readonly label: string;
  /** Whether keys and text are passed on. */
  readonly isOn: boolean;
  /** Returns the name of a key; `undefined` for text, which arrives as input. */
  readonly keyOf: (event: KeyboardEvent) => string | undefined;
  readonly onKey: (key: string) => void;
  readonly onText: (text: string) => void;
  /** Called when the person leaves the field: with Ctrl ], or in another way. */
  readonly onLeave?: () => void;
}

/** An unseen field that takes the keys of a person, also those of a phone and of an input method. */
export function Keyboard({ field, label, isOn, keyOf, onKey, onText, onLeave }: KeyboardProps) {
  const take = (area: HTMLTextAreaElement) => {
    if (isOn && area.value !== "") onText(area.value);
    area.value = "";
  };
  const pressed = (event: KeyboardEvent) => {
    if (!isOn) return;
    event.stopPropagation();
    if (event.isComposing || event.getModifierState("AltGraph")) return;
    const isLeft = event.ctrlKey && event.key === "]";
    const key = isLeft ? undefined : keyOf(event);
    if (!isLeft && key === undefined) return;
    event.preventDefault();
    if (isLeft) (event.currentTarget as HTMLElement).blur();
    if (key !== undefined) onKey(key);
  };
  return (
    <textarea
      {...{ ref: field, class: "keyboard", "aria-label": label, tabIndex: -1, rows: 1, spellcheck: false }}
      {...{ autocomplete: "off", autocapitalize: "off" }}
      onBlur={onLeave}
      onKeyDown={pressed}
      onInput={(event) => event.isComposing || take(event.currentTarget)}
      onCompositionEnd={({ currentTarget }) => take(currentTarget)}
    />
  );
}

interface ExtraKeysProps {
  /** Keys that a phone's keyboard lacks, with their names. */
  readonly keys: readonly (readonly [key: string, word: string])[];
  readonly isOn: boolean;
  readonly onKey: (key: string) => void;
}

/** Buttons for keys that a phone's keyboard lacks. The field keeps the focus. */
export function ExtraKeys({ keys, isOn, onKey }: ExtraKeysProps) {
  return (
    <div class="extra" role="group" aria-label="Keys">
      {keys.map(([key, word]) => (
        <button
          {...{ key, class: "btn", "aria-label": key, disabled: !isOn }}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onKey(key)}
        >
          {word}
        </button>
      ))}
    </div>
  );
}
