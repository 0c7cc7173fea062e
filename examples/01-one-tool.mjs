// A tool of your own: a schema, what it touches, what it does. Run: node examples/01-one-tool.mjs
import assert from "node:assert/strict";
import { asText, createToolkit, defineTool } from "handrail";

const weather = defineTool({
  name: "weather",
  description: "Current weather of a city.", // it touches nothing that the policy would have to judge
  input: {
    type: "object",
    properties: {
      city: { type: "string", description: "City name, e.g. Rome" },
      units: { enum: ["celsius", "fahrenheit"] },
    },
    required: ["city"],
  },
  run: async ({ city, units = "celsius" }) => ({ city, degrees: units === "celsius" ? 21 : 70, units }),
  render: ({ city, degrees, units }) => `Weather in ${city}: ${degrees}° ${units}, sunny`,
});

const toolkit = await createToolkit({ tools: [weather] });

// What a provider is sent with a request …
const [definition] = toolkit.definitions("openai") ?? [];
assert.equal(definition?.function.name, "weather");

// … and what is done with the model's answer: the arguments as it wrote them, checked; never an exception.
const good = await toolkit.call({ name: "weather", input: '{"city": "Rome"}' });
assert.equal(asText(good), "Weather in Rome: 21° celsius, sunny");

const bad = await toolkit.call({ name: "weather", input: "{}" });
assert.equal(asText(bad), 'validation error: missing required parameter "city"');

console.log(asText(good));
console.log(asText(bad));
await toolkit.close();
