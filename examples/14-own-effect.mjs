/**
 * A tool says what each call touches. The policy judges that before the tool runs, and the tool's own file access and
 * requests reach nothing else.
 *
 * Run: node examples/14-own-effect.mjs
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asText, createToolkit, defineTool } from "handrail";

const server = createServer((_, response) => response.end("one,1\ntwo,2\n")).listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
assert.ok(address !== null && typeof address === "object");
const host = `127.0.0.1:${address.port}`;

const importRates = defineTool({
  name: "import_rates",
  description: "Gets the exchange rates and writes them to a file of the workspace.",
  input: {
    type: "object",
    properties: { file: { type: "string", description: "Where to write them" } },
    required: ["file"],
  },
  touches: ["fetch", "write"], // the kinds, for lists of tools and for MCP clients
  effects: ({ file }) => [
    { kind: "fetch", method: "GET", url: `http://${host}/rates.csv` },
    { kind: "write", path: file },
  ],
  run: async ({ file }, { fetch, backend }) => {
    const { body } = await fetch(`http://${host}/rates.csv`);
    await backend.files.write(file, body);
    // What was not declared is refused, whatever this code tries.
    await assert.rejects(backend.files.write("other.csv", body), /other\.csv/);
    return `Wrote ${body.length} bytes to ${file}`;
  },
});

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
const toolkit = await createToolkit({
  ...{ tools: [importRates], workDir, stateDir: `${workDir}-state` },
  policy: { network: { allowHosts: [host], allowPrivate: [host] } },
});
/** @param {string} file */
const call = async (file) => asText(await toolkit.call({ name: "import_rates", input: { file } }));

const written = await call("rates.csv"); // marked as text of others, since the call has fetched something
assert.match(written, /^<<foreign text .*\nWrote 12 bytes to rates\.csv\n<<end of foreign text/);
assert.equal(await readFile(join(workDir, "rates.csv"), "utf8"), "one,1\ntwo,2\n");

// The same tool, the same rules as for every other: a file that git obeys is asked about, and nobody is here.
const refused = await call(".git/hooks/pre-commit");
assert.match(refused, /approval/);
console.log(refused);

await toolkit.close();
server.close();
await rm(workDir, { recursive: true });
await rm(`${workDir}-state`, { recursive: true, force: true });
