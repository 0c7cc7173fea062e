import type { Decision, DecisionPart, Verdict } from "../../contract/decision.ts";
import type { Effect } from "../../contract/effect.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { describeEffect } from "../../policy/describe.ts";
import { longestGrant } from "../../policy/scopes.ts";

/** Of a longer text the middle is left out. */
const MAX_SHOWN = 2_000;
/** Parts of a script are listed up to so many, each in so many characters. */
const MAX_PARTS = 40;
const MAX_PART = 200;

/**
 * A decision as a person reads it: the verdict in words, the rule and the reason, what was said of each part of a command, what could be
 * granted, and what would be accepted instead. Fit for a terminal, with a newline at the end.
 *
 * @param colour Whether the verdicts are coloured.
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
  ask: "Asked about: a person has to say yes.",
  deny: "Refused: it does not run, and nobody is asked.",
};

/** Where a command runs, if it runs; nothing where there is no sandbox. */
function whereLines({ verdict, within }: Decision): readonly string[] {
  if (verdict === "deny" || within === undefined) return [];
  if (within === "none") return ["It runs outside the sandbox: it can do what you can."];
  const { network = [], write = [], read = [], readOnly = false, hideSensitive = false } = within;
  const written = readOnly ? "nothing" : ["nothing but the workspace", ...write.map((path) => `and ${path}`)].join(" ");
  const reached = network.length === 0 ? "no network" : `network only to ${network.join(" ")}`;
  const seen = read.length === 0 ? "" : `, and it may read ${read.join(" ")}`;
  const hidden = hideSensitive
    ? ["It does not see the workspace's secrets (.env, keys …) unless a person approves its hosts for this very call."]
    : [];
  return [oneLine(`It runs in the sandbox: ${written} is written, ${reached}${seen}.`, MAX_SHOWN), ...hidden];
}

/** A command of one part has said all already. */
function partLines({ parts = [] }: Decision, colour: boolean): readonly string[] {
  if (parts.length < 2) return [];
  const more = parts.length - MAX_PARTS;
  return [
    "Part by part:",
    ...parts.slice(0, MAX_PARTS).flatMap((part) => partLine(part, colour)),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function partLine({ text, verdict, risk, rule, reason }: DecisionPart, colour: boolean): readonly string[] {
  const head = `  ${painted(WORDS[verdict], verdict, colour)}${" ".repeat(9 - WORDS[verdict].length)}${oneLine(text, MAX_PART)}`;
  const why = reason === undefined ? "" : `: ${oneLine(reason, MAX_PART * 2)}`;
  return [head, `           ${risk} risk, ${oneLine(rule ?? "none", MAX_PART)}${why}`];
}

const WORDS: { readonly [V in Verdict]: string } = { allow: "runs", ask: "asked", deny: "refused" };

/** What a longer answer than "once" would cover. */
function scopeLines({ verdict, scopes = [] }: Decision): readonly string[] {
  if (verdict !== "ask" || scopes.length === 0) return [];
  const labels = [...new Set(scopes.map(({ label }) => `  ${oneLine(label, MAX_PART)}`))];
  const more = labels.length - MAX_PARTS;
  const answers = longestGrant({ scopes }) === "session" ? '"session"' : '"session" or "always"';
  const listed = [...labels.slice(0, MAX_PARTS), ...(more > 0 ? [`  and ${more} more`] : [])];
  return [`The answer ${answers} would allow exactly this, here:`, ...listed];
}

function acceptedLines({ verdict, rule = "" }: Decision): readonly string[] {
  if (verdict === "allow") return [];
  const all = (Object.hasOwn(ACCEPTED, rule) ? ACCEPTED[rule] : OWN_RULE) ?? [];
  const accepted = all.filter((line) => line !== YES || verdict === "ask"); // nobody is asked about what is refused
  return accepted.length === 0 ? [] : ["What would be accepted:", ...accepted.map((line) => `  ${line}`)];
}

const YES = "a yes when it is asked about, or --yes";
const ALLOW_RULE = "a rule of yours in policy.commands.allow that names the command, written plainly";
const OWN_RULE = ["whatever your rule does not match: it stands in policy.commands, or came with the project's file"];
const INSIDE = "a path inside the workspace";

/** By the rule that decided. */
const ACCEPTED: { readonly [rule: string]: readonly string[] } = {
  allow_hosts: ["a host in policy.network.allow_hosts"],
  answers_for_person: ["a person who types it in a terminal of their own"],
  autonomy: [YES, "another autonomy (--autonomy) that neither refuses nor asks for that alone"],
  block_high_risk_commands: [ALLOW_RULE, "the same without the part of high risk"],
  detached: [YES, "the same without detached"],
  forbidden_paths: [
    "a path that policy.forbidden_paths does not hold",
    "its folder in policy.allowed_roots, where that lies below the forbidden one",
  ],
  hard_link: [YES, "a copy of the file under a name of its own"],
  high_risk: [YES, ALLOW_RULE],
  key_in_url: [YES, "the URL without a key in it"],
  look_alike: [YES, "a host in policy.network.allow_hosts"],
  max_actions_per_hour: ["waiting, or a higher policy.max_actions_per_hour"],
  needs: [YES, "a host in policy.network.allow_hosts, a folder in policy.allowed_roots"],
  network: ["a public address; a private one that policy.network.allow_private has"],
  not_plain: [
    YES,
    "the same with plain words, and only the options that docs/policy.md lists",
    "the sandbox working here: handrail doctor",
    "--autonomy full",
  ],
  not_understood: [YES, "the same written more simply: a shorter script, or a file that the write tool makes"],
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
