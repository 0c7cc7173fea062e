import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { ASKING, type Ask, type Without } from "./asking.ts";
import { type Given, type KeysWith, PROJECT_RULES, type ProjectRule } from "./keys.ts";
import type { Problem } from "./problem.ts";
import type { ConfigFile } from "./read-file.ts";
import type { Located } from "./shape.ts";
import { configFolder } from "./state.ts";
import { TIGHTENING, withRealPaths } from "./tightening.ts";

/** What is left of a project's file. */
export interface Allowed {
  /** Without what waits for trust. */
  readonly given: Given;
  /** What trust gives the file, whether or not it has it. */
  readonly asks: readonly Ask[];
}

/** Holds a project's file to `PROJECT_RULES`. What it may not say at all is added to the problems. */
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
  const kept = Object.entries(given).filter(([key]) => !passedOver.has(key));
  return { given: Object.fromEntries(kept), asks };
}

function keysWith<Rule extends ProjectRule>(rule: Rule): readonly KeysWith<Rule>[] {
  const keys = Object.entries(PROJECT_RULES).filter(([, each]) => each === rule);
  return keys.map(([key]) => key as KeysWith<Rule>);
}
