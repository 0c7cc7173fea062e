import type { CallEvent, Store } from "../core/contract/activity.ts";
import type { CheckedCall } from "../core/contract/call.ts";
import { type Decision, stricter } from "../core/contract/decision.ts";
import { type Effect, isAct } from "../core/contract/effect.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import type { ParkedCall } from "../core/contract/parked.ts";
import type { Policy } from "../core/contract/policy.ts";
import type { QuestionId } from "../core/contract/question.ts";
import type { ToolResult } from "../core/contract/result.ts";
import type { Json } from "../core/contract/schema.ts";
import type { SeenFiles } from "../core/contract/seen.ts";
import type { Delivery } from "../core/contract/delivery.ts";
import { type DeliveredCall, type DeliveryOutcome, workerTargetName } from "../core/contract/worker.ts";
import { NOBODY, NO_ANSWER, denied, inWords } from "../core/call/ask.ts";
import { check } from "../core/call/check.ts";
import { questionOfHook } from "../core/call/hooked.ts";
import type { Elsewhere, Host } from "../core/call/host.ts";
import { isRecordable } from "../core/call/park.ts";
import { parse } from "../core/call/parse.ts";
import { notHere, recordedResult, resultOf } from "../core/call/recorded-result.ts";
import { CallEnded, refusal } from "../core/call/result.ts";
import { type Stop, onAbort, pause } from "../core/util/abort.ts";
import { messageOf } from "../core/util/errors.ts";
import { plural } from "../core/util/text.ts";
import { createInbox } from "./inbox.ts";
import type { WakeQueue } from "./queue.ts";
import { type SeenThere, createSeenThere } from "./seen-there.ts";

/** How long a call waits for a worker, while workers of its name live. Milliseconds. */
const KEEP_MS = 600_000;

/** How often to check that a person who can answer is still connected. Milliseconds. */
const LOOK_MS = 2_000;

/**
 * How often a caller looks whether the record still has its call, as far as a failover may have lost it. Milliseconds.
 */
const CHECK_MS = 10_000;

const LOST =
  "interrupted: the record does not have the call any more. The database failed over, and may have lost that a worker " +
  "has taken it. Whether it ran is unknown. It was not run again.";

/** When other workers are woken for a call that the one which was asked first has not taken. Milliseconds. */
const OTHERS_MS = 250;

/** After a stop, how long to wait for the worker's end of the call. More than a tool may take to end. Milliseconds. */
const STOPPED_MS = 15_000;

/** The pauses before a delivery is repeated whose reply was lost. Milliseconds. */
const REPEATS_MS = [0, 100, 1_000, 5_000];

/** Effects on the target. Calls that have none are made here: fetches, memories, schedules, tools of other programs. */
const THERE: ReadonlySet<Effect["kind"]> = new Set<Effect["kind"]>(["read", "write", "exec", "terminal", "output"]);

export interface DeliveringOptions {
  /** The workers' name. */
  readonly name: string;
  readonly store: Store;
  /** Wakes workers. Without it, they notice the delivery in the record. */
  readonly queue: WakeQueue | undefined;
  /** What the worker is told about the caller's policy, and the caller's policies that are functions. */
  readonly delivery: Pick<Delivery, "policy" | "contained">;
  readonly policies: readonly Policy[];
}

/** Makes the calls of a toolkit on workers. */
export function createDelivering({ name, store, queue, delivery, policies }: DeliveringOptions) {
  const inbox = createInbox(store);
  /** By the toolkit's memory of a thread, which knows only files that were seen here. */
  const seenThere = new WeakMap<SeenFiles, SeenThere>();
  const seenBy = ({ seen, backend }: Pick<Host, "seen" | "backend">) => {
    const known = seenThere.get(seen) ?? createSeenThere(backend);
    seenThere.set(seen, known);
    return known;
  };

  const elsewhere: Elsewhere = {
    async call(checked, host, stop) {
      const { request, effects, tool } = checked;
      if (!effects.some(({ kind }) => THERE.has(kind)) || (await isOutputHere(effects, host))) return undefined;
      const input = checked.hook?.input ?? request.input;
      if (!isRecordable(input, host)) {
        throw new ToolFailure("the arguments contain a secret, which would be recorded for the worker", {
          hint: "Nothing was run. Name the variable of the worker that holds it.",
        });
      }
      const decision = stricter(await decisionOf(policies, checked), questionOfHook(checked));
      if (decision?.verdict === "deny") {
        throw new CallEnded({ status: "denied", reason: decision.reason ?? "Denied by the policy", by: "policy" });
      }
      const { id: call, thread, turn, agent, trace } = request;
      const row: DeliveredCall = {
        ...{ call, thread, target: await targetFor(checked, store, name), name: tool.name, input: input as Json },
        ...(turn !== undefined && { turn }),
        ...(agent !== undefined && { agent }),
        ...(trace !== undefined && { trace }),
        ...{ refusal: refusal(checked), keepMs: KEEP_MS },
        delivery: {
          ...delivery,
          ...(decision !== undefined && { decision }),
          ...(host.approver !== undefined && { answers: true }),
          ...(!effects.some(isAct) && { repeatable: true }),
          ...(tool.output !== undefined && { output: tool.output }),
          ...seenBy(host).of(effects),
        },
      };
      const refused = effects.some(isAct) ? await host.takeAct?.() : undefined;
      if (refused !== undefined) throw new CallEnded({ status: "denied", reason: refused, by: "policy" });
      stop.throwIfAborted();
      const waiting = waitFor(row, checked, host, stop);
      try {
        const { hasRoom } = requireDelivered(await surely(() => store.workers?.deliver(row)), row);
        waiting.wakeOthers(hasRoom ? OTHERS_MS : 0, () => {
          if (queue === undefined) store.workers?.wake(row.target);
          else void queue.wake(call);
        });
      } catch (error) {
        waiting.end();
        throw error;
      }
      waiting.lookAgain();
      return await waiting.result;
    },
    async resume(parked, host, stop) {
      try {
        const request = { ...parse(parked), id: parked.call };
        const waiting = waitFor(parked, await check(request, host), host, stop);
        if (parked.state === "ended") waiting.end();
        else waiting.lookAgain();
        return parked.state === "ended" ? await recordedResult(store, parked.call) : await waiting.result;
      } catch (error) {
        return notHere(messageOf(error));
      }
    },
  };

  /** Follows a call to its end. Shows questions to the approver, passes stops on. `result` never rejects. */
  function waitFor(
    { call, thread, turn }: Pick<ParkedCall, "call" | "thread" | "turn">,
    checked: CheckedCall,
    host: Host,
    stop: Stop,
  ): {
    readonly result: Promise<ToolResult>;
    readonly end: () => void;
    readonly lookAgain: () => void;
    readonly wakeOthers: (afterMs: number, wake: () => void) => void;
  } {
    const over = new AbortController();
    const questions = new Map<QuestionId, AbortController>();
    let settle = (_: ToolResult) => {};
    let wasParked = false;
    let isTaken = false;
    const result = new Promise<ToolResult>((resolve) => (settle = resolve)).finally(() => over.abort());

    const asked = async ({ question, effects, decision }: Extract<CallEvent, { type: "approval.requested" }>) => {
      const closed = new AbortController();
      questions.set(question, closed);
      over.signal.addEventListener("abort", () => closed.abort());
      const about = { ...checked, effects };
      const answer = await answerFor(store, question, about, decision, host, closed.signal).catch((error: unknown) => {
        return { status: "failed", message: messageOf(error) } as const;
      });
      if (answer !== undefined) settle(answer);
    };

    const heard = (event: CallEvent) => {
      if (over.signal.aborted) return;
      if (event.type !== "call.started") tried(() => host.onEvent?.(event));
      if (event.type === "approval.requested") void asked(event);
      if (event.type === "approval.decided") questions.get(event.question)?.abort(new Error("answered"));
      seenBy(host).heard(event);
      if (event.type === "call.parked") wasParked = true;
      isTaken = event.type === "call.taken" || (isTaken && event.type !== "call.parked");
      if (event.type !== "call.finished") return;
      // A call that was parked keeps its result for the agent's turn, which has it now.
      if (wasParked && turn !== undefined) void store.move(call, { to: "delivered" }).catch(() => undefined);
      settle(resultOf(event));
    };

    const stopped = async () => {
      const withdrawn = isTaken
        ? undefined
        : await store.move(call, { to: "withdrawn", by: "its caller" }).catch(() => undefined);
      if (withdrawn?.status !== "moved") {
        const by = stop.reason instanceof Error ? stop.reason.message : "its caller";
        store.commit({ type: "stop.requested", call, thread, at: Date.now(), by }).catch(() => {});
        await pause(STOPPED_MS, over.signal);
      }
      settle({ status: "aborted" });
    };

    /** After a failover, the end may be before what was read last, or the call may be gone. */
    const look = async () => {
      const [row] = await store.parked({ call });
      if (row !== undefined && row.state !== "ended") return;
      for await (const event of store.events({ call, types: ["call.finished"] })) heard(event as CallEvent);
      settle({ status: "failed", message: LOST });
    };
    const lookAgain = () => {
      const looking = setInterval(() => void look().catch(() => {}), CHECK_MS).unref(); // the next look comes soon
      over.signal.addEventListener("abort", () => clearInterval(looking));
    };

    const wakeOthers = (afterMs: number, wake: () => void) => {
      if (afterMs === 0) wake();
      else setTimeout(() => isTaken || over.signal.aborted || wake(), afterMs).unref();
    };

    const leave = inbox.listen(thread, call, heard);
    const release = onAbort(stop, () => void stopped());
    over.signal.addEventListener("abort", () => {
      leave();
      release();
    });
    return { result, end: () => over.abort(), lookAgain, wakeOthers };
  }

  return {
    elsewhere,
    async close() {
      inbox.close();
      await queue?.close();
    },
  };
}

/** Answers a question of a worker, if somebody here can. Resolves to the call's result if the call ends with it. */
async function answerFor(
  store: Store,
  question: QuestionId,
  about: CheckedCall,
  decision: Decision,
  host: Host,
  closed: AbortSignal,
): Promise<ToolResult | undefined> {
  const { approver, parkAfterMs, answerWithinMs, grants } = host;
  const call = about.request.id;
  const left = await grants.remaining(about, decision);
  if (left === undefined) {
    await store.answer(question, { answer: "once" }, "an earlier approval");
    return undefined;
  }
  if (approver !== undefined) {
    const tooLate = parkAfterMs === undefined || parkAfterMs === 0 ? undefined : pause(parkAfterMs, closed);
    const asking = approver(about, left, closed).catch((error: unknown) => {
      closed.throwIfAborted();
      return { answer: "refuse", reason: `Asking for approval failed: ${messageOf(error)}` } as const;
    });
    const given = await Promise.race([asking.catch(() => undefined), ...(tooLate === undefined ? [] : [tooLate])]);
    if (closed.aborted) return undefined;
    if (given === undefined) return { status: "parked", call };
    const { by = "approver", ...approval } = given as Awaited<typeof asking> & { readonly by?: string };
    const outcome = await store.answer(question, host.mask.json(approval), by);
    if (outcome.status === "answered") await grants.remember(left, approval);
    return undefined;
  }
  host.onWaiting?.({ question, call: about, decision: left });
  if (parkAfterMs !== undefined) {
    await pause(parkAfterMs, closed);
    return closed.aborted ? undefined : { status: "parked", call };
  }
  const deadline = performance.now() + answerWithinMs;
  let why = NOBODY;
  while (await store.isAttended().catch(() => false)) {
    const leftMs = deadline - performance.now();
    why = "nobody who can answer is connected any more";
    if (leftMs <= 0) why = `nobody answered within ${inWords(answerWithinMs)}`;
    if (leftMs <= 0) break;
    await pause(Math.min(leftMs, LOOK_MS), closed);
    if (closed.aborted) return undefined;
  }
  const outcome = await store.answer(question, { answer: "refuse", reason: why }, NO_ANSWER);
  return outcome.status === "answered" ? denied(decision, why, host).result : undefined;
}

/** Whether the call only reads a saved output of this machine: of a tool that is run here. */
async function isOutputHere(effects: readonly Effect[], { outputs }: Host): Promise<boolean> {
  if (!effects.every(({ kind }) => kind === "output")) return false;
  const ids = effects.flatMap((effect) => (effect.kind === "output" ? [effect.id] : []));
  const found = await Promise.all(
    ids.map((id) =>
      outputs.open(id).then(
        async (file) => (await file.close(), true),
        () => false,
      ),
    ),
  );
  return found.every(Boolean);
}

/** What the caller's own policies decide. They know the call as it was declared: only the worker knows real paths. */
async function decisionOf(policies: readonly Policy[], call: CheckedCall): Promise<Decision | undefined> {
  let strictest: Decision | undefined;
  for (const policy of policies) {
    const decision = await policy(call).catch((error: unknown): Decision => {
      const reason = `The policy could not judge this call: ${messageOf(error)}`;
      return { verdict: "deny", risk: "high", rule: "error", reason };
    });
    strictest = stricter(strictest, decision);
  }
  return strictest;
}

/** Any worker of the name; for a call about a job or a saved output, the worker that has it. */
async function targetFor({ effects, request }: CheckedCall, store: Store, name: string): Promise<string> {
  const ids = effects.flatMap((effect) => {
    if (effect.kind === "output") return [effect.id.replace(/^job-/, "")];
    return effect.kind === "terminal" && effect.job !== undefined ? [effect.job] : [];
  });
  if (request.name === "jobs" && ids.length === 0) {
    const own = (await store.jobs()).filter(({ thread }) => thread === request.thread);
    ids.push(...own.slice(-1).map(({ job }) => job));
  }
  if (ids.length === 0) return workerTargetName(name);
  const workers = (await store.workers?.list()) ?? [];
  const having = workers.find((each) => each.name === name && ids.some((id) => id.startsWith(each.id)));
  return workerTargetName(name, having?.id);
}

/** @throws ToolFailure that says why no worker makes the call. */
function requireDelivered(
  outcome: DeliveryOutcome | undefined,
  { target, name }: DeliveredCall,
): Extract<DeliveryOutcome, { status: "delivered" }> {
  switch (outcome?.status) {
    case "delivered":
      return outcome;
    case "full": {
      const { waiting, waitMs } = outcome;
      throw new ToolFailure(
        `${target} has no room: ${plural(waiting, "call")} ${waiting === 1 ? "waits" : "wait"} there, for about ` +
          `${Math.ceil(waitMs / 1_000)} s`,
        { hint: "Nothing was run. Try again later." },
      );
    }
    case "no-tool":
      throw new ToolFailure(`${target} has no tool "${name}"`, {
        hint: `Nothing was run. It has: ${outcome.names.join(", ")}.`,
      });
    default:
      throw new ToolFailure(`no worker makes calls for ${target} now`, {
        hint: "Nothing was run. `handrail workers` lists the workers that run.",
      });
  }
}

/** Repeats a delivery whose reply may have been lost: it changes nothing the second time. */
async function surely<T>(work: () => Promise<T> | undefined): Promise<T | undefined> {
  for (const ms of REPEATS_MS) {
    try {
      return await work();
    } catch {
      await pause(ms);
    }
  }
  return await work();
}

function tried(work: () => void): void {
  try {
    work();
  } catch {
    // a listener or a store that fails does not end the call
  }
}
