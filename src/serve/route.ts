import { type Static, type TObject, type TSchema, Type } from "typebox";
import { validate } from "../core/call/validate.ts";
import { type Caller, type Peer, userOf } from "./access.ts";
import { Problem } from "./problem.ts";
import { type Scope, whyNotBy } from "./users.ts";

/** A request, as a route gets it. */
export interface Asked<Query, Body> {
  /** The parts of the path in braces, by name. */
  readonly path: { readonly [name: string]: string };
  readonly query: Query;
  readonly body: Body;
  readonly headers: Headers;
  /** The body as it is, of a route without a schema of it. Rejects with a `Problem` when it is too large. */
  bytes(): Promise<Uint8Array>;
  readonly caller: Caller;
  readonly peer: Peer;
  /** Fires when the client disconnects, or its session ends. */
  readonly signal: AbortSignal;
}

/** The answer of a route when it succeeds. */
export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** The schema of a JSON answer. */
  readonly schema?: TSchema;
  /** When there is nothing to answer: the response is empty, with the status 204. */
  readonly empty?: string;
  /** Media types of responses that the route makes itself. */
  readonly types?: readonly string[];
}

/** The schema of an object, as TypeBox makes it. */
interface ObjectSchema extends TSchema {
  readonly properties: { readonly [name: string]: TSchema };
  readonly required?: readonly string[] | undefined;
}

/**
 * One operation of the API. The same value routes requests, validates them and describes them in the OpenAPI document.
 */
export interface Route<Query = unknown, Body = unknown> {
  readonly method: "GET" | "POST";
  /** In OpenAPI notation: "/api/threads/{thread}/calls". */
  readonly path: string;
  readonly summary: string;
  /**
   * What authorizes a request besides the token and the secret of a session. "signature": the route itself checks who
   * signed the request, and nothing else authorizes it.
   */
  readonly accepts?: "pairing" | "ticket" | "signature";
  /** True: only people may send it. */
  readonly people?: true;
  /** What a user must be allowed to do. Default: "watch" for GET, "administer" for POST. */
  readonly needs?: Scope;
  readonly query?: ObjectSchema;
  /** The schema of a JSON body. */
  readonly body?: ObjectSchema;
  /** The maximum size of a body, in bytes. Default: `MAX_BODY`. */
  readonly maxBody?: number;
  readonly answer: Success;
  /** Statuses of the problems of this route, and their causes, in addition to those of every route. */
  readonly problems?: { readonly [status: number]: string };
  /** Returns a JSON value, or a response of its own. Throws a `Problem`. */
  handle(asked: Asked<Query, Body>): Promise<unknown>;
}

type Definition<Query, Body> = Omit<Route<Query, Body>, "method" | "path">;

/**
 * Makes a route, with the types of its schemas. Without a schema, the body of a POST request is `{}` or empty.
 *
 * @param at method and path: "POST /api/threads/{thread}/stop"
 */
export function route<Q extends TObject = TObject<{}>, B extends TObject = TObject<{}>>(
  at: `${Route["method"]} ${`/api/${string}` | "/metrics"}`,
  definition: Definition<Static<Q>, Static<B>> & { readonly query?: Q; readonly body?: B },
): Route {
  const [method, path = ""] = at.split(" ");
  const takesNothing = method === "POST" && definition.accepts !== "signature";
  return { ...(takesNothing && { body: Type.Object({}) }), ...definition, method: method as Route["method"], path };
}

/** The maximum size of a request body, in bytes, unless its route takes more. */
export const MAX_BODY = 1_048_576;

export interface RouteRequest extends Omit<Asked<unknown, unknown>, "query" | "body" | "headers" | "bytes"> {
  readonly request: Request;
  /** Returns false if a command started by Handrail sent the request, or nobody knows who did. Looks each time. */
  readonly isPerson: () => boolean;
}

/** Runs a route for a request. Rejects with a `Problem` if the request does not match it. */
export async function runRoute(asked: Route, { request, isPerson, ...rest }: RouteRequest): Promise<Response> {
  requireScope(asked, rest.caller);
  requirePerson(asked, isPerson);
  const given = Object.fromEntries(new URL(request.url).searchParams);
  const query = asked.query === undefined ? {} : await checked(asked.query, given, "query parameter");
  const body =
    asked.body === undefined ? {} : await checked(asked.body, await jsonOf(request, asked.maxBody), "member");
  requirePerson(asked, isPerson); // its sender may have exited while the body arrived
  const result = await asked.handle({
    ...rest,
    query,
    body,
    headers: request.headers,
    bytes: () => bytesOf(request, asked.maxBody),
  });
  if (result instanceof Response) return result;
  const { status } = asked.answer;
  return status === 204 ? new Response(undefined, { status }) : Response.json(result, { status });
}

function requireScope({ method, needs = method === "GET" ? "watch" : "administer" }: Route, caller: Caller): void {
  const whyNot = whyNotBy(userOf(caller), needs);
  if (whyNot !== undefined) throw new Problem(403, whyNot);
}

function requirePerson({ people }: Route, isPerson: () => boolean): void {
  if (people !== true || isPerson()) return;
  throw new Problem(
    403,
    "Only people may do this: the request comes from a command that Handrail started, or from an unknown program.",
  );
}

async function checked(schema: TSchema, value: unknown, what: string): Promise<unknown> {
  const result = await validate({ input: { json: schema as { readonly [keyword: string]: unknown } } }, value);
  if (result.ok) return result.input;
  const errors = result.issues.map(({ path, message }) => ({ path, message }));
  const words = errors.map(({ message }) => message.replace(/\bparameter\b/, what));
  throw new Problem(400, `The request does not fit: ${words.join("; ")}.`, { errors });
}

/** Parses the body. An empty one counts as `{}`, whatever its type. */
async function jsonOf(request: Request, maxBody: number | undefined): Promise<unknown> {
  const bytes = await bytesOf(request, maxBody);
  if (bytes.length === 0) return {};
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new Problem(415, `Expected a body of application/json, got ${type === "" ? "no content-type" : type}.`);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(400, "The body is not JSON in UTF-8.");
  }
}

/** Reads a body, and counts its bytes as they arrive: the length in the header may be wrong or missing. */
async function bytesOf(request: Request, maxBody = MAX_BODY): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += (chunk as Uint8Array).length;
    if (length > maxBody) throw new Problem(413, `Expected a body of at most ${maxBody} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
