import { deepEqual, equal, ok } from "node:assert/strict";
import { randomBytes } from "./random.ts";
import { type Cases, run } from "./scene.ts";

const NUMBERS = Array.from({ length: 200 }, (_, index) => index);

const TURNS = "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done";

/** Output. */
export const streams: Cases = {
  "merged streams keep the order in which they were written": async ({ sh }) => {
    const { output } = await sh(TURNS);
    equal(output, NUMBERS.map((number) => `out ${number}\nerr ${number}\n`).join(""));
  },

  "split streams are separate, each in order": async ({ sh }) => {
    const { output, errors } = await sh(TURNS, { streams: "split" });
    equal(output, NUMBERS.map((number) => `out ${number}\n`).join(""));
    equal(errors, NUMBERS.map((number) => `err ${number}\n`).join(""));
  },

  "merged, there is no log of errors; split, there is one": async ({ backend }) => {
    const [merged, split] = await Promise.all([
      backend.spawn({ argv: ["true"] }),
      backend.spawn({ argv: ["true"], streams: "split" }),
    ]);
    equal(merged.errors, undefined);
    ok(split.errors !== undefined);
    await Promise.all([merged.exit, split.exit]);
  },

  "output is unchanged: without a last line end, empty, or only line ends": async ({ sh }) => {
    for (const text of ["no end", "", "\\n", "\\n\\n\\n", "a\\n\\n", "\\r\\n", " "]) {
      equal((await sh(`printf '${text}'`)).output, text.replaceAll("\\n", "\n").replaceAll("\\r", "\r"), text);
    }
  },

  "every byte arrives, also what looks like a protocol": async ({ backend, write, at }) => {
    const marker = `\u0001${"0123456789abcdef".repeat(2)} 0\n`;
    const bytes = Buffer.concat([
      Buffer.from(Uint8Array.from({ length: 256 }, (_, index) => index)),
      Buffer.from(`${marker}\u0001\u0001${marker.slice(0, 20)}\n\u0000\u0001`),
      Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x01]),
    ]);
    await write("bytes", bytes);
    for (const kept of ["merged", "split"] as const) {
      const ran = await run(backend, { argv: ["cat", at("bytes")], streams: kept });
      ok(ran.bytes.equals(bytes), kept);
      deepEqual(ran.exit, { how: "exited", code: 0 });
    }
  },

  "five megabytes arrive whole on either stream": async ({ write, sh }) => {
    const block = randomBytes(1_048_577, 2);
    const expected = Buffer.concat(Array.from({ length: 5 }, () => block));
    await write("block", block);
    const { bytes, exit } = await sh("cat block block block block block; exit 9");
    ok(bytes.equals(expected), `expected ${expected.length} bytes, got ${bytes.length}`);
    deepEqual(exit, { how: "exited", code: 9 });
    const split = await sh("cat block; echo done >&2; cat block", { streams: "split" });
    ok(split.bytes.equals(Buffer.concat([block, block])), `split: got ${split.bytes.length} bytes`);
    equal(split.errors, "done\n");
  },

  "the last output before a sudden end is kept": async ({ sh }) => {
    for (let round = 0; round < 5; round++)
      equal((await sh("printf first; printf last; kill -9 $$")).output, "firstlast");
  },

  "its streams can be opened by name and written through": async ({ sh }) => {
    const { output } = await sh("echo 1; echo 2 >/dev/stdout; echo 3 | tee /dev/stderr; echo 4 >>/dev/stdout; echo 5");
    equal(output, "1\n2\n3\n3\n4\n5\n");
  },
};
