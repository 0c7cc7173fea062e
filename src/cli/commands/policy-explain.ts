import type { Decision, DecisionPart, Verdict } from "../../core/contract/decision.ts";
import type { Effect } from "../../core/contract/effect.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { describeEffect } from "../../policy/describe.ts";
import { longestGrant } from "../../policy/scopes.ts";

/** The middle of longer texts is left out. In characters. */
const MAX_SHOWN = 2_000;
/** The maximum number of listed parts of a script, and of characters of each part. */
const MAX_PARTS = 40;
const MAX_PART = 200;

/**
 * Returns a decision as text for people: the verdict in words, the rule and the reason, the decision on each part of a
 * command, what could be granted, and what would be accepted instead. Safe for a terminal, with a newline at the end.
 *
 * @param colour whether the verdicts are coloured
 */
export function explain(decision: Decision, effects: readonly Effect[], colour: boolean): string {
  const { verdict, risk, reason, rule } = decision;
  const what = effects.map((effect) => oneLine(describeEffect(effect), MAX_SHOWN)).join("\n");
  const because = reason === undefined ? [] : [oneLine(reason, MAX_SHOWN)];
  const blocks: readonly (readonly string[])[] = [
    [what],
    [
      `${painted(SAYS[verdict], verdict, colour)} (${risk} risk, rule ${oneLine(rule ?? "none", MAX_PART)})`,
      ...because,
      ...whereLines(decision),
    ],
    partLines(decision, colour),
    scopeLines(decision),
    acceptedLines(decision),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}

const SAYS: { readonly [V in Verdict]: string } = {
  allow: "Runs: nobody is asked.",
  ask: "Needs approval: a person is asked.",
  deny: "Refused: it does not run, and nobody is asked.",
};

/** Returns where a command would run; nothing without a sandbox. */
function whereLines({ verdict, within }: Decision): readonly string[] {
  if (verdict === "deny" || within === undefined) return [];
  if (within === "none") return ["It runs outside the sandbox: it can do what you can."];
  const { network = [], write = [], read = [], readOnly = false, hideSensitive = false } = within;
  const written = readOnly ? "nothing" : ["only the workspace", ...write.map((path) => `and ${path}`)].join(" ");
  const reached = network.length === 0 ? "it has no network" : `it reaches only ${network.join(" ")}`;
  const seen = read.length === 0 ? "" : `; it may read ${read.join(" ")}`;
  const hidden = hideSensitive
    ? ["It does not see the workspace's secrets (.env, keys …) unless a person approves its hosts for this very call."]
    : [];
  return [oneLine(`It runs in the sandbox: it can write ${written}; ${reached}${seen}.`, MAX_SHOWN), ...hidden];
}

/** Returns a line for each part. Returns none for a single part, because it would repeat the decision. */
function partLines({ parts = [] }: Decision, colour: boolean): readonly string[] {
  if (parts.length < 2) return [];
  const more = parts.length - MAX_PARTS;
  return [
    "Parts:",
    ...parts.slice(0, MAX_PARTS).flatMap((part) => partLine(part, colour)),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function partLine({ text, verdict, risk, rule, reason }: DecisionPart, colour: boolean): readonly string[] {
  const padding = " ".repeat(9 - WORDS[verdict].length);
  const head = `  ${painted(WORDS[verdict], verdict, colour)}${padding}${oneLine(text, MAX_PART)}`;
  const why = reason === undefined ? "" : `: ${oneLine(reason, MAX_PART * 2)}`;
  return [head, `           ${risk} risk, ${oneLine(rule ?? "none", MAX_PART)}${why}`];
}

const WORDS: { readonly [V in Verdict]: string } = { allow: "runs", ask: "asked", deny: "refused" };

/** Returns what an approval longer than "once" would cover. */
function scopeLines({ verdict, scopes = [] }: Decision): readonly string[] {
  if (verdict !== "ask" || scopes.length === 0) return [];
  const labels = [...new Set(scopes.map(({ label }) => `  ${oneLine(label, MAX_PART)}`))];
  const more = labels.length - MAX_PARTS;
  const answers = longestGrant({ scopes }) === "session" ? '"session"' : '"session" or "always"';
  const listed = [...labels.slice(0, MAX_PARTS), ...(more > 0 ? [`  and ${more} more`] : [])];
  return [`The answer ${answers} would allow exactly this, in this workspace:`, ...listed];
}

function acceptedLines({ verdict, rule = "" }: Decision): readonly string[] {
  if (verdict === "allow") return [];
  const all = (Object.hasOwn(ACCEPTED, rule) ? ACCEPTED[rule] : OWN_RULE) ?? [];
  const accepted = all.filter((line) => line !== YES || verdict === "ask"); // nobody is asked about what is denied
  return accepted.length === 0 ? [] : ["What would be accepted:", ...accepted.map((line) => `  ${line}`)];
}

const YES = "an approval, or --yes";
const ALLOW_RULE = "your own rule in policy.commands.allow that names the command, written plainly";
const OWN_RULE = ["a call that the rule does not match; the rule is in policy.commands, yours or the project's"];
const INSIDE = "a path inside the workspace";

/** What would be accepted, by the rule that decided. */
const ACCEPTED: { readonly [rule: string]: readonly string[] } = {
  allow_hosts: ["a host in policy.network.allow_hosts"],
  answers_for_person: ["a person who runs it in their own terminal"],
  autonomy: [YES, "an autonomy (--autonomy) that allows it"],
  block_high_risk_commands: [ALLOW_RULE, "the same without the high-risk part"],
  detached: [YES, "the same without detached"],
  forbidden_paths: [
    "a path that policy.forbidden_paths does not contain",
    "its folder in policy.allowed_roots, if it is below the forbidden one",
  ],
  hard_link: [YES, "a copy of the file"],
  high_risk: [YES, ALLOW_RULE],
  key_in_url: [YES, "the URL without a key in it"],
  look_alike: [YES, "a host in policy.network.allow_hosts"],
  max_actions_per_hour: ["waiting, or a higher policy.max_actions_per_hour"],
  needs: [YES, "a host in policy.network.allow_hosts, a folder in policy.allowed_roots"],
  network: ["a public address; a private one that policy.network.allow_private lists"],
  "network.fetch": [
    YES,
    "a URL of a person's message, a search result or a fetched page, or a shorter one",
    "a host in policy.network.allow_hosts",
  ],
  not_kept: [YES, "--autonomy full"],
  not_plain: [
    YES,
    "the same with plain words, and only the options that docs/policy.md lists",
    "the sandbox working here: handrail doctor",
    "--autonomy full",
  ],
  not_understood: [YES, "a simpler or shorter script, or a file that the write tool creates"],
  only: ["a command that policy.commands.only lists"],
  outside: [YES, INSIDE, "its folder in policy.allowed_roots"],
  path_text: ["a plain path: no URL, no control characters"],
  protected_files: [YES],
  require_approval_for_medium_risk: [
    YES,
    ALLOW_RULE,
    "--autonomy full",
    "policy.require_approval_for_medium_risk: false",
  ],
  sandbox: ["the sandbox working here: handrail doctor", "policy.sandbox: auto or off"],
  sensitive_files: [YES, "a rule Read(…) that names the file"],
  shell_confirm: [YES, "policy.shell_confirm: false"],
  state: [],
  throws_work_away: [YES, "--autonomy full"],
  workspace: ["what lies inside the workspace, named"],
  workspace_only: [INSIDE, "its folder in policy.allowed_roots"],
};

const COLOURS: { readonly [V in Verdict]: number } = { allow: 32, ask: 33, deny: 31 };

function painted(text: string, verdict: Verdict, colour: boolean): string {
  return colour ? `\x1b[${COLOURS[verdict]}m${text}\x1b[39m` : text;
}
