import type { ElicitRequestFormParams } from "@modelcontextprotocol/client";
import type { FormInput } from "../../core/contract/decision.ts";
import type { Effect } from "../../core/contract/effect.ts";
import type { Schema } from "../../core/contract/schema.ts";
import { foreignSchema } from "../../core/call/foreign-tool.ts";
import { validate } from "../../core/call/validate.ts";
import { sourceName } from "./tools.ts";

/** The values that are sent when a person accepts. */
export interface FormContent {
  [field: string]: string | number | boolean | string[];
}

/** The answer does not fit the server's form. The message lists the reasons by field. */
export class UnfitAnswer extends Error {}

/** A server's question, with its form. */
export interface ServerQuestion {
  /** The question to a person. The server's text is marked as such, and the values that an approval sends are shown. */
  readonly effect: Effect;
  /**
   * Returns the values that are sent: those of the approval and those that the person entered, by field.
   *
   * @throws UnfitAnswer when fields are missing or do not fit.
   */
  contentOf(given: FormInput | undefined): Promise<FormContent>;
}

/** @throws TypeError when the form cannot be used, for example because it is too large. */
export function serverQuestion(server: string, { message, requestedSchema }: ElicitRequestFormParams): ServerQuestion {
  const form = foreignSchema(requestedSchema);
  const yes = yesTo(requestedSchema);
  const hasFields = Object.keys(requestedSchema.properties).length > 0;
  const effect: Effect = {
    ...{ kind: "foreign", from: sourceName(server), asks: message, input: JSON.stringify(yes) },
    ...(hasFields && { form: form.json }),
  };
  return { effect, contentOf: (given) => checked(form, { ...yes, ...given }) };
}

/** Returns the values that an approval sends: each field's default, and true for a required boolean field. */
function yesTo({ properties, required = [] }: ElicitRequestFormParams["requestedSchema"]): FormContent {
  const content: FormContent = {};
  for (const [name, field] of Object.entries(properties)) {
    if ("default" in field && field.default !== undefined) content[name] = field.default;
    else if (required.includes(name) && field.type === "boolean") content[name] = true;
  }
  return content;
}

async function checked(form: Schema, content: FormInput): Promise<FormContent> {
  const validated = await validate({ input: form }, content);
  if (validated.ok) return validated.input as FormContent;
  throw new UnfitAnswer(validated.issues.map(({ message }) => message).join("; "));
}
