import { findConfig } from "./find.ts";
import { type Flags, type Settings, defaultSettings, withFlags } from "./settings.ts";
import { stateFolder } from "./state.ts";

/** The settings of one run, and notices for people. */
export interface Loaded {
  readonly settings: Settings;
  /** Sentences, not safe for a terminal. */
  readonly notices: readonly string[];
}

export interface LoadOptions extends Flags {
  /** The file to use instead of the project's: `--config`. */
  readonly config?: string;
}

/**
 * Loads the settings: flags override files, files override the defaults. Without files, only checks a few paths.
 *
 * @throws ConfigError with all problems of all files.
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
        : [`${project?.shown} ${why}, so these settings have no effect: ${keys}. See: handrail trust`],
  };
}
