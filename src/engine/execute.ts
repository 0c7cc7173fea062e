import type { ToolBackend } from "../contract/backend.ts";
import type { ApprovedCall, ToolCall } from "../contract/call.ts";
import { type Content, text } from "../contract/content.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import type { FetchOptions, Fetched } from "../contract/fetch.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { Memories } from "../contract/memory.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Json } from "../contract/schema.ts";
import type { Closed, Outputs, SeenFiles, ToolContext, ToolJobs } from "../contract/tool.ts";
import { describeRefusals } from "../output/describe-refusals.ts";
import { isInside } from "../util/paths.ts";
import { onAbort } from "../util/abort.ts";
import { approve } from "./approve.ts";
import { type Confined, confine } from "./confine.ts";
import { confineMemories } from "./confine-memories.ts";
import type { Host } from "./host.ts";
import { covers, requestEffect } from "./network-effects.ts";
import { parse } from "./parse.ts";
import type { Recorder } from "./record.ts";
import { CallEnded } from "./result.ts";

/** How long a stopped tool may take to end by itself (a command gets two seconds of that between TERM and KILL). */
const STOP_GRACE_MS = 5_000;

/** What a tool gave back. */
export interface Executed {
  readonly data: Json;
  /** Parts for the model beside the rendered data. */
  readonly attached: readonly Content[];
}

/**
 * Runs an approved call on a backend confined to what it was approved for. An act's row is durable before it runs. When the
 * signal fires the tool has a grace to return what it has; after that the call ends without it, and whatever it still tries to
 * touch is refused.
 */
export async function execute(
  call: ApprovedCall,
  host: Host,
  record: Recorder,
  signal: AbortSignal,
  nested: (request: ToolCall) => Promise<ToolResult>,
): Promise<Executed> {
  signal.throwIfAborted();
  await begin(call, host, record);
  signal.throwIfAborted();
  const running: Running = { call, host, record, signal, nested, attached: [], confined: undefined, over: false };
  const run = async () => call.tool.run(call.input, new CallContext(running));
  let data: Json;
  try {
    data = await withGrace(run(), signal);
  } catch (error) {
    throw withNote(error, await end(running));
  }
  const note = await end(running);
  return { data, attached: note === undefined ? running.attached : [...running.attached, note] };
}

/** What the sandbox kept the call's commands from, in words for the model. */
async function end(running: Running): Promise<Content | undefined> {
  running.over = true;
  const refusals = (await running.confined?.end()) ?? [];
  if (refusals.length === 0) return undefined;
  running.record.refused(refusals);
  const { within } = running.call.decision;
  return text(`[${describeRefusals(refusals, within !== undefined && within !== "none" && within.readOnly === true)}]`);
}

function withNote(error: unknown, note: Content | undefined): unknown {
  if (note === undefined || !(error instanceof ToolFailure)) return error;
  const { message, hint, content = [], data, cause } = error;
  return new ToolFailure(message, {
    ...(hint !== undefined && { hint }),
    content: [...content, note],
    ...(data !== undefined && { data }),
    cause,
  });
}

/** An act is recorded, then counted: what cannot be recorded uses up nothing. */
async function begin(call: ApprovedCall, { takeAct }: Host, record: Recorder): Promise<void> {
  await record.approved(call);
  if (takeAct === undefined || !call.effects.some(isAct)) return;
  const refused = await takeAct();
  if (refused !== undefined) throw new CallEnded({ status: "denied", reason: refused, by: "policy" });
}

/** One run of a tool, until it is over. */
interface Running {
  readonly call: ApprovedCall;
  readonly host: Host;
  readonly record: Recorder;
  readonly signal: AbortSignal;
  readonly nested: (request: ToolCall) => Promise<ToolResult>;
  readonly attached: Content[];
  confined: Confined | undefined;
  over: boolean;
}

/** Made when it is first asked for: many tools touch nothing. */
function confinement(running: Running): Confined {
  const { call, host, signal } = running;
  running.confined ??= confine(host, call, signal);
  if (running.over) void running.confined.end(); // a tool that looks at its context for the first time after its call
  return running.confined;
}

/**
 * What a tool is given. A class, against the custom of the house: getters on a literal are made anew for every call, which costs more
 * than the rest of the call. Methods are fields, so that a tool can take them apart.
 */
class CallContext implements ToolContext {
  readonly callId: CallId;
  readonly thread: ThreadId;
  readonly turn: string | undefined;
  readonly signal: AbortSignal;
  readonly mask: ToolContext["mask"];
  readonly permit: ToolContext["permit"];
  readonly call: ToolContext["call"];
  readonly fetch: ToolContext["fetch"];
  readonly meet: ToolContext["meet"];
  readonly report: ToolContext["report"];
  readonly attach: ToolContext["attach"];
  readonly #running: Running;

  constructor(running: Running) {
    const { call, host, signal, nested } = running;
    const { id, thread, turn } = call.request;
    this.#running = running;
    this.callId = id;
    this.thread = thread;
    this.turn = turn;
    this.signal = signal;
    this.mask = host.mask.text;
    this.permit = (effect, options) => permit(running, effect, options);
    this.call = async (name, input) => {
      if (running.over)
        return { status: "failed", message: `the call of "${call.tool.name}" is over; it can call nothing more` };
      return nested(parse({ name, input, thread, ...(turn !== undefined && { turn }), parent: id }));
    };
    this.fetch = (url, options) => fetchFor(running, url, options);
    this.meet = (url) => {
      if (!running.over && call.effects.some(({ kind }) => kind === "search")) host.knownHosts.add(thread, url);
    };
    this.report = (update) => {
      if (!running.over) running.record.updated(update);
    };
    this.attach = (part) => {
      if (!running.over) running.attached.push(part);
    };
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
    return confinement(this.#running).jobs;
  }

  get memories(): Memories {
    const { call, host } = this.#running;
    return confineMemories(host.memories, call, () => this.#running.over);
  }

  get outputs(): Outputs {
    return confinement(this.#running).outputs;
  }
}

/** What was seen of files that this call may read, and nothing of others: their content is remembered too. */
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

/** An effect that is known only now goes the way of the others: policy, perhaps a person, its row if it is an act. */
async function permit(
  running: Running,
  effect: Effect,
  { unasked = false }: { readonly unasked?: boolean } = {},
): Promise<void> {
  const { call, host, record, signal } = running;
  if (running.over) throw new ToolFailure(`the call of "${call.tool.name}" is over; nothing more is permitted`);
  if (!call.tool.touches.includes(effect.kind)) {
    throw new ToolFailure(
      `tool "${call.tool.name}" asks for an effect of kind "${effect.kind}" that its \`touches\` does not name`,
    );
  }
  const asking = unasked ? { ...host, approver: undefined, answerWithinMs: 0 } : host;
  const more = await approve({ ...call, effects: [effect] }, asking, record, signal);
  await begin(more, host, record);
  for (const approved of more.effects) confinement(running).allow(approved, more.decision);
}

/** Makes a request for a call. A hop that the call did not declare is permitted first, like any effect that is known only now. */
async function fetchFor(running: Running, address: string, options: FetchOptions = {}): Promise<Fetched> {
  const { call, host, signal } = running;
  const { fetcher, knownHosts } = host;
  const fetched = await fetcher.fetch(address, options, {
    signal,
    async permit(url) {
      if (running.over) throw new ToolFailure(`the call of "${call.tool.name}" is over; it can fetch nothing more`);
      const effect = requestEffect(url.href, options);
      if (call.effects.some((declared) => covers(declared, effect))) return;
      await permit(running, effect);
    },
  });
  knownHosts.add(call.request.thread, fetched.url);
  return fetched;
}

/** The work's own ending; after the signal has fired only until the grace is over. */
function withGrace<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      timer = setTimeout(() => reject(signal.reason as Error), STOP_GRACE_MS);
    };
    const release = onAbort(signal, stop);
    void work.then(resolve, reject).finally(() => {
      release();
      clearTimeout(timer);
    });
  });
}
