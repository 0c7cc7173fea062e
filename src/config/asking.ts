import { type ToolChoice, chosenTools } from "../tools/presets/choose.ts";
import type { Given, KeysWith } from "./keys.ts";
import { toolsetsIn } from "./layer.ts";
import type { Place } from "./problem.ts";
import type { Settings } from "./settings.ts";

/** Something in a project's file that takes effect only when the user trusts it. */
export interface Ask {
  readonly key: string;
  readonly place: Place;
  /** What trust would give it, for people: "commands get GITHUB_TOKEN from your environment". Not fit for a terminal yet. */
  readonly gives: string;
}

/** What holds without the project's file. */
export interface Without {
  readonly settings: Settings;
  /** The user's own file says which preset. */
  readonly choseTools: boolean;
}

type Rule<K extends KeysWith<"when trusted">> = (
  given: NonNullable<Given[K]>,
  all: Given,
  without: Without,
) => string | undefined;

/** What trust would give a project's value; `undefined` when it needs none. */
export const ASKING: { readonly [K in KeysWith<"when trusted">]: Rule<K> } = {
  "tools.preset": ({ value: preset }, all, { settings, choseTools }) => {
    if (!choseTools) return undefined;
    const { toolsets } = settings;
    const own = actingTools({ preset: settings.tools.preset, toolsets });
    const added = actingTools({ preset, toolsets: { ...toolsets, ...toolsetsIn(all) } }).filter(
      (name) => !own.includes(name),
    );
    return added.length === 0 ? undefined : `tools that act and that your own choice leaves out: ${added.join(", ")}`;
  },
  model: ({ value: { provider, name, baseUrl } }) =>
    `what you ask and what tools read goes to the model ${provider}:${name}${baseUrl === undefined ? "" : ` at ${baseUrl}`}`,
  agents: ({ value }) => {
    const names = Object.keys(value);
    return names.length === 0
      ? undefined
      : `agents with a model, tools and instructions of the project's: ${names.join(", ")}`;
  },
  "policy.env.pass": ({ value: names }) =>
    names.length === 0 ? undefined : `commands get ${names.join(", ")} from your environment`,
};

/** Those that do more than look. A preset that is not there has none; that it is not there is said elsewhere. */
function actingTools(choice: ToolChoice): readonly string[] {
  try {
    const acting = chosenTools(choice, { terminal: true }).filter(({ touches }) =>
      touches.some((kind) => kind !== "read" && kind !== "output"),
    );
    return acting.map(({ name }) => name);
  } catch {
    return [];
  }
}
