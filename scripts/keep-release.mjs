/**
 * Keeps what this release writes, so that tests show what later releases make of it: `npm run keep-release`, once for each
 * release, before it is published.
 *
 * In:  dist/ (built when stale), the version of package.json, handrail.schema.json.
 * Out: test/fixtures/releases/VERSION/ with a configuration, its schema, and the databases of a short session: two turns
 *      of an agent, calls, a parked call with its open question, a memory, a schedule. Replaces what was there.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { buildIfStale } from "./build.mjs";

const CONFIGURATION = `\
model: demo
park: now
tools: { preset: all, disable: [browser] }
agents:
  reviewer: { toolset: readonly, instructions: "Look for mistakes only.", limits: { rounds: 20 } }
policy:
  autonomy: supervised
  sandbox: off
  commands: { allow: ["npm run lint"], ask: [./release.sh], deny: ["rm -rf /"] }
  network: { allow_hosts: [api.example.org] }
state: { parked_days: 30 }
`;

await buildIfStale();
const root = fileURLToPath(new URL("../", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const kept = join(root, "test", "fixtures", "releases", version);

const home = mkdtempSync(join(tmpdir(), "handrail-release-"));
const [config, state, project] = [join(home, "config"), join(home, "state"), join(home, "project")];
mkdirSync(join(config, "handrail"), { recursive: true });
mkdirSync(project);
writeFileSync(join(config, "handrail", "config.yaml"), CONFIGURATION);
writeFileSync(join(project, "notes.txt"), "one\n");

const env = { PATH: process.env["PATH"], HOME: home, XDG_CONFIG_HOME: config, XDG_STATE_HOME: state };
/** @param {string[]} args */
function handrail(...args) {
  const cli = join(root, "dist", "cli.js");
  process.stdout.write(`$ handrail ${args.join(" ")}\n`);
  try {
    process.stdout.write(execFileSync(process.execPath, [cli, ...args], { cwd: project, env, encoding: "utf8" }));
  } catch (error) {
    process.stdout.write(String(Object(error).stdout)); // the parked call has not succeeded, which is its point
  }
}

handrail("run", "What is here?", "--yes");
handrail("run", "What else?", "--yes", "--continue");
handrail("call", "edit", '{"path":"notes.txt","old_text":"one","new_text":"two"}', "--yes");
handrail("call", "memory_store", '{"key":"tea","content":"Assam, without milk","category":"core"}', "--yes");
handrail("cron", "add", "echo hello", "--cron", "30 2 * * *", "--name", "nightly", "--yes");
handrail("call", "bash", '{"command":"./release.sh"}');

rmSync(kept, { recursive: true, force: true });
mkdirSync(join(kept, "state", "handrail"), { recursive: true });
cpSync(join(config, "handrail"), join(kept, "config", "handrail"), { recursive: true });
cpSync(join(root, "handrail.schema.json"), join(kept, "handrail.schema.json"));
for (const file of readdirSync(join(state, "handrail")).filter((name) => /\.db(-wal)?$/.test(name))) {
  cpSync(join(state, "handrail", file), join(kept, "state", "handrail", file));
}
rmSync(home, { recursive: true });
process.stdout.write(`kept in ${kept}: ${readdirSync(join(kept, "state", "handrail")).join(", ")}\n`);
