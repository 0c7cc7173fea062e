import type { JSX } from "preact";

/** Drawn on a 16 × 16 grid. Each icon is next to a word, or in a button with a name. */
const SHAPES = {
  check: <path d="m3.5 8.5 3 3 6-7" />,
  fail: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="m5.9 5.9 4.2 4.2m0-4.2-4.2 4.2" />
    </>
  ),
  ask: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="M6.3 6.4a1.75 1.75 0 1 1 2.6 1.5c-.6.35-.9.7-.9 1.3" />
      <path d="M8 11.3v.01" stroke-width="1.8" />
    </>
  ),
  run: (
    <>
      <circle cx="8" cy="8" r="6.25" opacity=".25" />
      <path d="M8 1.75A6.25 6.25 0 0 1 14.25 8" />
    </>
  ),
  deny: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="m3.7 12.3 8.6-8.6" />
    </>
  ),
  stop: <rect x="3.25" y="3.25" width="9.5" height="9.5" rx="1.5" />,
  cut: <path d="M1.75 8h3.5M10.75 8h3.5M6.5 11.5l3-7" />,
  branch: (
    <>
      <circle cx="4.5" cy="3.5" r="1.75" />
      <circle cx="4.5" cy="12.5" r="1.75" />
      <circle cx="11.5" cy="6" r="1.75" />
      <path d="M4.5 5.25v5.5M11.5 7.75c0 2-3 2.2-5.6 3.4" />
    </>
  ),
  chevron: <path d="M6 3.5 10.5 8 6 12.5" />,
  left: <path d="M10 3.5 5.5 8l4.5 4.5" />,
  right: <path d="M6 3.5 10.5 8 6 12.5" />,
  up: <path d="M3.5 10 8 5.5 12.5 10" />,
  down: <path d="M3.5 6 8 10.5 12.5 6" />,
  plus: <path d="M8 3.25v9.5M3.25 8h9.5" />,
  find: (
    <>
      <circle cx="7" cy="7" r="4.25" />
      <path d="m10.25 10.25 3 3" />
    </>
  ),
  low: (
    <>
      <path d="M3.5 12.5v-2" stroke-width="2.4" />
      <path d="M8 12.5v-5M12.5 12.5v-9" stroke-width="2.4" opacity=".25" />
    </>
  ),
  medium: (
    <>
      <path d="M3.5 12.5v-2M8 12.5v-5" stroke-width="2.4" />
      <path d="M12.5 12.5v-9" stroke-width="2.4" opacity=".25" />
    </>
  ),
  high: <path d="M3.5 12.5v-2M8 12.5v-5M12.5 12.5v-9" stroke-width="2.4" />,
  list: <path d="M2.75 4h10.5M2.75 8h10.5M2.75 12h6.5" />,
  talk: <path d="M2.5 3.5h11v7.5H7.5L4.5 13.5V11h-2z" />,
  job: (
    <>
      <path d="M2.5 3.5h11v9h-11zM2.5 6.25h11" />
      <path d="M5 9.5h3.5" />
    </>
  ),
  terminal: <path d="m3 4.5 3.5 3.5L3 11.5M8 12h5" />,
  side: (
    <>
      <rect x="2.25" y="3" width="11.5" height="10" rx="1.5" />
      <path d="M10 3v10" />
    </>
  ),
  close: <path d="m4 4 8 8m0-8-8 8" />,
  rail: <path d="M1.5 11.5 6 6.5h8.5M4 9v4.5M11 6.5v7" />,
} as const satisfies { readonly [name: string]: JSX.Element };

export type IconName = keyof typeof SHAPES;

/** An icon without an accessible name. @param class additional classes, such as "spin" */
export function Icon({ name, class: more = "" }: { readonly name: IconName; readonly class?: string }) {
  return (
    <svg class={`i ${more}`} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
}
