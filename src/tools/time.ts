import { Type } from "typebox";
import { type ToolOptions, defineTool } from "../core/contract/tool.ts";

/** Returns the time of this machine, whatever the backend. */
export const time = ({ now = nanoseconds, ...options }: ToolOptions & { now?: () => bigint } = {}) =>
  defineTool({
    name: "time",
    title: "Current time",
    description: "The current time (UTC), in one of several formats.",
    ...options,
    input: Type.Object(
      {
        format: Type.Optional(
          Type.Union(
            FORMATS.map((format) => Type.Literal(format)),
            { description: "Default: epoch (seconds since 1970)" },
          ),
        ),
      },
      { additionalProperties: false },
    ),
    run: async ({ format = "epoch" }) => FORMAT[format as Format](now()),
  });

const FORMATS = ["epoch", "epoch_ms", "epoch_ns", "iso", "rfc2822", "date", "time"] as const;
type Format = (typeof FORMATS)[number];

const FORMAT: { readonly [F in Format]: (nanoseconds: bigint) => string } = {
  epoch: (now) => String(now / 1_000_000_000n),
  epoch_ms: (now) => String(now / 1_000_000n),
  epoch_ns: String,
  iso: (now) => dateOf(now).toISOString(),
  rfc2822: (now) => dateOf(now).toUTCString().replace("GMT", "+0000"),
  date: (now) => dateOf(now).toISOString().slice(0, 10),
  time: (now) => dateOf(now).toISOString().slice(11, 19),
};

function dateOf(now: bigint): Date {
  return new Date(Number(now / 1_000_000n));
}

/**
 * Nanoseconds since 1970. Digits below a millisecond come from the monotonic clock while it agrees with the wall clock.
 */
function nanoseconds(): bigint {
  const wall = Date.now();
  const fine = performance.timeOrigin + performance.now();
  const agree = Math.abs(fine - wall) < 2; // not after the wall clock was set
  return BigInt(Math.round((agree ? fine : wall) * 1_000)) * 1_000n;
}
