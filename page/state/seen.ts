import { type Inputs, useEffect } from "preact/hooks";

/**
 * Calls `start` whenever the element comes into view while the tab is in the foreground, and the function that `start`
 * returned when either ends. Without `start`, does nothing. Begins anew when `inputs` change.
 */
export function useWhileSeen(
  box: { readonly current: Element | null },
  start: (() => () => void) | undefined,
  inputs: Inputs,
): void {
  useEffect(() => {
    if (start === undefined || box.current === null) return;
    let isSeen = false;
    let stop: (() => void) | undefined;
    const look = () => {
      const watches = isSeen && !document.hidden;
      if (watches) stop ??= start();
      else {
        stop?.();
        stop = undefined;
      }
    };
    const observer = new IntersectionObserver(([entry]) => {
      isSeen = entry?.isIntersecting === true;
      look();
    });
    observer.observe(box.current);
    document.addEventListener("visibilitychange", look);
    return () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", look);
      stop?.();
    };
  }, inputs);
}
