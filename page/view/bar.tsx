import type { ComponentChildren } from "preact";
import { view } from "../state/route.ts";
import { Icon } from "./icons.tsx";

interface BarProps {
  readonly title: ComponentChildren;
  /** Buttons at its end. */
  readonly children?: ComponentChildren;
}

/** The bar at the top of a thread or a page. On a phone it leads back to the list of threads. */
export function Bar({ title, children }: BarProps) {
  return (
    <div class="bar flex">
      <button class="ib narrow" aria-label="All threads" onClick={() => (view.value = "threads")}>
        <Icon name="left" />
      </button>
      <div class="ttl">{title}</div>
      {children}
    </div>
  );
}
