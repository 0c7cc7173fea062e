import { createHash } from "node:crypto";
import type { Backend, Files } from "../contract/backend.ts";
import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { QuestionId } from "../contract/question.ts";
import type { Json } from "../contract/schema.ts";
import { workerTargetName } from "../contract/worker.ts";
import { messageOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
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
  const changed = [...parts].filter((part) => parked.about[part] !== about[part]);
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

/** The parts of what a person is asked about, each with a digest. */
type About = ParkedCall["about"];

async function aboutOf(call: CheckedCall, decision: Decision, { backend }: Pick<Host, "backend">): Promise<About> {
  const { tool, request, effects } = call;
  return {
    // The description of our own tool names other tools of its toolset, which differ between processes.
    "the tool": digest([tool.name, tool.input.json, tool.touches.includes("foreign") && tool.description]),
    "the arguments": digest(request.input),
    // The next runs of a schedule follow from its arguments and the time.
    "what it touches": digest(effects.map((effect) => ("soon" in effect ? { ...effect, soon: undefined } : effect))),
    "the policy's decision": digest(decision),
    ...(await contentsOf(effects, backend.files)),
  };
}

/** The files that an approval of these effects is about, each with a digest of its content. */
export async function contentsOf(effects: CheckedCall["effects"], files: Files): Promise<About> {
  const contents = await Promise.all(pathsOf(effects).map((path) => contentOf(path, files)));
  return Object.fromEntries(contents.flat());
}

/** Files with more bytes are compared by size and time. */
const MAX_HASHED = 4_194_304;

/** How many words of a command are looked up as files. */
const MAX_WORDS = 32;

/**
 * The files whose content matters: files that are replaced, and files that a command names, such as its script. What
 * these files start in turn is not included.
 */
function pathsOf(effects: CheckedCall["effects"]): readonly string[] {
  const paths = effects.flatMap((effect) => {
    if (effect.kind === "write") return effect.real === undefined ? [] : [effect.real];
    if (effect.kind !== "exec" || effect.real === undefined) return [];
    const script = effect.command.replaceAll(/>>\s*[^\s;|&()<>]+/g, " "); // appending replaces nothing
    const words = script.split(/[\s;|&()<>"'`=]+/).filter((word) => word !== "" && !word.startsWith("-"));
    const { real } = effect;
    return words.slice(0, MAX_WORDS).map((word) => (/^[/~]/.test(word) ? word : `${real}/${word}`));
  });
  return [...new Set(paths)];
}

/** The digest of a regular file, under a name for people; nothing if the path is not a regular file. */
async function contentOf(path: string, files: Files): Promise<[string, string][]> {
  const file = await files.open(path).catch(() => undefined);
  if (file === undefined) return [];
  try {
    const { size, version, path: real } = file.info;
    const content = size > MAX_HASHED ? version : await file.read(0, size);
    return [[`the content of ${real}`, createHash("sha256").update(content).digest("base64url")]];
  } finally {
    await file.close();
  }
}

/** A digest. Equal for equal JSON: `JSON.stringify` keeps the order of keys, and one program keeps one order. */
export function digest(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value ?? null))
    .digest("base64url");
}
