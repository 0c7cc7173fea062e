import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { temporaryFolder, workspace } from "../../support/workspace.ts";
import { withServers } from "./servers.ts";
import { plainText } from "../../support/plain-text.ts";

/** A server from npm. */
const fromNpm = (name: string) => join(projectRoot, "node_modules/@modelcontextprotocol", name, "dist/index.js");

interface Case {
  readonly package: string;
  readonly args?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** Every listed tool, with arguments, and a part of the expected text. */
  readonly calls: { readonly [tool: string]: readonly [input: object, text: RegExp] };
}

const folder = await workspace({ "a.txt": "alpha\n", "pixel.png": Buffer.from("iVBORw0KGgo=", "base64") });
const entity = { name: "Handrail", entityType: "project", observations: ["has tools"] };
const relation = { from: "Handrail", to: "Handrail", relationType: "is" };
const moreObservations = { observations: [{ entityName: "Handrail", contents: ["is small"] }] };
const lessObservations = { deletions: [{ entityName: "Handrail", observations: ["is small"] }] };
const edits = [{ oldText: "beta", newText: "gamma" }];

const CASES: readonly Case[] = [
  {
    package: "server-filesystem",
    args: [folder],
    calls: {
      read_file: [{ path: `${folder}/a.txt` }, /^alpha/],
      read_text_file: [{ path: `${folder}/a.txt` }, /^alpha/],
      read_media_file: [{ path: `${folder}/pixel.png` }, /"\[12 characters of base64\]".*\n\[Image: image\/png/],
      read_multiple_files: [{ paths: [`${folder}/a.txt`] }, /alpha/],
      write_file: [{ path: `${folder}/b.txt`, content: "beta\n" }, /Successfully wrote/],
      edit_file: [{ path: `${folder}/b.txt`, edits }, /\+gamma/],
      create_directory: [{ path: `${folder}/new` }, /Successfully created/],
      list_directory: [{ path: folder }, /\[FILE\] a\.txt/],
      list_directory_with_sizes: [{ path: folder }, /a\.txt/],
      directory_tree: [{ path: folder }, /"a\.txt"/],
      move_file: [{ source: `${folder}/b.txt`, destination: `${folder}/new/b.txt` }, /Successfully moved/],
      search_files: [{ path: folder, pattern: "**/*.txt" }, /a\.txt/],
      get_file_info: [{ path: `${folder}/a.txt` }, /size: 6/],
      list_allowed_directories: [{}, new RegExp(folder)],
    },
  },
  {
    package: "server-memory",
    env: { MEMORY_FILE_PATH: join(temporaryFolder(), "memory.jsonl") },
    calls: {
      create_entities: [{ entities: [entity] }, /Handrail/],
      create_relations: [{ relations: [relation] }, /relationType/],
      add_observations: [moreObservations, /is small/],
      delete_observations: [lessObservations, /deleted/i],
      read_graph: [{}, /has tools/],
      search_nodes: [{ query: "tools" }, /Handrail/],
      open_nodes: [{ names: ["Handrail"] }, /Handrail/],
      delete_relations: [{ relations: [relation] }, /deleted/i],
      delete_entities: [{ entityNames: ["Handrail"] }, /deleted/i],
      read_resource: [{}, /./],
    },
  },
  {
    package: "server-everything",
    calls: {
      echo: [{ message: "hello" }, /^Echo: hello$/],
      "get-annotated-message": [{ messageType: "error", includeImage: true }, /\[Image: image\/png/],
      "get-env": [{}, /PATH/],
      "get-resource-links": [{ count: 2 }, /\[Resource .*: demo:\/\//],
      "get-resource-reference": [{ resourceType: "Text", resourceId: 1 }, /Resource/],
      "get-roots-list": [{}, new RegExp(folder)],
      "get-structured-content": [{ location: "Chicago" }, /"temperature":/],
      "get-sum": [{ a: 2, b: 3 }, /is 5/],
      "get-tiny-image": [{}, /\[Image: image\/png, [\d.]+KB\]/],
      "gzip-file-as-resource": [{ name: "a.gz", data: "data:text/plain,hello", outputType: "resource" }, /gzip/],
      "toggle-simulated-logging": [{}, /logging/i],
      "toggle-subscriber-updates": [{}, /updates/i],
      "trigger-long-running-operation": [{ duration: 1, steps: 2 }, /completed/],
      "trigger-elicitation-request": [{}, /declined/],
      "simulate-research-query": [{ topic: "rails" }, /./],
      read_resource: [{ uri: "demo://resource/dynamic/text/1" }, /Resource 1/],
    },
  },
];

test.each(CASES)("$package: every listed tool is called", async ({ package: name, args = [], env = {}, calls }) => {
  const settings = { command: process.execPath, args: [fromNpm(name), ...args], env, within: "none" } as const;
  const { toolkit, notices } = await withServers({ npm: settings }, { workDir: folder });
  const listed = [...toolkit.tools.keys()].map((tool) => tool.replace("mcp__npm__", ""));
  expect(listed.toSorted()).toEqual(Object.keys(calls).toSorted());
  for (const [tool, [input, text]] of Object.entries(calls)) {
    const result = plainText(await toolkit.call({ name: `mcp__npm__${tool}`, input }));
    expect(result, tool).toMatch(text);
  }
  expect(notices).toEqual([]);
});
