import { type Settings, defaultSettings } from "../../config/settings.ts";
import type { GlobalOptions } from "../options.ts";
import { loadedSettings } from "../settings.ts";

/** Returns the settings, or the defaults if they are invalid: the check of the configuration reports errors. */
export async function settingsOf(options: GlobalOptions): Promise<Settings> {
  return loadedSettings(options).then(
    ({ settings }) => settings,
    () => defaultSettings(options.preset),
  );
}
