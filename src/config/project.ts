import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { ASKING, type Ask, type Without } from "./asking.ts";
import { type Given, type KeysWith, PROJECT_RULES, type ProjectRule } from "./keys.ts";
import type { Problem } from "./problem.ts";
import type { ConfigFile } from "./read-file.ts";
import type { Located } from "./shape.ts";
import { configFolder } from "./state.ts";
import { held } from "./mcp.ts";
import { TIGHTENING, withRealPaths } from "./tightening.ts";

/** The part of a project's file that may take effect. */
export interface Allowed {
  /** Without what waits for trust. */
  readonly given: Given;
  /** What trust allows or would allow. */
  readonly asks: readonly Ask[];
}

/** Applies `PROJECT_RULES` to a project's file. Adds forbidden values to the problems. */
export function allowedOfProject(file: ConfigFile, without: Without, trusted: boolean, problems: Problem[]): Allowed {
  const project = { folder: dirname(file.path), home: homedir() };
  const given = withRealPaths(file.given, project);
  const asks = [...file.leftOut];
  const passedOver = new Set<string>();
  const advice = `Set it in ${join(configFolder(), "config.yaml")}, or name this file with --config`;

  const tighten = <K extends KeysWith<"tightening">>(key: K, rule: (typeof TIGHTENING)[K]) => {
    const value = given[key];
    if (!value) return;
    for (const { place, at = "", message } of rule(value, without.settings, project)) {
      problems.push({ file: file.shown, place, key: `${key}${at}`, message: `${message}. ${advice}` });
    }
  };
  const ask = <K extends KeysWith<"when trusted">>(key: K, rule: (typeof ASKING)[K]) => {
    const value = given[key];
    if (!value) return;
    const gives = rule(value, given, without);
    if (gives === undefined) return;
    asks.push({ key, place: (value as Located<unknown>).place, gives });
    if (!trusted) passedOver.add(key);
  };

  for (const key of keysWith("tightening")) tighten(key, TIGHTENING[key]);
  for (const key of keysWith("when trusted")) ask(key, ASKING[key]);
  for (const key of keysWith("never")) {
    const value = given[key];
    if (value === undefined) continue;
    problems.push({ file: file.shown, place: value.place, key, message: `a project cannot set this. ${advice}` });
  }
  const kept: Given = Object.fromEntries(Object.entries(given).filter(([key]) => !passedOver.has(key)));
  // Plugins count here, so that the names of their tools are not reported as unknown.
  const plugins = given["tools.plugins"];
  const isWithoutPlugins = plugins === undefined || !passedOver.has("tools.plugins");
  const heldPlugins = plugins?.value.map((each) => ({ ...each, project: "not trusted" as const })) ?? [];
  const modules = given["tools.modules"];
  const isWithoutModules = modules === undefined || !passedOver.has("tools.modules");
  const heldModules = modules?.value.map((each) => ({ ...each, project: "not trusted" as const })) ?? [];
  const mcp = given["tools.mcp"];
  const isWithoutMcp = mcp === undefined || !passedOver.has("tools.mcp");
  return {
    given: {
      ...kept,
      ...(!isWithoutPlugins && { "tools.plugins": { ...plugins, value: heldPlugins } }),
      ...(!isWithoutModules && { "tools.modules": { ...modules, value: heldModules } }),
      ...(!isWithoutMcp && { "tools.mcp": { ...mcp, value: held(mcp.value) } }),
    },
    asks,
  };
}

function keysWith<Rule extends ProjectRule>(rule: Rule): readonly KeysWith<Rule>[] {
  const keys = Object.entries(PROJECT_RULES).filter(([, each]) => each === rule);
  return keys.map(([key]) => key as KeysWith<Rule>);
}
