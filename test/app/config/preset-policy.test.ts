import { describe, expect, test } from "vitest";
import { readSettings } from "../../../src/app/config/read-settings.ts";
import { DEFAULT_SETTINGS, defaultSettings } from "../../../src/app/config/settings.ts";
import { KEY_FOLDERS } from "../../../src/machine/places/keys.ts";
import { place } from "./config.ts";

const OPERATOR = "tools: { preset: operator }\n";
const LOOSE = { workspaceOnly: false, forbiddenPaths: KEY_FOLDERS };
const { workspaceOnly, forbiddenPaths } = DEFAULT_SETTINGS.policy;
const STRICT = { workspaceOnly, forbiddenPaths };

describe("the policy defaults of a preset", () => {
  test("apply if the user chose it, and only to what the user does not set", async () => {
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

  test("cannot be chosen by a project", async () => {
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

  test("of the user do not apply when a project sets another preset, and a project tightens them", async () => {
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

  test("are those of the preset in a flag, before those of the files", async () => {
    const { read, user, trust } = await place();
    await read({ user: "tools: { preset: coding }\n" });
    expect(
      (await readSettings({ user }, { trust, flags: { "tools.preset": "operator" } })).settings.policy,
    ).toMatchObject(LOOSE);
    await read({ user: OPERATOR });
    expect(
      (await readSettings({ user }, { trust, flags: { "tools.preset": "coding" } })).settings.policy,
    ).toMatchObject(STRICT);
  });
});
