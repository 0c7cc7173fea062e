import { oneLine } from "../../core/output/terminal-text.ts";
import { type CheckGroup, type Checked, runChecks } from "../doctor/check.ts";
import { checks } from "../doctor/checks.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { write } from "../say.ts";

/**
 * Prints what works on this machine, and what to type where something does not. Exit code 1 when a required check
 * fails.
 */
export async function run({ json, ...options }: GlobalOptions & { json?: true }): Promise<number> {
  const found = await runChecks(checks(options));
  const isWell = found.every(({ required, status }) => !required || status === "ok");
  const code = isWell ? EXIT.ok : EXIT.notSucceeded;
  const text = json ? JSON.stringify({ ok: isWell, checks: found.map(plain) }, null, 2) : report(found);
  await write(options.io, `${text}\n`);
  // A check that hangs in a system call cannot be ended, and would keep this process alive.
  if (found.some(({ timedOut }) => timedOut)) options.io.exit(code);
  return code;
}

function report(found: readonly Checked[]): string {
  const groups = [...new Set(found.map(({ group }) => group))];
  const ofGroup = (name: CheckGroup) => found.filter(({ group }) => group === name).map(lines);
  return groups.map((name) => [`${name}:`, ...ofGroup(name)].join("\n")).join("\n");
}

function plain({ timedOut: _, ...finding }: Checked): object {
  return finding;
}

function lines(finding: Checked): string {
  const { name, required, status, detail } = finding;
  const optional = required || status === "ok" ? "" : " (optional)";
  const [first = "", ...more] = detail.split("\n").map((line) => oneLine(line, 1_000));
  const fix = finding.status === "ok" ? [] : [`fix: ${oneLine(finding.fix, 1_000)}`];
  return [
    `${status.padEnd(STATUS_WIDTH)}  ${name.padEnd(NAME_WIDTH)}  ${first}${optional}`,
    ...[...more, ...fix].map((line) => " ".repeat(STATUS_WIDTH + NAME_WIDTH + 4) + line),
  ].join("\n");
}

const STATUS_WIDTH = "missing".length;
const NAME_WIDTH = "configuration".length;
