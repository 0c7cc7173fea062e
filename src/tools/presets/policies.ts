import { KEY_FOLDERS, type PolicySettings } from "../../policy/settings.ts";

/** What a preset may say of the policy. */
type PresetPolicy = Required<Pick<PolicySettings, "workspaceOnly" | "forbiddenPaths">>;

/**
 * What a preset says of the policy in place of the defaults, where the person who chose it says nothing else. `undefined`: nothing. Only what the
 * user has chosen counts: a project's file that chooses a preset loosens nothing by it.
 */
export function presetPolicy(preset: string | undefined): PresetPolicy | undefined {
  return preset === undefined ? undefined : PRESET_POLICIES.get(preset);
}

const PRESET_POLICIES: ReadonlyMap<string, PresetPolicy> = new Map([
  // It looks after the whole machine: outside the working directory a person is asked. Keys stay closed.
  ["operator", { workspaceOnly: false, forbiddenPaths: KEY_FOLDERS }],
]);
