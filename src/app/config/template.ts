import { stringify } from "yaml";
import { type Key, ROW_OF } from "./rows.ts";
import type { Owner } from "./values.ts";

/** The groups that people set most. The others follow in the order of the documentation. */
const FIRST: readonly string[] = ["model", "tools", "policy", "agents", "toolsets"];

/** What a file shows where the default says too little. */
const EXAMPLES: { readonly [key in Key]?: unknown } = {
  "tools.work_dir": ".",
  "tools.disable": ["bash"],
  "tools.options": { bash: { timeout: 300 } },
  "tools.plugins": [{ path: "./plugins/weather.py" }],
  "tools.modules": ["./tools.mjs"],
  "tools.mcp": { files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } },
  toolsets: { look: ["read", "grep", "find", "ls"] },
  "policy.forbidden_paths": ["~/private"],
  "policy.commands.allow": ["npm test"],
  "policy.commands.only": ["git *", "npm *"],
  "policy.commands.ask": ["git push *"],
  "policy.commands.deny": ["npm publish *"],
  "policy.max_actions_per_hour": 100,
  "policy.sandbox_limits.memory_mb": 8_192,
  "policy.network.allow_hosts": ["*.example.org"],
  "policy.network.deny_hosts": ["ads.example.org"],
  "policy.network.allow_private": ["localhost:3000"],
  "policy.env.pass": ["CI"],
  "search.url": "https://search.example.org",
  "browser.executable_path": "/usr/bin/chromium",
  "browser.profile": "work",
  "browser.cdp": "http://127.0.0.1:9222",
  model: "anthropic:claude-sonnet-4-5",
  agents: { reviewer: { toolset: "readonly", instructions: "Look for mistakes only. Change nothing." } },
  notify: ["ntfy", "publish", "my-topic"],
  "serve.origins": ["http://localhost:5173"],
  queue: "redis://localhost:6379",
  hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "./check.sh" }] }] },
  park: "after 10m",
  "telemetry.traces": "http://localhost:4318",
  log_file: "handrail.log",
};

const MOST_COLUMNS = 100;

/**
 * Returns the text of a new configuration file: every key that this owner may set, as a comment with its documentation,
 * below its group. It sets nothing; without the `#` before a key it sets that.
 *
 * @param schema the path or the URL of the schema, for editors. Default: the file names none.
 */
export function configTemplate(owner: Owner, schema: string | undefined): string {
  const lines = [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`]),
    ...HEADS[owner].map((line) => `# ${line}`),
  ];
  const all = Object.entries(ROW_OF).filter(([, { project }]) => owner === "user" || project.rule !== "never");
  let above: readonly string[] = [];
  for (const [key, row] of all.toSorted(([one], [other]) => compared(placeOf(one), placeOf(other)))) {
    const groups = key.split(".").slice(0, -1);
    if (groupOf(key) !== above[0] || groups.length === 0) lines.push("");
    for (const [depth, group] of groups.entries())
      if (above.slice(0, depth + 1).join(".") !== groups.slice(0, depth + 1).join("."))
        lines.push(`${"  ".repeat(depth)}${group}:`);
    above = groups;
    const indent = "  ".repeat(groups.length);
    const shown = EXAMPLES[key as Key] ?? row.default ?? defaultIn(row.otherwise);
    const value = stringify(shown, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
    const trusted = owner === "project" && row.project.rule === "trusted" ? "; needs trust (handrail trust)" : "";
    for (const line of wrapped(
      `${plainDoc(`${row.doc}. Default: ${defaultOf(row)}`)}${trusted}`,
      MOST_COLUMNS - indent.length - 2,
    ))
      lines.push(`${indent}# ${line}`);
    lines.push(`${indent}#${key.split(".").at(-1)}: ${value}`);
  }
  return `${lines.join("\n")}\n`;
}

const HEADS: { readonly [owner in Owner]: readonly string[] } = {
  project: [
    "How Handrail works in this project. Remove the # before a key to set it; `handrail doctor` checks the file.",
    "A project can only be stricter than your own file, which `handrail init --user` writes and which has more keys.",
  ],
  user: ["How Handrail works for you. Remove the # before a key to set it; `handrail doctor` checks the file."],
};

/** Returns a line of documentation without its Markdown. */
export function plainDoc(doc: string): string {
  return doc.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}

/** Returns what applies without the key, in Markdown. */
export function defaultOf({ default: value, otherwise }: (typeof ROW_OF)[string]): string {
  const written = typeof value === "string" ? value : JSON.stringify(value);
  return otherwise ?? (written === "[]" || written === "{}" ? "none" : `\`${written}\``);
}

/** Where a key is written: the place of its group, of each group in it, and its own. */
function placeOf(key: string): readonly number[] {
  const rank = (FIRST.indexOf(groupOf(key)) + FIRST.length + 1) % (FIRST.length + 1);
  const firstOf = (start: string) => Object.keys(ROW_OF).findIndex((each) => `${each}.`.startsWith(`${start}.`));
  return [rank, ...key.split(".").map((_, depth, parts) => firstOf(parts.slice(0, depth + 1).join(".")))];
}

function compared(one: readonly number[], other: readonly number[]): number {
  const differs = one.findIndex((place, depth) => place !== other[depth]);
  return differs === -1 ? 0 : (one[differs] ?? 0) - (other[differs] ?? 0);
}

function groupOf(key: string): string {
  return key.split(".")[0] ?? "";
}

/** The value in "`1000`". */
function defaultIn(otherwise = ""): unknown {
  const [, written = ""] = /^`(.*)`$/.exec(otherwise) ?? [];
  return /^\d+$|^(?:true|false)$/.test(written) ? JSON.parse(written) : written;
}

function wrapped(text: string, columns: number): readonly string[] {
  return (text.match(new RegExp(`.{1,${columns}}(?: |$)`, "g")) ?? []).map((line) => line.trimEnd());
}
