/**
 * Who may import whom in src (drawn in docs/architecture.md), for dependency-cruiser 17, which needs TypeScript below 7: with a
 * newer one it reads no TypeScript at all and finds nothing wrong. scripts/check-layers.mjs therefore counts what was read.
 *
 * The rules do not overlap: one wrong import is reported under one name.
 */
import { LEVELS, pathsIn, pathsOf, restOf, WINGS } from "./scripts/lib/layers.mjs";
import { entriesOf, PAGE, PROCESSES, readManifest } from "./scripts/lib/project.mjs";

const entries = [...entriesOf(readManifest()), ...PROCESSES, PAGE].map(({ source }) => `^${source}$`);

/** Parts of src in an order: what each of them may not import, because it is above or beside it. */
const order = [
  ...forbidUpwards(LEVELS.map((wings) => wings.map((wing) => pathsOf([wing])))),
  ...WINGS.flatMap((wing) => {
    const levels = wing.folders.map((folders) => folders.map((folder) => pathsIn(wing, [folder])));
    return forbidUpwards([...levels, [restOf(wing)]]);
  }),
];

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...order,
    {
      name: "tools-import-no-machine",
      comment:
        "A tool reaches the world through its context, so that it works on every machine. Lists of paths are no machine.",
      severity: "error",
      from: { path: "^src/tools/", pathNot: "^src/tools/(web|plugins|mcp)/" },
      to: { path: "^src/machine/(?!places/)" },
    },
    {
      name: "tools-import-no-tool",
      comment:
        "A tool stands alone (in a file, or in a folder of its own). What several need goes to shared/, which is no tool.",
      severity: "error",
      from: { path: "^src/tools/(?!(?:presets|web|plugins|mcp)/)([^/]+)" },
      to: { path: "^src/tools/", pathNot: ["^src/tools/$1/", "^src/tools/(?:shared|web)/"] },
    },
    {
      name: "one-door-for-programs",
      comment:
        "Programs are found where no tool can write, and started, in one place. The spawner starts what it finds; the bridge runs in the sandbox.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/machine/(programs/start\\.ts$|(spawner|bridge)/)" },
      to: { path: "^(node:)?(child_process|cluster)$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "no-circle",
      comment: "Circles hide what depends on what; type imports count.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "src-imports-only-src",
      comment: "What is shipped does not rest on tests, examples, scripts or benches.",
      severity: "error",
      from: { path: "^(src|page)/" },
      to: { pathNot: "^(src|page)/|node_modules/", dependencyTypes: ["local"] },
    },
    {
      name: "suites-import-only-src",
      comment: "The suites are published; the rest of the tests is not.",
      severity: "error",
      from: { path: "^test/suites/" },
      to: { pathNot: "^(src|test/suites)/|node_modules/", dependencyTypes: ["local"] },
    },
    {
      name: "page-runs-in-a-browser",
      comment: "The console's page takes types, and of code only what needs neither Node nor the rest of Handrail.",
      severity: "error",
      from: { path: "^page/" },
      to: {
        path: "^src/",
        pathNot: [
          "^src/serve/(thread-state|call-line)\\.ts",
          "^src/core/(contract/|util/(boundary|coloured-code|errors|text|unseen)\\.ts)",
          "^src/record/activity/(messages|fold)\\.ts",
        ],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "page-is-built-apart",
      comment: "The server serves the page's files; it imports nothing of them.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^page/" },
    },
    {
      name: "every-file-has-a-wing",
      comment: "A new wing gets its place in scripts/lib/layers.mjs first.",
      severity: "error",
      from: { path: "^src/", pathNot: pathsOf(WINGS) },
      to: {},
    },
    {
      name: "no-unresolvable-import",
      comment: "It leads nowhere.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "packages-are-declared",
      comment:
        "A package that is only there because another brought it may be gone tomorrow: put it into package.json.",
      severity: "error",
      from: {},
      // An optional peer is listed a second time, in peerDependenciesMeta.
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["npm-peer"] },
    },
    {
      name: "no-orphan",
      comment:
        "Nothing that the package exports or runs leads to this file: nobody needs it (tests alone do not count).",
      severity: "error",
      from: { path: entries },
      to: { path: "^(src|page)/", pathNot: entries, reachable: false },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};

/**
 * @param {readonly (readonly string[])[]} levels patterns, lowest first
 * @returns {import("dependency-cruiser").IForbiddenRuleType[]}
 */
function forbidUpwards(levels) {
  return levels.flatMap((level, index) =>
    level.flatMap((path) => {
      const above = levels.slice(index + 1).flat();
      const beside = level.filter((other) => other !== path);
      return [
        ...forbid("no-import-from-above", "A part imports only parts below it.", path, above),
        ...forbid("no-import-from-beside", "Parts on one level do not know each other.", path, beside),
      ];
    }),
  );
}

/**
 * @param {string} name
 * @param {string} comment
 * @param {string} from
 * @param {string[]} to
 * @returns {import("dependency-cruiser").IForbiddenRuleType[]}
 */
function forbid(name, comment, from, to) {
  return to.length === 0 ? [] : [{ name, comment, severity: "error", from: { path: from }, to: { path: to } }];
}
