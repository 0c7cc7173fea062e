import { dirname } from "node:path";
import { isServerName } from "../mcp/client/names.ts";
import type { Ask } from "./asking.ts";
import { EXPECTED_NAME, JSON_SERVER, type McpChoice, type McpChoices, ofProject, programIn, startOf } from "./mcp.ts";
import { inRealFolder } from "./read-file.ts";
import type { Reading } from "./shape.ts";
import { fields } from "./shapes.ts";
import { readSource } from "./source.ts";
import type { Standing, Trust, TrustedFile } from "./trust.ts";
import { parseYaml } from "./yaml-tree.ts";

/** A project's `.mcp.json`. */
export interface McpFile {
  readonly file: TrustedFile;
  readonly standing: Standing;
  /**
   * The servers that it configures. `servers` are those that may be started: all if the file is trusted, otherwise
   * none.
   */
  readonly named: McpChoices;
  readonly servers: McpChoices;
  /** What trust would allow. */
  readonly asks: readonly Ask[];
  /** Sentences about parts that are invalid and were ignored. */
  readonly problems: readonly string[];
}

/**
 * Reads a project's `.mcp.json`. Ignores what it does not know, because other agents read the file too. Never rejects.
 */
export async function readMcpFile(
  path: string,
  trust: Pick<Trust, "standing">,
  env: NodeJS.ProcessEnv,
): Promise<McpFile> {
  const real = inRealFolder(path);
  const read = await readSource(path, dirname(real));
  const file = { path: real, sha256: read.ok ? read.source.sha256 : "" };
  const standing = read.ok ? await trust.standing(file) : "never trusted";
  const problems: string[] = read.ok ? [] : [`${path}: ${read.message}`];
  const tree = read.ok ? await parseYaml(read.source.text) : undefined; // JSON is YAML
  const root = tree?.ok === true && tree.root.kind === "map" ? tree.root : undefined;
  if (tree?.ok === false)
    problems.push(`${path}: ${(tree.faults[0]?.message ?? "it cannot be read").replace("broken YAML", "broken JSON")}`);
  const all = root?.entries.find(({ key }) => key === "mcpServers")?.value;
  const reading: Reading = {
    folder: dirname(real),
    home: "",
    env,
    keepsVariables: standing !== "trusted",
    report: (_, key, message) => void problems.push(`${path}: ${key}: ${message}`),
    leftOut: () => undefined,
  };
  const found = (all?.kind === "map" ? all.entries : []).flatMap(({ key: name, value, place }) => {
    if (!isServerName(name)) {
      problems.push(`${path}: mcpServers.${name}: ${EXPECTED_NAME}`);
      return [];
    }
    const known = value.kind === "map" ? value.entries.filter(({ key }) => Object.hasOwn(JSON_SERVER, key)) : [];
    const given = fields(JSON_SERVER).read({ kind: "map", place, entries: known }, name, reading);
    if ((given?.command === undefined) === (given?.url === undefined)) {
      problems.push(`${path}: mcpServers.${name}: expected a map with either command or url`);
      return [];
    }
    const type = value.kind === "map" ? value.entries.find(({ key }) => key === "type")?.value : undefined;
    if (type?.kind === "text" && type.value === "sse") {
      problems.push(`${path}: mcpServers.${name}: the older HTTP+SSE transport is not supported`);
      return [];
    }
    const { command, env: setEnv, ...rest } = given ?? {};
    const server: McpChoice = {
      ...rest,
      ...(command !== undefined && { command: programIn(command, reading) }),
      ...(setEnv !== undefined && { setEnv }),
    };
    return [{ name, server, place }];
  });
  const named = ofProject(Object.fromEntries(found.map(({ name, server }) => [name, server])));
  return {
    ...{ file, standing, problems, named },
    servers: standing === "trusted" ? named : {},
    asks: found.map(({ name, server, place }) => ({ key: name, place, gives: startOf(server) })),
  };
}
