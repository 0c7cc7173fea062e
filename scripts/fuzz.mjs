/**
 * Tests the policy with many generated shell scripts: `npm run fuzz -- [SCRIPTS] [SEED]`. The scripts really run, in
 * bubblewrap. The policy must have seen everything that they execute (test/policy/oracle.test.ts). Scripts that it
 * considers plain must do exactly what it read, and no harm (fidelity and harm in test/policy/plain/). `npm test` runs
 * a few hundred of each.
 *
 * In:  the number of scripts (default 20,000), and the seed of the generator (default: a new one each time, which is
 *      printed at the start).
 * Out: the failing scripts, reduced if possible, and exit code 1; otherwise exit code 0.
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
const tests = ["oracle", "plain/fidelity", "plain/harm"].map((name) => `test/policy/${name}.test.ts`);
const { status } = spawnSync(process.execPath, [vitest, "run", ...tests], {
  cwd: projectRoot,
  stdio: "inherit",
  env: { ...process.env, FUZZ_SCRIPTS: scripts, FUZZ_SEED: seed },
});
process.exitCode = status ?? 1;
