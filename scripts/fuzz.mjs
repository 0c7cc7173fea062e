/**
 * The execution oracle at length: `npm run fuzz -- [SCRIPTS] [SEED]`. Generated shell scripts run in bubblewrap, and whatever they really
 * execute must have been seen by the policy (test/policy/oracle.test.ts, which runs 200 of them with every `npm test`).
 *
 * In:  how many scripts (default 20,000), and the seed of the generator (default: another one each time; it is said at the start).
 * Out: the smallest script found that runs something unseen, and exit 1; or exit 0.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { projectRoot } from "./lib/project.mjs";

const [scripts = "20000", seed = String(Math.floor(Math.random() * 2 ** 31))] = process.argv.slice(2);
if (![scripts, seed].every((number) => /^\d{1,10}$/.test(number))) {
  process.stderr.write(
    `fuzz: expected numbers, as in \`npm run fuzz -- 20000 42\`; got ${process.argv.slice(2).join(" ")}\n`,
  );
  process.exit(2);
}
process.stderr.write(`fuzz: ${scripts} scripts, seed ${seed}. The same again: npm run fuzz -- ${scripts} ${seed}\n`);
const vitest = join(projectRoot, "node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", "test/policy/oracle.test.ts"], {
  cwd: projectRoot,
  stdio: "inherit",
  env: { ...process.env, FUZZ_SCRIPTS: scripts, FUZZ_SEED: seed },
});
process.exitCode = status ?? 1;
