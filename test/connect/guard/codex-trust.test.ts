import { expect, test } from "vitest";
import { codexTrust } from "../../../src/connect/guard/codex-trust.ts";

// As Codex 0.171.0 lists and keeps them (`hooks/list` of `codex app-server`).
const FILE = "/home/ann/.codex/hooks.json";
const ENTRY = { hooks: [{ type: "command", command: "/bin/true || exit 2", timeout: 600 }] };
const SETTINGS = { hooks: { PreToolUse: [{ hooks: [] }, ENTRY], PostToolUse: [ENTRY], Stop: [{ hooks: [] }] } };
const BEFORE = "sha256:9f3b15208ce6226923cdcbc05f82d7c594855111a7cece4cf6ef2c8231240103";
const AFTER = "sha256:42159278640898efe9dd3d2852317876e71d0628d7ffb0709e5b478b5ffd345f";
const state = (before: object, after: object) => ({
  hooks: { state: { [`${FILE}:pre_tool_use:1:0`]: before, [`${FILE}:post_tool_use:0:0`]: after } },
});

test("Codex runs a hook whose hash its user has agreed to, and no other", () => {
  const trust = (config: object) =>
    codexTrust(["/real/hooks.json", FILE], SETTINGS, config, (entry) => entry === ENTRY);
  expect(trust({})).toEqual({ PreToolUse: "unknown", PostToolUse: "unknown" });
  const agreed = state({ trusted_hash: BEFORE }, { trusted_hash: AFTER });
  expect(trust(agreed)).toEqual({ PreToolUse: "runs", PostToolUse: "runs" });
  expect(trust(state({ trusted_hash: AFTER }, { trusted_hash: AFTER, enabled: false }))).toEqual({
    ...{ PreToolUse: "changed", PostToolUse: "off" },
  });
  expect(trust({ ...agreed, features: { hooks: false } })).toEqual({ PreToolUse: "off", PostToolUse: "off" });
});
