import { Type } from "typebox";
import type { Route } from "./route.ts";
import { NAMED_SCHEMAS } from "./schemas.ts";

const PROBLEM = Type.Object(
  {
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: "What was expected, what came and what to do." }),
  },
  { additionalProperties: true, description: "A problem (RFC 9457)." },
);

/** Problems that every route can return. */
const COMMON: { readonly [status: number]: string } = {
  401: "No token, or a wrong one, or the session has ended.",
  403: "The request comes from a page of another site, or from a browser whose connection is not encrypted.",
  421: "The Host header names another host.",
  500: "The request failed inside the server.",
};
const OF_INPUT: { readonly [status: number]: string } = { 400: "A parameter or the body does not fit." };
const OF_BODY: { readonly [status: number]: string } = {
  413: "The body is too large.",
  415: "The body is not application/json.",
};

/** Returns the routes as an OpenAPI 3.1 document. */
export function openApi(routes: readonly Route[], version: string): object {
  const paths: { [path: string]: { [method: string]: object } } = {};
  for (const each of routes) (paths[each.path] ??= {})[each.method.toLowerCase()] = operation(each);
  return {
    openapi: "3.1.0",
    info: {
      title: "Handrail",
      version,
      description: "Threads, calls, approvals and jobs of every process that shares the store.",
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: { ...NAMED_SCHEMAS, Problem: PROBLEM },
    },
  };
}

function operation({ method, path, summary, query, body, answer, problems = {} }: Route): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
  const fields = query?.properties ?? {};
  const required = query?.required ?? [];
  const inQuery = Object.entries(fields).map(([name, schema]) => {
    return { name, in: "query", required: required.includes(name), schema };
  });
  const hasInput = inQuery.length > 0 || body !== undefined;
  const all = { ...COMMON, ...(hasInput && OF_INPUT), ...(body !== undefined && OF_BODY), ...problems };
  const types = answer.types ?? (answer.schema === undefined ? [] : ["application/json"]);
  const content = Object.fromEntries(types.map((type) => [type, { schema: answer.schema ?? { type: "string" } }]));
  return {
    operationId: method.toLowerCase() + inCamelCase(path.replace(/^\/api/, "")),
    summary,
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(body !== undefined && { requestBody: { required: true, content: { "application/json": { schema: body } } } }),
    responses: {
      [answer.status]: { description: answer.description, ...(types.length > 0 && { content }) },
      ...(answer.empty !== undefined && { 204: { description: answer.empty } }),
      ...Object.fromEntries(Object.entries(all).map(([status, why]) => [status, problemOf(why)])),
    },
  };
}

function problemOf(description: string): object {
  return { description, content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } } };
}

function inCamelCase(path: string): string {
  return path.replaceAll(/[/.{}]+(\w?)/g, (_, letter: string) => letter.toUpperCase());
}
