import type { PolicySettings } from "../../policy/policy-settings.ts";
import { KEY_FOLDERS } from "../../machine/places/keys.ts";

/** The policy settings that a preset may change. */
type PresetPolicy = Pick<PolicySettings, "workspaceOnly" | "forbiddenPaths" | "forbiddenInSandbox" | "wholeMachine">;

/**
 * The policy defaults of a preset, below the user's own settings. `undefined` when it has none. Call it only with the
 * preset that the user has chosen: a project's file must not loosen the policy by choosing a preset.
 */
export function presetPolicy(preset: string | undefined): PresetPolicy | undefined {
  return preset === undefined ? undefined : PRESET_POLICIES.get(preset);
}

const PRESET_POLICIES: ReadonlyMap<string, PresetPolicy> = new Map([
  // A person administers the machine: asked about what changes it, never refused. Key folders stay forbidden.
  ["operator", { workspaceOnly: false, forbiddenPaths: KEY_FOLDERS, wholeMachine: true }],
  // As their seed has it, a command that names a forbidden path is refused, wherever it runs.
  ["default", { forbiddenInSandbox: true }],
  ["assistant", { forbiddenInSandbox: true }],
]);
