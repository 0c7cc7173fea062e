import { findConfig } from "./find.ts";
import { type Flags, type Settings, defaultSettings, withFlags } from "./settings.ts";
import { stateFolder } from "./state.ts";

/** The settings of one run, and what a person should know of them. */
export interface Loaded {
  readonly settings: Settings;
  /** Not fit for a terminal yet. */
  readonly notices: readonly string[];
}

export interface LoadOptions extends Flags {
  /** The file to use in place of the project's: `--config`. */
  readonly config?: string;
}

/**
 * Settings from files and flags over the defaults. Where there is no file, this is a few looks at the disk.
 *
 * @throws ConfigError with everything that is wrong in any of the files.
 */
export async function loadSettings({ config, ...flags }: LoadOptions = {}): Promise<Loaded> {
  const files = findConfig({
    ...(config !== undefined && { named: config }),
    ...(flags.workDir !== undefined && { from: flags.workDir }),
  });
  if (Object.keys(files).length === 0) {
    return { settings: withFlags(defaultSettings(flags.preset), flags), notices: [] };
  }
  const [{ readSettings }, { createTrust }] = await Promise.all([import("./read-settings.ts"), import("./trust.ts")]);
  const { settings, project } = await readSettings(files, {
    trust: createTrust(stateFolder()),
    ...(flags.preset !== undefined && { preset: flags.preset }),
  });
  const passedOver = project?.standing === "trusted" ? [] : (project?.asks ?? []);
  const why = project?.standing === "changed" ? "has changed since you trusted it" : "is not trusted";
  const keys = [...new Set(passedOver.map(({ key }) => key))].join(", ");
  return {
    settings: withFlags(settings, flags),
    notices:
      passedOver.length === 0
        ? []
        : [`${project?.shown} ${why}, so this in it has no effect: ${keys}. See: handrail trust`],
  };
}
