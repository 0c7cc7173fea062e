import type { StoredEvent } from "../../contract/activity.ts";
import type { Verdict } from "../../contract/decision.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import { check } from "../../engine/check.ts";
import { parse } from "../../engine/parse.ts";
import { NO_MASK } from "../../output/mask.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { describeCall } from "../../policy/describe.ts";
import { type JudgedCall, type Suggestion, judgedCalls, suggestions } from "../../policy/hindsight.ts";
import { createToolkit } from "../../toolkit.ts";
import { plural } from "../../util/text.ts";
import { localTime } from "../local-time.ts";
import type { GlobalOptions } from "../options.ts";
import { say } from "../say.ts";
import { toolkitOptions } from "../settings.ts";

/**
 * Judges the recorded calls of this folder again, and prints those about which the policy now says something else.
 *
 * @param age of the oldest call, in milliseconds
 */
export async function checkAgainst(age: number, options: GlobalOptions): Promise<void> {
  await withCalls(age, options, async (toolkit, calls) => {
    let [changed, unknown] = [0, 0];
    for (const call of calls) {
      const effects = call.effects ?? (await effectsOf(call, toolkit));
      if (effects === undefined) {
        unknown += 1;
        continue;
      }
      const { verdict, reason } = await toolkit.judge(effects);
      if (verdict === call.verdict) continue;
      changed += 1;
      const what = oneLine(describeCall({ tool: { name: call.name }, effects }), 100);
      say(options.io, `${localTime(call.at)}  ${SAYS[call.verdict]} -> ${SAYS[verdict]}  ${what}`);
      if (verdict !== "allow" && reason !== undefined) say(options.io, `    ${oneLine(reason, 160)}`);
    }
    const left =
      unknown === 0 ? "" : `; ${plural(unknown, "refused call")} of tools that are not here could not be judged`;
    say(
      options.io,
      `${plural(calls.length, "call")} of this folder judged again: ${changed} would end otherwise${left}.`,
    );
  });
}

const SAYS: { readonly [verdict in Verdict]: string } = { allow: "allowed", ask: "asked", deny: "denied" };

/** Prints rules for the configuration that would have answered questions as people always did. */
export async function suggest({
  against = 30 * 86_400_000,
  ...options
}: GlobalOptions & { readonly against?: number }) {
  await withCalls(against, options, async (_, calls) => {
    const asked = calls.filter(({ answered }) => answered !== undefined);
    const all = suggestions(asked);
    const right = await rightOnes(all, asked, options);
    if (right.length === 0) return say(options.io, `${plural(asked.length, "question")} answered; nothing to suggest.`);
    const saved = right.reduce((sum, { questions }) => sum + questions, 0);
    say(
      options.io,
      `# Of ${plural(asked.length, "question")}, these rules would have answered ${saved} with yes, as you did.`,
    );
    say(
      options.io,
      "# For config.yaml in your configuration folder. Handrail checks the examples each time it reads them.",
    );
    say(options.io, "policy:\n  commands:\n    allow:");
    for (const { rule, match, not_match } of right) {
      say(options.io, `      - rule: ${JSON.stringify(rule)}`);
      say(options.io, `        match: ${JSON.stringify(match)}`);
      if (not_match.length > 0) say(options.io, `        not_match: ${JSON.stringify(not_match)}`);
    }
  });
}

/**
 * The rules that the policy understands as they are meant: with them, a call that was approved is allowed, and every
 * call that was refused is judged as without them.
 */
async function rightOnes(
  all: readonly Suggestion[],
  asked: readonly JudgedCall[],
  options: GlobalOptions,
): Promise<readonly Suggestion[]> {
  const right: Suggestion[] = [];
  for (const suggestion of all) {
    const { match, not_match, rule } = suggestion;
    const given = await toolkitOptions(options);
    const { commands } = given.policy ?? {};
    const allow = [...(commands?.allow ?? []), { rule, match, not_match }];
    const toolkit = await createToolkit({
      ...given,
      policy: { ...given.policy, commands: { ...commands, allow } },
    }).catch(() => undefined);
    if (toolkit === undefined) continue; // the examples do not fit the rule
    const verdicts = await Promise.all(
      asked.map(async ({ effects = [], answered }) => ({ answered, ...(await toolkit.judge(effects)) })),
    );
    await toolkit.close();
    const isAllowed = ({ verdict }: { readonly verdict: Verdict }) => verdict === "allow";
    const refused = verdicts.filter(({ answered }) => answered === "no");
    if (verdicts.some((each) => each.answered === "yes" && isAllowed(each)) && !refused.some(isAllowed))
      right.push(suggestion);
  }
  return right;
}

/** Calls `work` with the calls of this folder that were judged, the oldest first. */
async function withCalls(
  age: number,
  options: GlobalOptions,
  work: (toolkit: Toolkit, calls: readonly JudgedCall[]) => Promise<void>,
): Promise<void> {
  const toolkit = await createToolkit(await toolkitOptions(options));
  try {
    const { name, workDir } = toolkit.backend;
    const threads = (await toolkit.store.threads()).filter((each) => each.target === name && each.workDir === workDir);
    const here = new Set(threads.map(({ thread }) => thread));
    const since = Date.now() - age;
    const events: StoredEvent[] = [];
    for await (const event of toolkit.store.events({ types: [...TYPES] }))
      if (event.at >= since && here.has(event.thread)) events.push(event);
    await work(toolkit, judgedCalls(events));
  } finally {
    await toolkit.close();
  }
}

const TYPES = ["call.started", "call.approved", "approval.requested", "approval.decided", "call.finished"] as const;

/** What a call would touch, from its arguments; `undefined` for an unknown tool, or arguments that do not fit. */
async function effectsOf({ name, input }: JudgedCall, { tools }: Toolkit) {
  return check(parse({ name, input }), { tools, mask: NO_MASK }).then(
    ({ effects }) => effects,
    () => undefined,
  );
}
