import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createToolkit } from "handrail";
import { within } from "./shared.mjs";

const TYPICAL = [
  "git status",
  "ls -la src",
  "npm test",
  "grep -rn TODO src | head -20",
  "git add -A && git commit -m 'fix: words'",
  "find . -name '*.test.ts' -not -path './node_modules/*'",
  "cd packages/app && npm run build",
  "rm -rf dist",
  "python3 -m pytest -q tests",
  "cat package.json",
];

const ROUNDS = 20;

/** Scripts of 16 KiB that are the most expensive to judge, each one pattern repeated. */
const ADVERSARIAL = [
  "$(",
  "{a,b}",
  "`echo ",
  "((",
  "if true; then ",
  "a|",
  "$(echo 'x' $(",
  "env ",
  "sh -c 'sh -c \"",
  "cat <<A\n",
  "x=${y:-${",
  "ls a* ",
  "cd .. && ",
  "git -c a=b ",
];

/** @type {readonly import("./shared.mjs").Workload[]} */
export const POLICY = [
  {
    name: "verdict",
    what: "the policy's word on a typical command, warm",
    unit: "ms",
    scale: 1 / (ROUNDS * TYPICAL.length),
    target: within(0.3, "ms"),
    async prepare(folder) {
      const toolkit = await toolkitFor(folder);
      return {
        ours: async () => {
          for (let round = 0; round < ROUNDS; round++)
            for (const command of TYPICAL) await toolkit.judge([{ kind: "exec", command }]);
        },
        cleanUp: () => toolkit.close(),
      };
    },
  },
  {
    name: "verdict-worst",
    what: "the slowest of 14 adversarial scripts of 16 KiB",
    rounds: 3,
    target: within(100, "ms"),
    async prepare(folder) {
      const toolkit = await toolkitFor(folder);
      const scripts = ADVERSARIAL.map((part) => part.repeat(16_384 / part.length).slice(0, 16_384));
      return {
        measuresItself: true,
        ours: async () => {
          let slowest = 0;
          for (const command of scripts) {
            const started = performance.now();
            await toolkit.judge([{ kind: "exec", command }]);
            slowest = Math.max(slowest, performance.now() - started);
          }
          return slowest;
        },
        cleanUp: () => toolkit.close(),
      };
    },
  },
];

/** @param {string} folder */
function toolkitFor(folder) {
  const workDir = join(folder, "policy");
  mkdirSync(join(workDir, "src"), { recursive: true });
  mkdirSync(join(workDir, "packages", "app"), { recursive: true });
  return createToolkit({ workDir, stateDir: join(folder, "policy-state") });
}
