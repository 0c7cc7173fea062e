import { exact } from "../text/times.ts";

/** A short time. The exact time is in its tooltip and for screen readers. */
export function When({ ms, text }: { readonly ms: number; readonly text: string }) {
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact(ms)}>
      {text}
    </time>
  );
}
