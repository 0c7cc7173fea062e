import { describe, expect, test } from "vitest";
import { readSettings } from "../../src/config/read-settings.ts";
import { DEFAULT_SETTINGS, defaultSettings } from "../../src/config/settings.ts";
import { KEY_FOLDERS } from "../../src/policy/settings.ts";
import { place } from "./config.ts";

const OPERATOR = "tools: { preset: operator }\n";
const LOOSE = { workspaceOnly: false, forbiddenPaths: KEY_FOLDERS };
const { workspaceOnly, forbiddenPaths } = DEFAULT_SETTINGS.policy;
const STRICT = { workspaceOnly, forbiddenPaths };

describe("what a preset says of the policy", () => {
  test("holds where the user chose it, and where they say nothing else", async () => {
    const { read } = await place();
    expect((await read({ user: OPERATOR })).settings.policy).toMatchObject(LOOSE);
    expect((await read({ named: OPERATOR })).settings.policy).toMatchObject({ workspaceOnly: false });
    expect((await read({ user: `${OPERATOR}policy: { workspace_only: true }\n` })).settings.policy).toMatchObject({
      workspaceOnly: true,
      forbiddenPaths: KEY_FOLDERS,
    });
    expect((await read({ user: `${OPERATOR}policy: { forbidden_paths: [/srv] }\n` })).settings.policy).toMatchObject({
      workspaceOnly: false,
      forbiddenPaths: ["/srv"],
    });
    expect((await read({ user: OPERATOR, named: "tools: { preset: coding }\n" })).settings.policy).toMatchObject({
      workspaceOnly: true,
    });
    expect(defaultSettings("operator").policy).toMatchObject(LOOSE);
    for (const other of [undefined, "coding", "all", "mine", "constructor"]) {
      expect(defaultSettings(other)).toBe(DEFAULT_SETTINGS);
    }
  });

  test("is not for a project to choose", async () => {
    const { read, trust } = await place();
    const untrusted = await read({ project: OPERATOR });
    expect(untrusted.settings.tools.preset).toBe("operator");
    expect(untrusted.settings.policy).toMatchObject(STRICT);
    const chosen = await read({ user: "tools: { preset: coding }\n", project: OPERATOR });
    expect(chosen.settings.policy).toMatchObject(STRICT);
    if (chosen.project === undefined) throw new Error("there is no project");
    await trust.record(chosen.project.file);
    const trusted = await read({ user: "tools: { preset: coding }\n", project: OPERATOR });
    expect(trusted.settings.tools.preset).toBe("operator");
    expect(trusted.settings.policy).toMatchObject(STRICT);
  });

  test("of the user's goes when a project takes another preset, and a project tightens it", async () => {
    const { read, problems } = await place();
    expect((await read({ user: OPERATOR, project: "tools: { preset: readonly }\n" })).settings).toMatchObject({
      tools: { preset: "readonly" },
      policy: STRICT,
    });
    expect((await read({ user: OPERATOR, project: "tools: { disable: [time] }\n" })).settings.policy).toMatchObject(
      LOOSE,
    );
    expect(
      (await read({ user: OPERATOR, project: "policy: { workspace_only: true, forbidden_paths: [/srv] }\n" })).settings
        .policy,
    ).toMatchObject({ workspaceOnly: true, forbiddenPaths: [...KEY_FOLDERS, "/srv"] });
    expect(
      await problems({ user: "tools: { preset: coding }\n", project: "policy: { workspace_only: false }\n" }),
    ).toHaveLength(1);
  });

  test("comes with the preset that a flag says, before those of the files", async () => {
    const { read, user, trust } = await place();
    await read({ user: "tools: { preset: coding }\n" });
    expect((await readSettings({ user }, { trust, preset: "operator" })).settings.policy).toMatchObject(LOOSE);
    await read({ user: OPERATOR });
    expect((await readSettings({ user }, { trust, preset: "coding" })).settings.policy).toMatchObject(STRICT);
  });
});
