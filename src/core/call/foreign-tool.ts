import type { CallUpdate } from "../contract/activity.ts";
import { type JsonSchema, type MutableJson, type Schema, toSchema } from "../contract/schema.ts";
import { type Tool, type ToolContext, isToolName } from "../contract/tool.ts";
import { oneLine, terminalSafe } from "../output/terminal-text.ts";
import { tried } from "../util/errors.ts";
import { clip } from "../util/text.ts";
import { wellFormed } from "../util/well-formed.ts";
import { SUBSCHEMAS } from "./subschemas.ts";

/** A tool of another program, as that program describes it. Nothing of it is trusted. */
export interface ForeignTool extends Pick<Tool, "run" | "render" | "limit" | "userFacing"> {
  /** Its source: "plugin:weather", "mcp:github". */
  readonly from: string;
  /** The tool's name in that source. */
  readonly tool: string;
  /** The name for models. Default: `tool`. */
  readonly name?: string;
  readonly title?: string | undefined;
  readonly paramsHint?: string | undefined;
  readonly description: string;
  /** The JSON Schema of its arguments. */
  readonly schema: unknown;
  /** The JSON Schema of its data. Default: none, and the data is not checked. */
  readonly output?: unknown;
  /** Whether the tool declares that it may destroy something. */
  readonly destructive?: boolean;
}

/** The longest description, in characters. Providers have no common limit; every request contains all descriptions. */
const LONGEST_DESCRIPTION = 8_000;
const LONGEST_TITLE = 100;
const LONGEST_HINT = 200;
/** The largest schema, in characters of JSON. */
const LARGEST_SCHEMA = 65_536;
/** The maximum number of levels of objects and lists in a schema. */
const DEEPEST_SCHEMA = 64;

/**
 * Creates a tool from one that another program provides. Each call has one effect, of the kind "foreign", whatever the
 * program declares. Invisible characters in its texts are shown, and long texts are cut. Patterns are moved to
 * descriptions, so that only the program checks them: an untrusted pattern could keep the validator busy forever.
 *
 * @throws TypeError when its name or its schema cannot be used.
 */
export function foreignTool(given: ForeignTool): Tool {
  const { from, tool, name = tool, title, paramsHint, description, schema, output, ...others } = given;
  const { destructive = false, ...rest } = others;
  if (!isToolName(name)) {
    throw new TypeError(`its name must be a letter or "_", then up to 63 letters, digits, "_" or "-"`);
  }
  return {
    ...rest,
    run: (input, context) => rest.run(wellFormed(input), context),
    name,
    ...(title !== undefined && { title: clip(terminalSafe(title), LONGEST_TITLE) }),
    ...(paramsHint !== undefined && { paramsHint: oneLine(paramsHint, LONGEST_HINT) }),
    description: clip(terminalSafe(description), LONGEST_DESCRIPTION),
    input: foreignSchema(schema),
    ...usableOutput(output),
    touches: ["foreign"],
    effects: (input) => [
      { kind: "foreign", from, tool, input: JSON.stringify(input) ?? "", ...(destructive && { destructive }) },
    ],
  };
}

/** An output schema that cannot be used costs no tool: the data is not checked then. */
function usableOutput(output: unknown): Pick<Tool, "output"> {
  const schema = output === undefined ? undefined : tried(() => foreignSchema(output).json);
  return schema === undefined ? {} : { output: schema };
}

/** How often people are shown progress, in milliseconds, and how much of a message, in characters. */
const SHOWN_EVERY_MS = 100;
const SHOWN = 200;

/**
 * Returns a function that shows people what another program reports about a call. Of the reports within
 * `SHOWN_EVERY_MS`, only the first is shown.
 */
export function progressOf({ report }: Pick<ToolContext, "report">) {
  let shownMs = -Infinity;
  return (message: string, progress?: CallUpdate["progress"]): void => {
    if (performance.now() - shownMs < SHOWN_EVERY_MS) return;
    shownMs = performance.now();
    report({ displayMessage: oneLine(message, SHOWN), ...(progress !== undefined && { progress }) });
  };
}

/**
 * Returns a schema for validating values, made from one that another program wrote. Patterns are moved to descriptions.
 *
 * @throws TypeError when it is not an object, or too large or deep.
 */
export function foreignSchema(schema: unknown): Schema {
  return toSchema(withoutPatterns(schema));
}

type Plain = { [keyword: string]: MutableJson };

function withoutPatterns(schema: unknown): JsonSchema {
  const text = JSON.stringify(schema ?? {}) ?? "";
  if (text.length > LARGEST_SCHEMA) {
    throw new TypeError(`its schema has ${text.length} characters of JSON, more than the limit of ${LARGEST_SCHEMA}`);
  }
  const copy = JSON.parse(text) as MutableJson;
  if (!isPlain(copy)) throw new TypeError("its schema is not an object");
  if (depthOf(copy) > DEEPEST_SCHEMA) throw new TypeError(`its schema has more than ${DEEPEST_SCHEMA} levels`);
  return cleaned(copy);
}

function cleaned({ pattern, patternProperties, description, ...rest }: Plain): Plain {
  const told = [
    ...(typeof description === "string" ? [terminalSafe(description)] : []),
    ...(typeof pattern === "string" ? [`Pattern: ${terminalSafe(pattern)}`] : []),
    ...(patternProperties === undefined
      ? []
      : [`Names by pattern: ${terminalSafe(JSON.stringify(patternProperties))}`]),
  ];
  if (patternProperties !== undefined) {
    // Whether a name is additional depends on the patterns, which are gone.
    delete rest["additionalProperties"];
    delete rest["unevaluatedProperties"];
  }
  const entries = Object.entries(rest).map(([keyword, value]): [string, MutableJson] => {
    const holds = SUBSCHEMAS.get(keyword);
    if (holds === "named" && isPlain(value)) {
      return [keyword, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, cleanedPart(part)]))];
    }
    return [keyword, holds === undefined ? value : cleanedPart(value)];
  });
  const words = told.length === 0 ? {} : { description: clip(told.join(" "), LONGEST_DESCRIPTION) };
  return { ...Object.fromEntries(entries), ...words };
}

function cleanedPart(part: MutableJson): MutableJson {
  if (Array.isArray(part)) return part.map(cleanedPart);
  return isPlain(part) ? cleaned(part) : part;
}

function depthOf(value: MutableJson): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function isPlain(value: MutableJson | undefined): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
