import type { Json, JsonSchema } from "../core/contract/schema.ts";

/** A field of a flat form that people fill in. Texts are raw. */
export interface FormField {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
  /** Whether the field takes several values. */
  readonly isList: boolean;
  /** The values to choose from. Empty: any value. */
  readonly choices: readonly Json[];
}

/** Describes a field in a few words: "size (required; one of s, m, l)". Raw. */
export function fieldText({ name, isRequired, isList, choices }: FormField): string {
  const values = choices.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join(", ");
  const facts = [isRequired && "required", values !== "" && `${isList ? "some" : "one"} of ${values}`].filter(Boolean);
  return facts.length === 0 ? name : `${name} (${facts.join("; ")})`;
}

/** Lists the fields of a form, which is a JSON Schema whose properties are simple values or lists of choices. */
export function formFields({ properties, required }: JsonSchema): readonly FormField[] {
  const names = Array.isArray(required) ? required : [];
  return Object.entries(partOf(properties)).map(([name, schema]) => {
    const { title, description, type, items, ...own } = partOf(schema);
    const isList = type === "array";
    return {
      ...{ name, isList, isRequired: names.includes(name) },
      description: [title, description].find((each) => typeof each === "string" && each !== "") ?? "",
      choices: choicesOf(isList ? partOf(items) : own),
    } as FormField;
  });
}

function choicesOf({ enum: values, oneOf, anyOf }: JsonSchema): readonly Json[] {
  if (Array.isArray(values)) return values as Json[];
  const titled = oneOf ?? anyOf;
  return Array.isArray(titled) ? titled.flatMap((each) => (partOf(each)["const"] as Json | undefined) ?? []) : [];
}

function partOf(value: unknown): JsonSchema {
  return typeof value === "object" && value !== null ? (value as JsonSchema) : {};
}
