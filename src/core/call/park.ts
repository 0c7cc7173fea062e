import { createHash } from "node:crypto";
import type { Backend } from "../contract/backend.ts";
import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { QuestionId } from "../contract/question.ts";
import type { Json } from "../contract/schema.ts";
import { workerTargetName } from "../contract/worker.ts";
import { messageOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { type About, NOT_COMPARED, contentsOf } from "./compared.ts";
import type { Host } from "./host.ts";
import type { Recorder } from "./record.ts";
import { CallEnded, refusal } from "./result.ts";
import type { Decided } from "./watch.ts";

/** The backend and its working directory: a parked call runs only there. The call's containment is in the decision. */
export const targetOf = ({ name, workDir, worker }: Pick<Backend, "name" | "workDir" | "worker">): string =>
  worker === undefined ? `${machineOf(name)}:${workDir}` : workerTargetName(worker);

/** The target without its sandbox and terminal: a thread continues with or without these. */
export function machineOf(target: string): string {
  const inner = /^(?:sandbox|tmux)\((.*)\)$/.exec(target)?.[1];
  return inner === undefined ? target : machineOf(inner);
}

/**
 * Whether a call can be made again later from its record. A call that another call makes cannot: that other call waits
 * for it. A call with a secret in its arguments cannot either, because secrets are not recorded.
 */
export function canPark({ request: { parent, input } }: CheckedCall, host: Pick<Host, "mask">): boolean {
  return parent === undefined && isRecordable(input, host);
}

/** Whether arguments are JSON without a known secret: they can be recorded, and read again as they are. */
export function isRecordable(input: unknown, { mask }: Pick<Host, "mask">): boolean {
  try {
    const text = JSON.stringify(input);
    return text === JSON.stringify(mask.json(input)) && JSON.stringify(JSON.parse(text)) === text;
  } catch {
    return false; // not JSON
  }
}

/**
 * Parks a call whose question is open. Resolves to the answer if one came first.
 *
 * @throws CallEnded "parked".
 */
export async function park(
  question: QuestionId,
  call: CheckedCall,
  decision: Decision,
  host: Host,
  again: {
    readonly claim?: string;
    readonly changed?: readonly string[];
    readonly about?: About;
    /** The call as it is parked until now. */
    readonly row?: ParkedCall;
  } = {},
): Promise<Decided> {
  const { id, thread, name, input, turn, agent, trace } = call.request;
  const { claim, changed, about = await aboutOf(call, decision, host), row: { target, delivery } = {} } = again;
  const parking = {
    ...{ call: id, thread, question, target: target ?? targetOf(host.backend), name, input: input as Json, about },
    ...(delivery !== undefined && { delivery }),
    ...(turn !== undefined && { turn }),
    ...(agent !== undefined && { agent }),
    ...(trace !== undefined && { trace }),
    ...(changed !== undefined && { changed }),
    ...{ refusal: refusal(call), keepMs: host.keepParkedMs },
  };
  const outcome = await host.store.park(parking, claim).catch(async (error: unknown) => {
    const [row] = await host.store.parked({ call: id }).catch(() => []);
    if (row?.question === question) return { status: "parked" } as const; // only the reply was lost
    throw new ToolFailure(`the call could not be parked, so it ended: ${messageOf(error)}`, {
      hint: "Nothing was run.",
      cause: error,
    });
  });
  if (outcome.status === "parked") {
    host.onWaiting?.({ question, call, decision });
    throw new CallEnded({ status: "parked", call: id, ...(changed !== undefined && { changed }) });
  }
  if (outcome.status === "closed" && outcome.first !== undefined) return outcome.first;
  throw new ToolFailure("the call could not be parked: its question is closed");
}

/**
 * Returns the approval of a parked call, if what would happen now is what was approved.
 *
 * @throws CallEnded "parked" after the function has asked: again, naming what has changed, or about a worker's call.
 */
export async function stillApproved(
  call: CheckedCall,
  decision: Decision,
  parked: ParkedCall,
  host: Host,
  record: Recorder,
): Promise<Approval> {
  const about = await aboutOf(call, decision, host);
  const parts = new Set([...Object.keys(parked.about), ...Object.keys(about)]);
  // What cannot be compared is asked about again, once: the second question says so.
  const isSame = (part: string) =>
    parked.about[part] === about[part] && (about[part] !== NOT_COMPARED || parked.changed?.includes(part) === true);
  const changed = [...parts].filter((part) => !isSame(part));
  const { approval, claim } = parked;
  // The session that a person allowed it for may be over: it is not granted in the one that makes the call.
  if (changed.length === 0 && approval !== undefined)
    return approval.answer === "session" ? { answer: "once" } : approval;
  const question = randomName(16);
  record.asked(question, call.effects, decision);
  const isAgain = approval !== undefined; // nobody was asked about a call that has just come to a worker
  const again = { about, row: parked, ...(isAgain && { changed }), ...(claim !== undefined && { claim }) };
  return (await park(question, call, decision, host, again)).approval;
}

type Comparable = Pick<Host, "backend" | "namedFiles">;

async function aboutOf(call: CheckedCall, decision: Decision, { backend, namedFiles }: Comparable): Promise<About> {
  const { tool, request, effects } = call;
  return {
    // The description of our own tool names other tools of its toolset, which differ between processes.
    "the tool": digest([tool.name, tool.input.json, tool.touches.includes("foreign") && tool.description]),
    "the arguments": digest(request.input),
    // The next runs of a schedule follow from its arguments and the time.
    "what it touches": digest(effects.map((effect) => ("soon" in effect ? { ...effect, soon: undefined } : effect))),
    "the policy's decision": digest(decision),
    ...(await contentsOf(effects, { files: backend.files, place: backend, named: namedFiles })),
  };
}

/** A digest. Equal for equal JSON: `JSON.stringify` keeps the order of keys, and one program keeps one order. */
export function digest(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value ?? null))
    .digest("base64url");
}
