import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_MAX_DATABASE_BYTES } from "../../src/activity/sqlite-store.ts";
import { DEFAULT_CORE_BYTES } from "../../src/agent/instructions.ts";
import { PROJECT_RULES } from "../../src/config/keys.ts";
import { DEFAULT_SETTINGS } from "../../src/config/settings.ts";
import { DEFAULT_MAX_OUTPUT_BYTES } from "../../src/output/outputs.ts";
import { DEFAULT_MAX_UNDO_BYTES } from "../../src/undo/store.ts";
import { place } from "./config.ts";

const page = await readFile(new URL("../../docs/configuration.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = ""]) => text);
const rows = [...page.matchAll(/^\| `([a-z_.]+)` \| (.*?) \| .* \| (.*?) \|$/gm)].map(([, key, fallback, rule]) => ({
  key,
  fallback,
  rule,
}));

test("the page has every key, in order, with the rule that holds for projects", () => {
  expect(rows.map(({ key }) => key)).toEqual(Object.keys(PROJECT_RULES));
  for (const [index, rule] of Object.values(PROJECT_RULES).entries()) {
    expect(rows[index]?.rule?.startsWith(rule === "tightening" ? "tightens" : rule)).toBe(true);
  }
});

test("the page has the defaults", () => {
  const { tools, policy, park, store, undo } = DEFAULT_SETTINGS;
  const said = Object.fromEntries(rows.map(({ key, fallback }) => [key, fallback]));
  expect(said).toMatchObject({
    "tools.preset": `\`${tools.preset}\``,
    "tools.disable": `\`${JSON.stringify(tools.disable)}\``,
    "policy.autonomy": `\`${policy.autonomy}\``,
    "policy.workspace_only": `\`${policy.workspaceOnly}\``,
    "policy.allowed_roots": `\`${JSON.stringify(policy.allowedRoots)}\``,
    "policy.commands.allow": `\`${JSON.stringify(policy.commands.allow)}\``,
    "policy.commands.ask": `\`${JSON.stringify(policy.commands.ask)}\``,
    "policy.commands.deny": `\`${JSON.stringify(policy.commands.deny)}\``,
    "policy.block_high_risk_commands": `\`${policy.blockHighRiskCommands}\``,
    "policy.require_approval_for_medium_risk": `\`${policy.requireApprovalForMediumRisk}\``,
    "policy.max_actions_per_hour": `\`${policy.maxActionsPerHour}\``,
    "policy.shell_confirm": `\`${policy.shellConfirm}\``,
    "policy.sandbox": `\`${policy.sandbox}\``,
    "policy.ask_in_sandbox": `\`${policy.askInSandbox}\``,
    "policy.network.allow_hosts": `\`${JSON.stringify(policy.network.allowHosts)}\``,
    "policy.network.deny_hosts": `\`${JSON.stringify(policy.network.denyHosts)}\``,
    "policy.network.allow_private": `\`${JSON.stringify(policy.network.allowPrivate)}\``,
    "policy.env.pass": `\`${JSON.stringify(policy.env.pass)}\``,
    "memory.scope": "`user`",
    "memory.core_bytes": `\`${DEFAULT_CORE_BYTES}\``,
    park: `\`${JSON.stringify(park).slice(1, -1)}\``,
    store: `\`${store}\``,
    "state.outputs_mb": `\`${DEFAULT_MAX_OUTPUT_BYTES / 1_048_576}\``,
    "state.undo_mb": `\`${DEFAULT_MAX_UNDO_BYTES / 1_048_576}\``,
    undo: `\`${undo}\``,
    "state.database_mb": `\`${DEFAULT_MAX_DATABASE_BYTES / 1_048_576}\``,
  });
});

test("the examples of the page are valid, together, and have the described meaning", async () => {
  const { read, folder } = await place();
  const [user, project, ...more] = examples;
  expect(more).toEqual([]);
  const { settings, project: standing } = await read({ user: user!, project: project! }, { HOME: "/home/me" });
  expect(settings).toMatchObject({
    tools: {
      preset: "workspace",
      workDir: folder,
      disable: ["write"],
      options: { grep: { max_results: 50 }, read: { limit: { lines: 500, bytes: 51_200 } }, bash: { timeout: 300 } },
    },
    toolsets: { look: ["read", "grep", "find", "ls"] },
    policy: {
      autonomy: "readonly",
      allowedRoots: ["~/notes", "/home/me/shared"],
      commands: { allow: [], only: [], ask: ["git push *"], deny: ["docker", "npm publish *"] },
      maxActionsPerHour: 100,
      network: { allowHosts: ["*.example.org"], denyHosts: [], allowPrivate: ["localhost:3000"] },
      env: { pass: ["CI", "NPM_CONFIG_REGISTRY"] },
    },
  });
  expect(settings.state).toEqual({ outputs: 512 * 1_048_576 });
  expect(settings.policy.forbiddenPaths).toContain(join(folder, "fixtures/private"));
  expect(standing?.asks.map(({ key }) => key)).toEqual(["policy.env.pass"]);
});

test("the error on the page is the one that is shown", async () => {
  const [, shown] = /```text\n(.*?)\n```/s.exec(page) ?? [];
  const { problems } = await place();
  expect(await problems({ project: "#\n#\n#\n#\n#\npolicy:\n  autonomi: full\n" })).toEqual([shown]);
});
