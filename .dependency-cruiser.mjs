/**
 * Who may import whom in src (drawn in docs/architecture.md), for dependency-cruiser 17, which needs TypeScript below 7: with a
 * newer one it reads no TypeScript at all and finds nothing wrong. scripts/check-layers.mjs therefore counts what was read.
 *
 * The rules do not overlap: one wrong import is reported under one name.
 */
import { LEVELS, pathsOf, ROOMS } from "./scripts/lib/layers.mjs";
import { entriesOf, PAGE, PROCESSES, readManifest } from "./scripts/lib/project.mjs";

/** Reported under their own names below, with the reason that is theirs. */
const RULED_APART = {
  contract: ROOMS,
  engine: ["tools", "backends", "policy"],
  tools: ["backends"],
};

const entries = [...entriesOf(readManifest()), ...PROCESSES, PAGE].map(({ source }) => `^${source}$`);

/** @type {import("dependency-cruiser").IForbiddenRuleType[]} */
const order = LEVELS.flatMap((level, index) =>
  level.flatMap(({ name }) => {
    const apart = /** @type {Record<string, string[]>} */ (RULED_APART)[name] ?? [];
    const unless = (/** @type {string[]} */ rooms) => rooms.filter((room) => !apart.includes(room));
    const above = unless(LEVELS.slice(index + 1).flatMap((rooms) => rooms.map((room) => room.name)));
    const beside = unless(level.map((room) => room.name).filter((room) => room !== name));
    return [
      ...forbid("no-import-from-above", "A room imports only rooms below it.", name, above),
      ...forbid("no-import-from-beside", "Rooms on one level do not know each other.", name, beside),
    ];
  }),
);

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...order,
    {
      name: "contract-imports-nothing-of-ours",
      comment: "Everything rests on the contract; it rests on nothing.",
      severity: "error",
      from: { path: pathsOf(["contract"]) },
      to: { path: "^src/", pathNot: pathsOf(["contract"]) },
    },
    {
      name: "engine-knows-no-tool-backend-or-policy",
      comment: "The engine gets them handed in, so that any can be replaced.",
      severity: "error",
      from: { path: pathsOf(["engine"]) },
      to: { path: pathsOf(RULED_APART.engine) },
    },
    {
      name: "tools-import-no-backend",
      comment: "A tool reaches the world through its context, so that it works on every backend.",
      severity: "error",
      from: { path: pathsOf(["tools"]) },
      to: { path: pathsOf(["backends"]) },
    },
    {
      name: "tools-import-no-tool",
      comment:
        "A tool stands alone (in a file, or in a folder of its own). What several need goes to shared/, which is no tool.",
      severity: "error",
      from: { path: "^src/tools/(?!presets/)([^/]+)" },
      to: { path: "^src/tools/", pathNot: ["^src/tools/$1/", "^src/tools/shared/"] },
    },
    {
      name: "one-door-for-programs",
      comment:
        "Programs are found where no tool can write, and started, in one place. The spawner starts what it finds; the bridge runs in the sandbox.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(machine/start\\.ts$|backends/(spawner|bridge)/)" },
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
      from: { path: "^src/" },
      to: { pathNot: "^src/|node_modules/", dependencyTypes: ["local"] },
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
      from: { path: "^src/console/page/" },
      to: {
        path: "^src/",
        pathNot: [
          "^src/console/(page/|thread-state\\.ts|call-line\\.ts)",
          "^src/(contract/|activity/(messages|fold)\\.ts|util/(boundary|coloured-code|errors|text|unseen)\\.ts)",
        ],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "page-is-built-apart",
      comment: "The server serves the page's files; it imports nothing of them.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/console/page/" },
      to: { path: "^src/console/page/" },
    },
    {
      name: "every-file-has-a-room",
      comment: "A new room gets its place in scripts/lib/layers.mjs first.",
      severity: "error",
      from: { path: "^src/", pathNot: pathsOf(ROOMS) },
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
      to: { path: "^src/", pathNot: entries, reachable: false },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};

/**
 * @param {string} name
 * @param {string} comment
 * @param {string} room
 * @param {string[]} others
 * @returns {import("dependency-cruiser").IForbiddenRuleType[]}
 */
function forbid(name, comment, room, others) {
  if (others.length === 0) return [];
  return [{ name, comment, severity: "error", from: { path: pathsOf([room]) }, to: { path: pathsOf(others) } }];
}
