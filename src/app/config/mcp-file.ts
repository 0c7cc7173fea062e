import { dirname } from "node:path";
import { isServerName } from "../../tools/mcp/names.ts";
import { type Reading, loadCheck } from "./check.ts";
import {
  JSON_SERVER,
  type McpChoice,
  type McpChoices,
  commandIn,
  jsonServerSchema,
  markServers,
  serverNames,
  startOf,
} from "./mcp.ts";
import { type Ask, inRealFolder } from "./read-file.ts";
import type { ValueOf } from "./schemas.ts";
import { readSource } from "./source.ts";
import type { Standing, Trust, TrustedFile } from "./trust.ts";
import { parseYaml } from "./yaml.ts";

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
  const parsed = read.ok ? await parseYaml(read.source.text) : undefined; // JSON is YAML
  for (const { message } of parsed?.faults.slice(0, 1) ?? [])
    problems.push(`${path}: ${message.replace("broken YAML", "broken JSON")}`);
  const { check } = await loadCheck();
  const folder = { workDir: dirname(real) };
  const reading: Reading = {
    env: standing === "trusted" ? env : undefined,
    report: (at, message) => void problems.push(`${path}: ${at.join(".")}: ${message}`),
    leftOut: () => {},
  };
  const found = Object.entries(mapIn(mapIn(parsed?.value)["mcpServers"])).flatMap(([name, written]) => {
    const at = ["mcpServers", name];
    const { type, ...rest } = mapIn(written);
    const known = Object.entries(rest).filter(([key]) => Object.hasOwn(JSON_SERVER, key));
    if (!isServerName(name)) return reading.report(at, `expected ${serverNames.title}`) ?? [];
    if (type === "sse") return reading.report(at, "the older HTTP+SSE transport is not supported") ?? [];
    const checked = check(jsonServerSchema, Object.fromEntries(known), at, reading);
    if (checked.wrong !== undefined) return [];
    const { command, env: setEnv, ...others } = checked.value as ValueOf<typeof jsonServerSchema>;
    if ((command === undefined) === (others.url === undefined))
      return reading.report(at, "expected a map with either command or url") ?? [];
    if (command !== undefined && isOwn([command, ...(others.args ?? [])])) return []; // it is for other programs
    const server: McpChoice = {
      ...others,
      ...(command !== undefined && { command: commandIn(command, folder) }),
      ...(setEnv !== undefined && { setEnv }),
    };
    return [{ name, server, place: parsed?.placeOf(at) ?? { line: 1, column: 1 } }];
  });
  const named = markServers(Object.fromEntries(found.map(({ name, server }) => [name, server])), "trusted");
  return {
    ...{ file, standing, problems, named },
    servers: standing === "trusted" ? named : {},
    asks: found.map(({ name, server, place }) => ({ key: name, place, gives: startOf(server) })),
  };
}

/** Whether the words start `handrail mcp`, as `handrail mcp install` writes them. */
function isOwn(words: readonly string[]): boolean {
  return words.some((word, index) => /(?:^|\/)(?:handrail|dist\/cli\.js)$/.test(word) && words[index + 1] === "mcp");
}

function mapIn(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
