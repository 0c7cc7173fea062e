import type { ToolBackend } from "../contract/backend.ts";
import type { ActFollowUp, ApprovedCall, ToolCall } from "../contract/call.ts";
import { type Content, notice } from "../contract/content.ts";
import type { FormInput } from "../contract/decision.ts";
import type { Effect } from "../contract/effect.ts";
import type { FetchOptions, Fetched } from "../contract/fetch.ts";
import { type NotReal, ToolFailure } from "../contract/failure.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { Memories } from "../contract/memory.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Json } from "../contract/schema.ts";
import type { Closed, Outputs, ToolContext, ToolJobs, ToolSchedules } from "../contract/tool.ts";
import type { SeenFiles } from "../contract/seen.ts";
import { describeRefusals } from "../output/describe-refusals.ts";
import { describeUnset } from "../output/unset-variables.ts";
import { isInside } from "../util/paths.ts";
import { type Stop, onAbort } from "../util/abort.ts";
import { linksOfBody } from "../util/links-of-body.ts";
import { approve } from "./approve.ts";
import { type Confined, confine } from "./confine.ts";
import { confineMemories } from "./confine-memories.ts";
import { confineSchedules } from "./confine-schedules.ts";
import type { Host } from "./host.ts";
import { covers, requestEffect } from "./network-effects.ts";
import { parse } from "./parse.ts";
import type { Recorder } from "./record.ts";
import { CallEnded } from "./result.ts";

/** How long a stopped tool may take to end. A command uses two seconds of this time between TERM and KILL. */
const STOP_GRACE_MS = 5_000;

/** What a tool returned. */
export interface Executed {
  readonly data: Json;
  /** Parts for the model besides the rendered data. */
  readonly attached: readonly Content[];
}

/**
 * Runs an approved call on a backend that is confined to the approved effects. The row of an act is durable before the
 * act runs. A stopped tool has `STOP_GRACE_MS` to return. After that the call ends without the tool, and all further
 * access is refused.
 *
 * @throws NotReal when a call with expected paths (`CheckedCall.isExpected`) met a path that is not real: it has only
 * read, and is to be judged again.
 */
export async function execute(
  call: ApprovedCall,
  host: Host,
  record: Recorder,
  stop: Stop,
  nested: (request: ToolCall) => Promise<ToolResult>,
): Promise<Executed> {
  stop.throwIfAborted();
  learnApproved(call, host);
  const state = { attached: [], followUps: [], confined: undefined, over: false };
  const running: Running = { call, host, record, stop, nested, ...state };
  const run = async () => {
    const begun = begin(running, call);
    if (begun !== undefined) await begun;
    stop.throwIfAborted();
    return call.tool.run(call.input, new CallContext(running));
  };
  let data: Json;
  try {
    data = await withGrace(run(), stop);
  } catch (error) {
    const notes = await end(running);
    throw notRealIn(running) ?? withNotes(error, notes);
  }
  const notes = await end(running);
  const notReal = notRealIn(running);
  if (notReal !== undefined) throw notReal;
  return { data, attached: notes.length === 0 ? running.attached : [...running.attached, ...notes] };
}

function notRealIn({ call, confined }: Running): NotReal | undefined {
  return call.isExpected === true ? confined?.notReal() : undefined;
}

/** A URL that a person was asked about may be requested again later. */
function learnApproved({ decision, effects, request }: ApprovedCall, { conversations }: Host): void {
  if (decision.verdict !== "ask") return;
  for (const effect of effects)
    if (effect.kind === "fetch") conversations.add(request.thread, { kind: "approved", url: effect.url });
}

/**
 * Ends the confinement. Returns notices for the model: the sandbox's refusals to commands, variables that they lack, and
 * notices of hooks.
 */
async function end(running: Running): Promise<readonly Content[]> {
  running.over = true;
  const { refusals, unset } = (await running.confined?.end()) ?? { refusals: [], unset: [] };
  const words = running.followUps.flatMap((followUp) => [followUp.notice, followUp.ended?.() ?? undefined]);
  const notices = words.flatMap((each) => (each === undefined ? [] : [notice(`[${each}]`)]));
  if (unset.length > 0) notices.unshift(notice(`[${describeUnset(unset)}]`));
  if (refusals.length === 0) return notices;
  running.record.refused(refusals);
  const { within } = running.call.decision;
  const isReadOnly = within !== undefined && within !== "none" && within.readOnly === true;
  return [notice(`[${describeRefusals(refusals, isReadOnly)}]`), ...notices];
}

function withNotes(error: unknown, notes: readonly Content[]): unknown {
  if (notes.length === 0 || !(error instanceof ToolFailure)) return error;
  const { message, hint, content = [], data, foreign, cause } = error;
  return new ToolFailure(message, {
    ...(hint !== undefined && { hint }),
    content: [...content, ...notes],
    ...(data !== undefined && { data }),
    ...(foreign !== undefined && { foreign }),
    cause,
  });
}

/** Records what begins. An act waits for the record, is counted, and waits for the hooks. */
function begin(running: Running, call: ApprovedCall): Promise<void> | undefined {
  const recorded = running.record.approved(call);
  return recorded && beginAct(running, call, recorded);
}

/** An act that could not be recorded is not counted. */
async function beginAct(running: Running, call: ApprovedCall, recorded: Promise<void>): Promise<void> {
  const { host, record, stop } = running;
  await recorded;
  const refused = await host.takeAct?.();
  if (refused !== undefined) throw new CallEnded({ status: "denied", reason: refused, by: "policy" });
  for (const hook of host.beforeAct) {
    const followUp = await hook(call, stop.signal, record.updated);
    if (followUp === undefined) continue;
    running.followUps.push(followUp);
    if (running.over) return void followUp.ended?.(); // the call was stopped and did not wait for the hook
  }
}

/** One run of a tool. */
interface Running {
  readonly call: ApprovedCall;
  readonly host: Host;
  readonly record: Recorder;
  readonly stop: Stop;
  readonly nested: (request: ToolCall) => Promise<ToolResult>;
  readonly attached: Content[];
  readonly followUps: ActFollowUp[];
  confined: Confined | undefined;
  over: boolean;
}

/** Creates the confinement on first use: many tools have no effects. */
function confinement(running: Running): Confined {
  const { call, host, stop } = running;
  running.confined ??= confine(host, call, stop);
  if (running.over) void running.confined.end(); // the confinement is first used after the call has ended
  return running.confined;
}

/**
 * The context of a tool. A class, unlike elsewhere in this code, since creating getters on an object literal for every
 * call costs more than the rest of the call. Methods are made when they are read, so that a tool can destructure them
 * and a call pays only for those that it uses.
 */
class CallContext implements ToolContext {
  readonly callId: CallId;
  readonly thread: ThreadId;
  readonly turn: string | undefined;
  readonly #running: Running;

  constructor(running: Running) {
    const { id, thread, turn } = running.call.request;
    this.#running = running;
    this.callId = id;
    this.thread = thread;
    this.turn = turn;
  }

  get mask(): ToolContext["mask"] {
    return this.#running.host.mask.text;
  }

  get permit(): ToolContext["permit"] {
    const running = this.#running;
    return (effect, options) => permit(running, effect, options);
  }

  get call(): ToolContext["call"] {
    const running = this.#running;
    const { id, thread, turn, agent } = running.call.request;
    return async (name, input) => {
      const { tool } = running.call;
      if (running.over)
        return { status: "failed", message: `the call of "${tool.name}" has ended; it can make no more calls` };
      const by = { ...(turn !== undefined && { turn }), ...(agent !== undefined && { agent }) };
      return running.nested(parse({ name, input, thread, ...by, parent: id }));
    };
  }

  get fetch(): ToolContext["fetch"] {
    const running = this.#running;
    return (url, options) => fetchFor(running, url, options);
  }

  get meet(): ToolContext["meet"] {
    const { call, host } = this.#running;
    return (url) => {
      if (!this.#running.over && call.effects.some(({ kind }) => kind === "search"))
        host.conversations.add(this.thread, { kind: "found", url });
    };
  }

  get linked(): ToolContext["linked"] {
    const { call, host } = this.#running;
    return (page, links) => {
      if (!this.#running.over && call.effects.some(({ kind }) => kind === "fetch" || kind === "page"))
        host.conversations.add(this.thread, { kind: "linked", page, links });
    };
  }

  get report(): ToolContext["report"] {
    const running = this.#running;
    return (update) => {
      if (!running.over) running.record.updated(update);
    };
  }

  get attach(): ToolContext["attach"] {
    const running = this.#running;
    return (part) => {
      if (!running.over) running.attached.push(part);
    };
  }

  get signal(): AbortSignal {
    return this.#running.stop.signal;
  }

  get backend(): ToolBackend {
    return confinement(this.#running).backend;
  }

  get seen(): SeenFiles {
    return seenThrough(this.#running);
  }

  get closed(): Closed {
    return confinement(this.#running).closed;
  }

  get jobs(): ToolJobs {
    return confinement(this.#running).jobs();
  }

  get memories(): Memories {
    const { call, host } = this.#running;
    return confineMemories(host.memories, call, () => this.#running.over);
  }

  get schedules(): ToolSchedules {
    const { call, host } = this.#running;
    return confineSchedules(host.schedules, host.backend, host.namedFiles, call, () => this.#running.over);
  }

  get outputs(): Outputs {
    return confinement(this.#running).outputs;
  }
}

/** The seen files that this call may read. Others are left out, because their content is remembered too. */
function seenThrough(running: Running): SeenFiles {
  const { call, host } = running;
  const { seen } = host;
  const mayRead = (path: string) =>
    call.effects.some((effect) => effect.kind === "read" && effect.real !== undefined && isInside(path, effect.real)) &&
    !confinement(running).closed.holds(path);
  return {
    remember(file, content) {
      if (mayRead(file.path)) seen.remember(file, content);
    },
    wrote(file, content) {
      if (mayRead(file.path)) seen.wrote(file, content);
    },
    recall: (path) => (mayRead(path) ? seen.recall(path) : undefined),
  };
}

/** Approves an effect that is known only while the tool runs: policy, perhaps a person, and a row if it is an act. */
async function permit(
  running: Running,
  effect: Effect,
  { unasked = false }: { readonly unasked?: boolean } = {},
): Promise<FormInput | undefined> {
  const { call, host, record, stop } = running;
  if (running.over)
    throw new ToolFailure(`the call of "${call.tool.name}" has ended; it can ask for no more permissions`);
  if (!call.tool.touches.includes(effect.kind)) {
    throw new ToolFailure(
      `tool "${call.tool.name}" asks for an effect of kind "${effect.kind}" that its \`touches\` does not name`,
    );
  }
  // A running call cannot be parked: what it has already done would be done again.
  const asking = { ...host, parkAfterMs: undefined, ...(unasked && { approver: undefined, answerWithinMs: 0 }) };
  const more = await approve({ ...call, effects: [effect] }, asking, record, stop);
  learnApproved(more, host);
  await begin(running, more);
  for (const approved of more.effects) confinement(running).allow(approved, more.decision);
  return more.approval?.answer === "once" ? more.approval.input : undefined;
}

/** Makes a request for a call. A URL that the call did not declare, such as a redirect, needs `permit` first. */
async function fetchFor(running: Running, address: string, options: FetchOptions = {}): Promise<Fetched> {
  const { call, host, stop } = running;
  const { fetcher, conversations } = host;
  const { thread } = call.request;
  let from: URL | undefined;
  const fetched = await fetcher.fetch(address, options, {
    signal: stop.signal,
    async permit(url) {
      if (running.over) throw new ToolFailure(`the call of "${call.tool.name}" has ended; it can no longer fetch`);
      const effect = requestEffect(url.href, options);
      if (from !== undefined && (await choseRedirect(from, url, thread, conversations)))
        conversations.add(thread, { kind: "linked", page: from.href, links: [url.href] });
      from = url;
      if (call.effects.some((declared) => covers(declared, effect))) return;
      await permit(running, effect);
    },
  });
  const links = linksOfBody(fetched);
  if (links.length > 0) conversations.add(thread, { kind: "linked", page: fetched.url, links });
  return fetched;
}

/**
 * Whether the server chose the target of a redirect, and not the model by composing the URL. The target then counts as
 * a link of the page.
 */
async function choseRedirect(from: URL, to: URL, thread: ThreadId, { judge, isKnown }: Host["conversations"]) {
  const judgement = await judge(thread, { url: from.href }, { take: false });
  const isSeen = judgement.verdict === "seen" && (judgement.as === "url" || judgement.as === "link");
  return isSeen || from.hostname === to.hostname || isKnown(thread, to);
}

/** Settles as the tool's promise does, or rejects `STOP_GRACE_MS` after the stop. */
function withGrace<T>(work: Promise<T>, stop: Stop): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const later = () => {
      timer = setTimeout(() => reject(stop.reason as Error), STOP_GRACE_MS);
    };
    const release = onAbort(stop, later);
    const ended = () => {
      release();
      clearTimeout(timer);
    };
    void work.then(
      (value) => {
        ended();
        resolve(value);
      },
      (error: unknown) => {
        ended();
        reject(error);
      },
    );
  });
}
