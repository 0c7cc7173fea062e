import type { CommandSpec, Finding, Use } from "../spec.ts";

/** Subcommands of npm, pnpm and yarn that show or change their settings. */
export const NODE_SETTINGS: readonly CommandSpec[] = [
  {
    names: ["set"],
    risk: "medium",
    why: "changes the settings of the package manager",
    options: { flags: "-g --global", values: { "-L --location": "text" } },
    operands: { rest: "text" },
    refine: ({ operands }) => deciding(operands.map(({ value }) => value)),
    match: ["npm set fund=false", "yarn set version stable"],
    notMatch: ["npm set script-shell=./p.sh"],
  },
  {
    names: ["config", "c", "get"],
    risk: "medium",
    why: "shows or changes the settings of the package manager",
    options: { flags: "--json -l --long -g --global", values: { "-L --location": "text" } },
    operands: { rest: "text" },
    refine: programSetting,
    match: ["npm config get registry", "npm config set fund false"],
    notMatch: ["npm config set script-shell ./p.sh", "npm config set git /tmp/git"],
  },
];

// Settings whose value npm runs, or loads programs from. Source: npm-config.
const RUNS = new RegExp(
  "(^|-)(script-shell|shell|git|editor|viewer|browser|node-options|init-module|onload-script|globalconfig|userconfig|" +
    "prefix|node-gyp|ignore-scripts|unsafe-perm|registry)(=|$)",
);

function programSetting({ operands }: Use): readonly Finding[] {
  const [action, ...settings] = operands.map(({ value }) => value);
  if (action === "get" || action === "list" || action === "ls") return [];
  if (action === "edit") return [{ kind: "risk", risk: "high", why: "opens an editor" }];
  return deciding(settings);
}

function deciding(settings: readonly (string | undefined)[]): readonly Finding[] {
  const found = settings.find((key) => key === undefined || RUNS.test(key.replace(/^.*:/, "")));
  return settings.length > 0 && found !== undefined
    ? [{ kind: "unclear", risk: "medium", why: `the setting ${found} decides which programs run` }]
    : [];
}
