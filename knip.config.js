/**
 * What counts as used, for knip: everything that package.json publishes, the scripts, the tests and the examples, and what those
 * reach. Anything else in the project (files, exports, packages) is dead and fails the check.
 */
import { entriesOf, PAGE, PROCESSES, readManifest } from "./scripts/lib/project.mjs";

/** @type {import("knip").KnipConfig} */
export default {
  entry: [
    ...[...entriesOf(readManifest()), ...PROCESSES, PAGE].map(({ source }) => source),
    "scripts/*.mjs",
    "examples/*",
    "examples/plugins/*",
    "examples/tool/*",
    "bench/spawning-parent.mjs",
    "bench/sandboxing-parent.mjs",
    "bench/peers.mjs",
    "bench/accidents/replay.mjs",
    "bench/store-growth.mjs",
    "bench/simulate-workers.mjs",
    "test/fixtures/**/*.{js,mjs,ts}",
  ],
  project: ["src/**/*.ts", "page/**/*.{ts,tsx}", "scripts/**/*.mjs", "bench/**/*.mjs", "test/**/*.ts", "examples/**"],
  ignoreExportsUsedInFile: { interface: true, type: true },
  // Projects that tests build in the sandbox, and the programs with SDKs, have packages of their own.
  ignore: ["test/fixtures/projects/**", "examples/sdks/**", "bench/peers/**"],
  // Parts of every Linux system, the sandbox's program, and what an sshd, a container and a person at a terminal are made with.
  ignoreBinaries: [
    ...["bwrap", "mkfifo", "shellcheck", "mount", "script", "umount", "unshare"],
    ...["dockerd", "ldd", "script", "ssh-keygen", "useradd", "userdel", "usermod"],
    ...["go", "redis-server"],
  ],
  // Started by their names: by scripts/check.mjs, and what bench/workloads/latency.mjs compares with; and the linter's helper program.
  ignoreDependencies: [
    "@arethetypeswrong/cli",
    "publint",
    "oxlint",
    "oxlint-tsgolint",
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
    ...["@fontsource-variable/inter", "@fontsource-variable/jetbrains-mono"], // named in the page's styles
    "bignumber.js", // a test reads the documentation that it ships
    "@types/json-schema", // the declarations of @ai-sdk/provider import it, and do not install it
  ],
  // The contract is for people who write tools: its types are public whether or not we use each of them ourselves.
  // The types of the API are written as schemas.
  ignoreIssues: { "src/core/contract/**": ["types"], "src/serve/api-types.ts": ["types"] },
};
