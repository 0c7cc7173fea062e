import { isRecord } from "../../core/util/record.ts";

/** What people and models have written, in which null is a value. */
const KEPT: ReadonlySet<string> = new Set(["arguments", "content"]);

/** Parses a message of a client, which may begin with a byte order mark. @throws SyntaxError for what is not JSON. */
export function messageIn(text: string): unknown {
  return withoutAbsent(JSON.parse(text.replace(/^\uFEFF/, "")));
}

/**
 * Returns a client's message without nulls for what is absent, which JSON libraries of Go, Java and C# write: the SDK
 * refuses them. A result that is null is empty.
 */
function withoutAbsent(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const { id, method, result, error, ...rest } = message;
  const isNotification = typeof method === "string" && method.startsWith("notifications/");
  const hasResult = result !== undefined && (result !== null || error === undefined || error === null);
  return {
    ...(withoutNulls(rest) as object),
    ...(id !== undefined && !(id === null && isNotification) && { id }),
    ...(method !== undefined && { method }),
    ...(hasResult && { result: withoutNulls(result) ?? {} }),
    ...(error !== undefined && error !== null && { error }),
  };
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => {
      if (each === null) return [];
      return [[key, KEPT.has(key) ? each : withoutNulls(each)]];
    }),
  );
}

/** The id of a request, for an answer to it; null for what has none. */
export function idOf(message: unknown): string | number | null {
  const id = isRecord(message) ? message["id"] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
