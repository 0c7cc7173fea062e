import { AsyncLocalStorage } from "node:async_hooks";
import { type Attributes, type Context, type HrTime, ROOT_CONTEXT, context, trace } from "@opentelemetry/api";
import { BasicTracerProvider, BatchSpanProcessor, type ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { messageOf } from "../core/util/errors.ts";

/** How long one request to the collector may take. Milliseconds: the end of the program waits for the last one. */
const EXPORT_MS = 2_000;

/** The spans of this process are being sent to a collector. */
export interface Tracing {
  /** Sends the last spans. Resolves to why some could not be sent, if so. Never rejects. */
  end(): Promise<string | undefined>;
}

/**
 * Records the spans of this process, and sends them by OTLP over HTTP in JSON
 * (https://opentelemetry.io/docs/specs/otlp/). Headers for the collector are in OTEL_EXPORTER_OTLP_HEADERS
 * (`key=value,key=value`), the name of the service in OTEL_SERVICE_NAME; default "handrail".
 *
 * @param url the base address of the collector, such as http://localhost:4318; a path names the whole address instead
 */
export function startTracing(url: string, env: NodeJS.ProcessEnv): Tracing {
  const address = new URL(url);
  if (address.pathname === "/") address.pathname = "/v1/traces";
  const headers = { ...headersOf(env["OTEL_EXPORTER_OTLP_HEADERS"] ?? ""), "content-type": "application/json" };
  const service = env["OTEL_SERVICE_NAME"] ?? "handrail";
  let problem: string | undefined;

  const send = async (spans: ReadableSpan[]): Promise<void> => {
    const body = JSON.stringify(requestOf(spans, service));
    const signal = AbortSignal.timeout(EXPORT_MS);
    const answer = await fetch(address, { method: "POST", headers, body, signal, redirect: "error" });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`the collector answered ${answer.status}`);
  };
  /** Reports success in any case: a failure is told once, at the end. */
  const exportSpans = async (spans: ReadableSpan[], done: (result: { readonly code: 0 }) => void): Promise<void> => {
    try {
      await send(spans);
    } catch (error) {
      problem ??= `traces could not be sent to ${address.origin}: ${messageOf(error)}`;
    }
    done({ code: 0 });
  };
  const exporter = {
    export: (spans: ReadableSpan[], done: (result: { readonly code: 0 }) => void) => void exportSpans(spans, done),
    shutdown: async () => {},
  };
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(contextManager());
  return {
    async end() {
      await provider.shutdown().catch(() => {});
      return problem;
    },
  };
}

/** Keeps the active span across awaits. */
function contextManager() {
  const storage = new AsyncLocalStorage<Context>();
  const manager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: <A extends unknown[], F extends (...given: A) => ReturnType<F>>(
      now: Context,
      work: F,
      self?: ThisParameterType<F>,
      ...given: A
    ): ReturnType<F> => storage.run(now, () => Reflect.apply(work, self, given)),
    bind: <T>(_: Context, target: T): T => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

function headersOf(text: string): { readonly [name: string]: string } {
  const pairs = text.split(",").map((pair) => pair.split("="));
  return Object.fromEntries(
    pairs.flatMap(([name = "", ...value]) =>
      name.trim() === "" ? [] : [[name.trim(), decodeURIComponent(value.join("=").trim())]],
    ),
  );
}

/** ExportTraceServiceRequest in the JSON of protocol buffers: ids in hexadecimal, 64-bit numbers as text. */
function requestOf(spans: readonly ReadableSpan[], service: string): object {
  const resource = { "service.name": service, "service.version": __VERSION__, "process.pid": process.pid };
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "handrail", version: __VERSION__ }, spans: spans.map(spanOf) }],
      },
    ],
  };
}

function spanOf(span: ReadableSpan): object {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    ...{ traceId, spanId, flags: traceFlags, parentSpanId: span.parentSpanContext?.spanId ?? "" },
    ...{ name: span.name, kind: span.kind + 1, attributes: attributesOf(span.attributes) },
    ...{ startTimeUnixNano: nanoseconds(span.startTime), endTimeUnixNano: nanoseconds(span.endTime) },
    status: { code: span.status.code },
  };
}

const nanoseconds = ([seconds, nanos]: HrTime) => String(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));

function attributesOf(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: Attributes[string]): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map((each) => valueOf(each ?? "")) } };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return { stringValue: String(value) };
}
