import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Icon } from "./icons.tsx";

interface SearchFieldProps {
  /** Its name and placeholder, such as "Search tools". */
  readonly label: string;
  /** What was typed. */
  readonly text: Signal<string>;
  readonly id?: string;
  readonly maxLength?: number;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly children?: ComponentChildren;
}

/** A field for a search text. */
export function SearchField({ label, text, children, ...more }: SearchFieldProps) {
  return (
    <label class="find flex">
      <Icon name="find" />
      <span class="vh">{label}</span>
      <input
        type="search"
        placeholder={label}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => key === "Escape" && text.value === "" && currentTarget.blur()}
        {...more}
      />
      {children}
    </label>
  );
}
