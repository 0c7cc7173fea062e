import type { JsonSchema } from "../../../src/core/contract/schema.ts";
import { ROW_OF } from "../../../src/app/config/rows.ts";
import { defaultOf, plainDoc } from "../../../src/app/config/template.ts";

/** What is generated from the rows of the configuration: the table of docs/configuration.md, the schema for editors. */

const RULES = { free: "free", never: "never", tightens: "tightens", trusted: "when trusted" };

/** Returns the table of keys, in Markdown. */
export function keyTable(): string {
  const lines = Object.entries(ROW_OF).map(([key, row]) => {
    const { doc, project } = row;
    const rule = [RULES[project.rule], project.note].filter((part) => part !== "").join(": ");
    return `| \`${key}\` | ${defaultOf(row)} | ${doc} | ${rule} |`;
  });
  return ["| Key | Default | What | A project's file |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

/** Returns the JSON Schema (2020-12) of a configuration file. */
export function editorSchema(): JsonSchema {
  const root: Group = { type: ["object", "null"], properties: {}, additionalProperties: false };
  for (const [key, { schema, doc, default: value }] of Object.entries(ROW_OF)) {
    const parts = key.split(".");
    let group = root;
    for (const part of parts.slice(0, -1)) {
      group.properties[part] ??= { type: ["object", "null"], properties: {}, additionalProperties: false };
      group = group.properties[part] as Group;
    }
    const description = plainDoc(doc);
    const ownDefault = value === undefined ? {} : { default: value };
    group.properties[parts.at(-1) ?? ""] = { ...forEditors(schema), description, ...ownDefault };
  }
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title: "The configuration of Handrail", ...root };
}

interface Group extends JsonSchema {
  readonly properties: { [name: string]: JsonSchema };
}

/** Removes our own keywords, and the checks that only Handrail knows. */
function forEditors(schema: JsonSchema): JsonSchema {
  const plain = JSON.stringify(schema, (name, value: unknown) =>
    name === "format" || name === "advice" ? undefined : value,
  );
  return JSON.parse(plain) as JsonSchema;
}
