import { dirname, join } from "node:path";
import { type ToolChoice, chosenTools } from "../../tools/presets/choose.ts";
import type { Problem } from "./problem.ts";
import type { Around } from "./project-rules.ts";
import type { Ask, ConfigFile } from "./read-file.ts";
import { type Key, ROW_OF } from "./rows.ts";
import { type Given, over } from "./settings.ts";
import { configFolder, homeOf } from "./state.ts";

/** The part of a project's file that may take effect. */
export interface Allowed {
  /** The settings, without those that wait for trust. */
  readonly given: Given;
  /** What trust allows or would allow. */
  readonly asks: readonly Ask[];
}

/** What applies without the project's file. */
export interface Without {
  readonly settings: Given;
  /** True if the user sets the preset. */
  readonly choseTools: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** Applies the rules for projects to a project's file. Adds forbidden values to the problems, and leaves them out. */
export function allowedOfProject(
  file: ConfigFile,
  { settings: own, choseTools, env }: Without,
  trusted: boolean,
  problems: Problem[],
): Allowed {
  const advice = `Set it in ${join(configFolder(env), "config.yaml")}, or name this file with --config`;
  const asks = [...file.leftOut];
  const kept: { [key: string]: unknown } = {};
  const around: Around = {
    folder: dirname(file.path),
    home: homeOf(env),
    forbidden: own["policy.forbidden_paths"] ?? [],
    addedTools(preset) {
      if (!choseTools) return [];
      const { toolsets } = over({ toolsets: own.toolsets ?? {} }, { toolsets: file.given.toolsets ?? {} }, "project");
      const yours = actingTools({ preset: own["tools.preset"] ?? "", toolsets: own.toolsets ?? {} });
      return actingTools({ preset, toolsets: toolsets ?? {} }).filter((name) => !yours.includes(name));
    },
  };
  // in the order of the rows, so that the asks of a file are always listed in the same order
  for (const [key, { project }] of Object.entries(ROW_OF)) {
    const value = file.given[key as Key];
    if (value === undefined) continue;
    const path = key.split(".");
    const refuse = (at: readonly string[], message: string) =>
      problems.push(file.problem([...path, ...at], `${message}. ${advice}`));
    if (project.rule === "never") refuse([], "a project cannot set this");
    else if (project.rule === "free") kept[key] = value;
    else if (project.rule === "tightens") {
      const complaints = project.complaints(value, own[key as Key], around);
      if (complaints.length === 0) kept[key] = project.real?.(value, around) ?? value;
      for (const { at, message } of complaints) refuse(at, message);
    } else {
      const gives = project.gives(value, around);
      const { place } = file.problem(path, "");
      if (gives !== undefined && place !== undefined) asks.push({ key, place, gives });
      const standing = trusted || gives === undefined ? "trusted" : "not trusted";
      // What is marked counts, so that the names of its tools are not reported as unknown.
      if (project.mark !== undefined) kept[key] = project.mark(value, standing);
      else if (standing === "trusted") kept[key] = value;
    }
  }
  return { given: kept, asks };
}

/** Returns the tools that do more than look. An unknown preset has none here; other code reports it. */
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
