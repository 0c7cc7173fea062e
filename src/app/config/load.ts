import { type Here, findConfig, hereOf } from "./find.ts";
import { type Given, type Settings, defaultsFor, over, settingsOf, variablesIn } from "./settings.ts";
import { stateFolder } from "./state.ts";
import { plural } from "../../core/util/text.ts";

const MOST_WARNINGS = 5;
const INSTEAD =
  "Wrong entries of a list have no effect, a wrong value of the policy counts as the strictest one; otherwise your own " +
  "settings apply, and what was and is valid in this file";

/** The settings of one run, and notices for people. */
export interface Loaded {
  readonly settings: Settings;
  /** Sentences, not safe for a terminal. */
  readonly notices: readonly string[];
}

export interface LoadOptions extends Partial<Here> {
  /** The file to use instead of the project's: `--config`. */
  readonly config?: string;
  /** The folder in which the search for the project's file begins. Default: the current folder. */
  readonly from?: string;
  readonly flags?: Given;
}

/**
 * Loads the settings of the files, the environment and the flags. Without files and variables, only checks a few paths.
 *
 * @throws ConfigError with all problems of the user's files and the environment. Those of a project's file are notices.
 */
export async function loadSettings({ config, from, flags = {}, ...given }: LoadOptions = {}): Promise<Loaded> {
  const here = hereOf(given);
  const files = findConfig({
    ...here,
    ...(config !== undefined && { named: config }),
    ...(from !== undefined && { from }),
  });
  if (Object.keys(files).length === 0 && variablesIn(here.env).length === 0) {
    const settings = settingsOf(over(defaultsFor(flags["tools.preset"]), flags, "user"));
    return { settings, notices: [] };
  }
  const [{ readSettings }, { createTrust }, { lastValidIn }, { problemLine }] = await Promise.all([
    import("./read-settings.ts"),
    import("./trust.ts"),
    import("./last-valid.ts"),
    import("./problem.ts"),
  ]);
  const state = stateFolder(here.env);
  const [trust, lastValid] = [createTrust(state), lastValidIn(state)];
  const { settings, project, warnings } = await readSettings(files, { ...here, trust, lastValid, flags });
  const passedOver = project?.standing === "trusted" ? [] : (project?.asks ?? []);
  const why = project?.standing === "changed" ? "has changed since you trusted it" : "is not trusted";
  const keys = [...new Set(passedOver.map(({ key }) => key))].join(", ");
  return {
    settings,
    notices: [
      ...warnings.slice(0, MOST_WARNINGS).map(problemLine),
      ...(warnings.length === 0 ? [] : [`${project?.shown}: ${plural(warnings.length, "problem")}. ${INSTEAD}`]),
      ...(passedOver.length === 0
        ? []
        : [`${project?.shown} ${why}, so these settings have no effect: ${keys}. See: handrail trust`]),
    ],
  };
}
