/**
 * Writes the reference of events, messages and questions (`npm run docs:api`). With --check, reports whether it is stale.
 *
 * In:  src/serve/api-schemas.json, which api-schemas.mjs writes from the types.
 * Out: docs/events.md: a section for each event and for each type that it names, with its fields. --check changes nothing;
 *      exit code 1 when the page is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./lib/project.mjs";

/**
 * @typedef {object} Schema
 * @property {string} [description]
 * @property {string} [$ref]
 * @property {string} [type]
 * @property {string | number | boolean} [const]
 * @property {unknown[]} [enum]
 * @property {Schema[]} [anyOf]
 * @property {Schema} [items]
 * @property {{ [name: string]: Schema }} [properties]
 * @property {string[]} [required]
 * @property {Schema} [additionalProperties]
 */

/** The fields that the sections leave out, because every event has them. */
const COMMON = ["id", "at", "thread", "call", "type"];

/** The sections after the events, in this order; the other types follow by name. */
const FIRST = ["ThreadMessage", "ToolActivity", "Question", "Approval", "Decision", "Effect", "Draft", "Turn"];

/** Types without a section: docs/api.md says how they differ from another one. */
const NONE = ["Event", "StreamedMessage"];

const page = join(projectRoot, "docs", "events.md");
/** @type {{ [name: string]: Schema }} */
const schemas = JSON.parse(readFileSync(join(projectRoot, "src", "serve", "api-schemas.json"), "utf8"));
const events = schemas["Event"]?.anyOf ?? [];
const others = Object.keys(schemas).filter((name) => ![...NONE, ...FIRST].includes(name));

const written = `# Events and messages

<!-- written by \`npm run docs:api\` from the types -->

The record is a series of events. A program reads them with \`toolkit.store.events()\` or as they happen with \`onEvent\`
([the library](library.md#events-while-a-call-runs)), an app over [HTTP](api.md#streams). Messages and questions are
made of them. This page has every field; [threads](threads.md) describe what they mean together. \`GET /api/openapi.json\`
of \`handrail serve\` has the same as schemas.

New events and new fields may be added: ignore those that you do not know. A field with \`?\` may be absent. Times (\`at\`)
are milliseconds since 1970.

## Events

Every event has \`id\` (it grows, and is a position to resume from), \`at\`, \`thread\` and \`type\`. Events of a call have its
id in \`call\`.

${events.map(eventSection).join("\n\n")}

## Types

${[...FIRST, ...others].map(typeSection).join("\n\n")}
`;

const isFresh = readFileSync(page, { encoding: "utf8", flag: "a+" }) === written;
if (isFresh) process.stdout.write("docs/events.md has the events as they are\n");
else if (process.argv.includes("--check")) {
  process.stdout.write("docs/events.md does not have the events as they are: npm run docs:api\n");
  process.exitCode = 1;
} else {
  writeFileSync(page, written);
  process.stdout.write(`docs/events.md: ${events.length} events written\n`);
}

/** @param {Schema} event */
function eventSection(event) {
  const ofThread = event.properties?.["call"] === undefined ? " (of a thread)" : "";
  return section(`${String(event.properties?.["type"]?.const ?? "")}${ofThread}`, event, COMMON);
}

/** @param {string} name */
function typeSection(name) {
  const schema = schemas[name] ?? {};
  if (schema.anyOf === undefined || !schema.anyOf.every((each) => each.properties)) return section(name, schema, []);
  const all = schema.anyOf;
  const key = Object.keys(all[0]?.properties ?? {}).find((field) =>
    all.every((form) => isFixed(form.properties?.[field])),
  );
  const forms = all.map((form) => {
    const title = key === undefined ? "" : `**\`${key}\` ${typeOf(form.properties?.[key] ?? {})}**`;
    const lead = [title, clean(form.description ?? "")].filter((part) => part !== "").join(": ");
    return [lead, fieldTable(form, key === undefined ? [] : [key])].join("\n\n").trim();
  });
  return [`### ${name}`, ...(schema.description ? [clean(schema.description)] : []), ...forms].join("\n\n");
}

/** Whether a field has one of a few words. @param {Schema} [field] */
function isFixed(field) {
  return field !== undefined && ("const" in field || field.enum !== undefined);
}

/**
 * @param {string} title
 * @param {Schema} schema
 * @param {readonly string[]} without
 */
function section(title, schema, without) {
  const table = schema.properties ? fieldTable(schema, without) : `Is ${typeOf(schema)}.`;
  return [`### ${title}`, ...(schema.description ? [clean(schema.description)] : []), ...(table ? [table] : [])].join(
    "\n\n",
  );
}

/**
 * @param {Schema} schema
 * @param {readonly string[]} without
 */
function fieldTable({ properties = {}, required = [] }, without) {
  const rows = Object.entries(properties)
    .filter(([name]) => !without.includes(name))
    .map(([name, field]) => {
      const optional = required.includes(name) ? "" : "?";
      return `| \`${name}${optional}\` | ${typeOf(field)} | ${clean(field.description ?? "")} |`;
    });
  return rows.length === 0 ? "" : ["| Field | Type | |", "| --- | --- | --- |", ...rows].join("\n");
}

/** @param {Schema} schema @returns {string} */
function typeOf(schema) {
  const { $ref, anyOf, items, properties, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if ("const" in schema) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(" ");
  if (anyOf !== undefined) return anyOf.map(typeOf).join(" or ");
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (properties !== undefined)
    return `object: ${Object.keys(properties)
      .map((name) => `\`${name}\``)
      .join(", ")}`;
  if (additionalProperties !== undefined) return `object of ${typeOf(additionalProperties)} by name`;
  return schema.type ?? "any JSON";
}

/** Returns a docstring as it may stand in a table. @param {string} text */
function clean(text) {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
