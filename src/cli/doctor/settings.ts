import { isElsewhere } from "../../backends/place.ts";
import { loadSettings } from "../../config/load.ts";
import { type Settings, defaultSettings } from "../../config/settings.ts";
import type { GlobalOptions } from "../options.ts";

/** The settings; the defaults where a file is not valid, which the check of the configuration reports. */
export async function settingsOf(options: GlobalOptions): Promise<Settings> {
  const { config, preset, sandbox } = options;
  const workDir = isElsewhere(options) ? undefined : options.workDir;
  const flags = {
    ...(preset !== undefined && { preset }),
    ...(workDir !== undefined && { workDir }),
    ...(sandbox !== undefined && { sandbox }),
  };
  return loadSettings({ ...flags, ...(config !== undefined && { config }) }).then(
    ({ settings }) => settings,
    () => defaultSettings(preset),
  );
}
