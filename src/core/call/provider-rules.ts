import type { DefinitionFormat } from "../contract/toolkit.ts";
import { words } from "../util/text.ts";

/** What a provider takes of a tool's definition. What it does not take fails the whole request, with all its tools. */
export interface ProviderRules {
  /** Keywords that it refuses in the schema of the arguments itself. */
  readonly notAtTop: ReadonlySet<string>;
  /** Keywords that it refuses, or reads wrongly, at any depth. */
  readonly nowhere: ReadonlySet<string>;
  /** Whether references are replaced by what they refer to. */
  readonly inlines: boolean;
  /**
   * Whether `required` may name only properties that the same schema has, and a union may not stand beside properties.
   */
  readonly closed: boolean;
  /** Whether a choice may have only texts that are not empty. */
  readonly textChoices: boolean;
  /** Formats of texts and numbers that it takes; `undefined`: any. */
  readonly formats?: ReadonlySet<string>;
  /** The maximum number of tools of a request. */
  readonly mostTools: number;
  /** What its strict mode takes, besides the form that `strictSchema` writes. */
  readonly strict?: StrictLimits;
}

/** Limits of a strict mode. Tools beyond them are defined without it. */
export interface StrictLimits {
  /** Of one tool. */
  readonly levels: number;
  /** Of all tools of a request together. */
  readonly tools: number;
  readonly properties: number;
  readonly choices: number;
  /** Parameters with several types or a union: each optional one is, with `null`. */
  readonly unions: number;
}

const set = (text: string): ReadonlySet<string> => new Set(words(text));

/**
 * "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level":
 * https://github.com/langchain-ai/langchainjs/issues/9804
 */
const NOT_AT_TOP_OF_OPENAI = set("anyOf oneOf allOf not enum const $ref $dynamicRef");

/**
 * Draft 2020-12 has a schema or a boolean in `items`: https://json-schema.org/draft/2020-12/json-schema-core#name-items
 */
const OLD = "additionalItems dependencies $schema $id id $comment";

const OPENAI: ProviderRules = {
  notAtTop: NOT_AT_TOP_OF_OPENAI,
  nowhere: set(OLD),
  inlines: false,
  closed: false,
  textChoices: false,
  // "array too long. Expected an array with maximum length 128": https://platform.openai.com/docs/api-reference/chat/create
  mostTools: 128,
  // https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
  strict: { levels: 10, tools: Infinity, properties: 5_000, choices: 1_000, unions: Infinity },
};

const ANTHROPIC: ProviderRules = {
  ...OPENAI,
  // "input_schema does not support oneOf, allOf, or anyOf at the top level": https://github.com/anthropics/claude-code/issues/5319
  notAtTop: NOT_AT_TOP_OF_OPENAI,
  // Custom tools may have no references: https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes
  inlines: true,
  mostTools: Infinity,
  // https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
  strict: { levels: Infinity, tools: 20, properties: Infinity, choices: Infinity, unions: 16 },
};

/** https://ai.google.dev/api/generate-content#generationconfig lists the keywords at `responseJsonSchema`. */
const GEMINI: ProviderRules = {
  notAtTop: NOT_AT_TOP_OF_OPENAI,
  nowhere: set(
    `${OLD} const allOf not if then else patternProperties propertyNames dependentRequired dependentSchemas contains ` +
      "minContains maxContains unevaluatedItems unevaluatedProperties prefixItems $defs definitions $anchor $dynamicAnchor",
  ),
  inlines: true,
  // "required[0]: property is not defined", also in the branches of a union:
  // https://github.com/probelabs/probe/issues/569
  closed: true,
  // "enum[3]: cannot be empty": https://github.com/sbroenne/mcp-server-excel/issues/607
  // A choice of `Schema` has texts only: https://ai.google.dev/api/caching#Schema
  textChoices: true,
  // "only 'enum' and 'date-time' are supported for STRING type": https://github.com/google-gemini/gemini-cli/issues/5021
  formats: set("enum date-time int32 int64 float double"),
  mostTools: 128,
};

/**
 * What each format's receiver takes. Clients of MCP pass definitions on to a provider that they do not name, so the
 * rules for the top are those of all; `json` is for any other client.
 * https://modelcontextprotocol.io/specification/2025-11-25/schema#tool
 */
export const PROVIDER_RULES: { readonly [F in DefinitionFormat]: ProviderRules } = {
  json: { ...OPENAI, mostTools: Infinity },
  openai: OPENAI,
  "openai-responses": OPENAI,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
  mcp: { ...OPENAI, mostTools: Infinity },
};
