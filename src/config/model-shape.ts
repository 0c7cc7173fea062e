import { type ModelSettings, PROVIDERS, parseModel } from "../agent/models/load.ts";
import { messageOf } from "../util/errors.ts";
import { type Shape, shape } from "./shape.ts";
import { choice, fields, integer, positive, text } from "./shapes.ts";

/** The shape of a model: `openai:gpt-5`, or a map of provider, name, base_url, key_variable, context and price. */
export function modelShape(): Shape<ModelSettings> {
  const written = text("PROVIDER:NAME", problemOf);
  const map = fields({
    provider: choice(Object.keys(PROVIDERS)),
    name: text("the name of the model, as the provider calls it"),
    base_url: text("a URL", (url) =>
      /^https?:\/\//.test(url) && URL.canParse(url) ? undefined : "It begins with http:// or https://.",
    ),
    key_variable: text("the name of an environment variable"),
    context: integer(1_000, 100_000_000),
    price: fields({
      input: positive(1_000_000, "money for a million tokens"),
      output: positive(1_000_000, "money for a million tokens"),
    }),
  });
  return shape(
    "PROVIDER:NAME, or a map of provider, name, base_url, key_variable, context, price",
    (node, { key, reading, wrong }) => {
      if (node.kind === "text") {
        const value = written.read(node, key, reading);
        return value === undefined ? undefined : parseModel(value);
      }
      if (node.kind !== "map") return wrong();
      const read = map.read(node, key, reading);
      if (read === undefined) return undefined;
      const { provider, name, base_url: baseUrl, key_variable: keyVariable, context, price = {} } = read;
      if (provider === undefined || name === undefined) return wrong("It needs provider and name.");
      if ((price.input === undefined) !== (price.output === undefined)) return wrong("price needs input and output.");
      return {
        provider,
        name,
        ...(baseUrl !== undefined && { baseUrl }),
        ...(keyVariable !== undefined && { keyVariable }),
        ...(context !== undefined && { context }),
        ...(price.input !== undefined &&
          price.output !== undefined && { price: { input: price.input, output: price.output } }),
      };
    },
  );
}

function problemOf(value: string): string | undefined {
  try {
    parseModel(value);
    return undefined;
  } catch (error) {
    return `${messageOf(error)}.`.replace(/\.\.$/, ".");
  }
}
