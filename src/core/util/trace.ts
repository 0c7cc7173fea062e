import {
  type Attributes,
  type Context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  context,
  trace,
} from "@opentelemetry/api";

/** A span that was begun; spans of the work that it covers are below it. */
export interface Traced {
  /** Its context as W3C `traceparent`. `undefined` when nothing is traced. */
  readonly traceparent: string | undefined;
  /** Runs work below the span. */
  within<T>(work: () => T): T;
  set(attributes: Attributes): void;
  /** Ends the span. With `error`, a short name of its kind, the span counts as failed. */
  end(error?: string): void;
}

const OFF: Traced = { traceparent: undefined, within: (work) => work(), set: () => {}, end: () => {} };

export interface SpanOptions {
  /** "client": a request to another system. Default: work of this process. */
  readonly kind?: "client";
  /** The `traceparent` of the span above, from outside. Default, and if it is not valid: the active span. */
  readonly above?: string | undefined;
  readonly attributes: Attributes;
}

/**
 * Begins a span, for whichever OpenTelemetry SDK the program has installed. Without one this costs nothing.
 *
 * @param options returns the options; called only when spans are recorded
 */
export function beginSpan(name: string, options: () => SpanOptions): Traced {
  if (!isTraced()) return OFF;
  const { kind, above, attributes } = options();
  const around = contextOf(above) ?? context.active();
  const how = { kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes };
  const span = trace.getTracer("handrail", __VERSION__).startSpan(name, how, around);
  const inside = trace.setSpan(around, span);
  return {
    traceparent: traceparentOf(span),
    within: (work) => context.with(inside, work),
    set: (more) => void span.setAttributes(more),
    end(error) {
      if (error !== undefined) span.setAttribute("error.type", error).setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** The `traceparent` of the active span; `undefined` when nothing is traced. */
export function activeTraceparent(): string | undefined {
  const span = isTraced() ? trace.getActiveSpan() : undefined;
  return span && traceparentOf(span);
}

/** The provider of the API while no SDK is installed. */
const NO_SDK = new ProxyTracerProvider().getDelegate();

/** Whether the program has installed an SDK. */
export function isTraced(): boolean {
  const provider = trace.getTracerProvider();
  return "getDelegate" in provider && (provider as ProxyTracerProvider).getDelegate() !== NO_SDK;
}

// Written here, since the API has no propagator of its own. https://www.w3.org/TR/trace-context/#traceparent-header
function traceparentOf(span: Span): string | undefined {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return trace.isSpanContextValid(span.spanContext())
    ? `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`
    : undefined;
}

function contextOf(traceparent: string | undefined): Context | undefined {
  const [, traceId = "", spanId = "", flags = "0"] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/.exec(traceparent ?? "") ?? [];
  const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return trace.isSpanContextValid(remote) ? trace.setSpanContext(ROOT_CONTEXT, remote) : undefined;
}
