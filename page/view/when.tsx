import { now } from "../state/model.ts";
import { ago, exact } from "../text/times.ts";

/** A short time. The exact time is in its tooltip and for screen readers. */
export function When({ ms, text }: { readonly ms: number; readonly text: string }) {
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact(ms)}>
      {text}
    </time>
  );
}

/** A past moment, in short: "5m", "14:02", "Tue". */
export function Ago({ ms }: { readonly ms: number }) {
  return <When ms={ms} text={ago(ms, now.value)} />;
}
