// A tool that makes an image: a model gets it as a picture, people as a saved output. Run: node examples/13-image-tool.mjs
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { asContent, asText, createToolkit, defineTool } from "handrail";

const chart = defineTool({
  name: "chart",
  description: "Draws numbers from 0 to 100 as a bar chart.",
  input: {
    type: "object",
    properties: {
      values: { type: "array", items: { type: "number", minimum: 0, maximum: 100 }, minItems: 1, maxItems: 50 },
    },
    required: ["values"],
  },
  run: async ({ values }, { attach }) => {
    attach({ type: "image", data: bars(values).toString("base64"), mimeType: "image/png" });
    return { bars: values.length, highest: Math.max(...values) };
  },
  render: (data) => `A chart with ${data.bars} bars; the highest is ${data.highest}.`,
});

const stateDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
const toolkit = await createToolkit({ tools: [chart], stateDir });
const result = await toolkit.call({ name: "chart", input: { values: [20, 80, 55] } });

// What a provider is sent: the text, then the picture. An adapter puts them where its provider takes them.
const [words, image] = asContent(result).content;
assert.deepEqual(words, { type: "text", text: "A chart with 3 bars; the highest is 80." });
assert.ok(image?.type === "image");
const png = Buffer.from(image.data, "base64");
assert.equal(png.subarray(1, 4).toString(), "PNG");
console.log(`${asText(result)} (${png.length} bytes)`);

await toolkit.close();
await rm(stateDir, { recursive: true });

/**
 * A PNG of one bit a pixel, black bars on white.
 *
 * @param {number[]} values
 */
function bars(values) {
  const [width, height] = [values.length * 8, 100];
  const rows = Array.from({ length: height }, (_, y) => [
    0, // no filter
    ...values.map((value) => (height - y <= value ? 0b10000001 : 0b11111111)),
  ]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1; // one bit of grey
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const data = deflateSync(Buffer.from(rows.flat()));
  return Buffer.concat([signature, part("IHDR", header), part("IDAT", data), part("IEND", Buffer.alloc(0))]);
}

/**
 * @param {string} name
 * @param {Buffer} data
 */
function part(name, data) {
  const body = Buffer.concat([Buffer.from(name), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
