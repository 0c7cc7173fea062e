import type { StoredEvent } from "../../core/contract/activity.ts";
import type { Verdict } from "../../core/contract/decision.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { check } from "../../core/call/check.ts";
import { parse } from "../../core/call/parse.ts";
import { NO_MASK } from "../../core/output/mask.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { describeCall } from "../../policy/describe.ts";
import { type JudgedCall, judgedCalls } from "../../policy/hindsight.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { plural } from "../../core/util/text.ts";
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
  const toolkit = await createToolkit(await toolkitOptions(options));
  try {
    const calls = await callsOf(toolkit, Date.now() - age);
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
  } finally {
    await toolkit.close();
  }
}

const SAYS: { readonly [verdict in Verdict]: string } = { allow: "allowed", ask: "asked", deny: "denied" };

const TYPES = ["call.started", "call.approved", "approval.requested", "call.finished"] as const;

/** The calls of the toolkit's folder since a time (milliseconds since 1970) that were judged, the oldest first. */
async function callsOf({ store, backend }: Toolkit, since: number): Promise<readonly JudgedCall[]> {
  const { name, workDir } = backend;
  const threads = (await store.threads()).filter((each) => each.target === name && each.workDir === workDir);
  const here = new Set(threads.map(({ thread }) => thread));
  const events: StoredEvent[] = [];
  for await (const event of store.events({ types: [...TYPES] }))
    if (event.at >= since && here.has(event.thread)) events.push(event);
  return judgedCalls(events);
}

/** What a call would touch, from its arguments; `undefined` for an unknown tool, or arguments that do not fit. */
async function effectsOf({ name, input }: JudgedCall, { tools }: Toolkit) {
  return check(parse({ name, input }), { tools, mask: NO_MASK }).then(
    ({ effects }) => effects,
    () => undefined,
  );
}
