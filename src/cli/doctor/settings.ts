import { type Settings, defaultSettings } from "../../config/settings.ts";
import type { GlobalOptions } from "../options.ts";
import { loadedSettings } from "../settings.ts";

/** The settings. What is wrong with files and options the check of the configuration reports: then they are the defaults. */
export async function settingsOf(options: GlobalOptions): Promise<Settings> {
  return loadedSettings(options).then(
    ({ settings }) => settings,
    () => defaultSettings(options.preset),
  );
}
