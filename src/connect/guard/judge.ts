import { existsSync } from "node:fs";
import { Type } from "typebox";
import type { CallEvent } from "../../core/contract/activity.ts";
import type { Decision } from "../../core/contract/decision.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { CallId, ThreadId } from "../../core/contract/identity.ts";
import type { Approver } from "../../core/contract/policy.ts";
import type { QuestionId } from "../../core/contract/question.ts";
import { type Tool, defineTool } from "../../core/contract/tool.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { asText } from "../../core/call/result.ts";
import { terminalSafe } from "../../core/output/terminal-text.ts";
import { describeCall } from "../../policy/describe.ts";
import { edit } from "../../tools/edit.ts";
import { write } from "../../tools/write.ts";
import { untilAborted } from "../../core/util/abort.ts";
import { randomName } from "../../core/util/identifier.ts";
import { later } from "../../core/util/promises.ts";
import { clip } from "../../core/util/text.ts";
import { CLIENT, type ClientName, type Happening, type ToolInput, type Verdict } from "./clients.ts";
import { touchesOf } from "./client-tools.ts";
import { type Touched, commandArgument, touched } from "./touched.ts";
import { Unreadable } from "./unreadable.ts";

type Call = Extract<Happening, { readonly phase: "before" | "after" }>;

export interface GuardOptions {
  readonly toolkit: Toolkit;
  /** "client": the client asks its person, where it can. "here": people are asked through the store. */
  readonly ask: "client" | "here";
  /** Returns the command with which the client runs this approved command, once. */
  readonly contained: (run: Contained) => Promise<string>;
}

/** An approved command that Handrail runs for the client. */
export interface Contained {
  readonly command: string;
  /** Absolute. */
  readonly cwd: string;
  readonly project: string;
  readonly thread: ThreadId;
  /** The call of the client. */
  readonly parent: CallId;
  /** "sandbox": it was approved for the sandbox alone. "none": for outside. Default: wherever commands run here. */
  readonly where?: "sandbox" | "none";
  /** Whether the client's next command begins in the folder in which this one ends. */
  readonly keepsFolder: boolean;
  /** How the model asks for a run outside the sandbox. */
  readonly outside: string;
}

/**
 * Judges the calls of clients as calls of a toolkit: policy, grants, questions, record and the state for undo are those
 * of every call. The work is left to the client: a call runs from `before` until `after`.
 */
export interface Guard {
  before(client: ClientName, happening: Call): Promise<Verdict>;
  after(client: ClientName, happening: Call): void;
  /** A person has written to the client. Calls of the session that have no end yet will not get one. */
  prompt(client: ClientName, happening: Extract<Happening, { readonly phase: "prompt" }>): Promise<void>;
  /** How many calls clients are running. */
  running(): number;
}

export function createGuard({ toolkit, ask, contained }: GuardOptions): Guard {
  const running = new Map<CallId, Running>();

  const before = async (client: ClientName, happening: Call): Promise<Verdict> => {
    const { tool, input, cwd, project } = happening;
    const judge = touching(client, tool, cwd);
    const unreadable = problemIn(() => judge(input));
    if (unreadable === undefined && judge(input).effects.length === 0) return { verdict: "pass" };
    const thread = threadOf(client, happening);
    const waiting = await waitingCall(toolkit, thread, toolName(tool), input);
    const call: Running = {
      id: waiting?.call ?? `${thread}:${happening.id ?? randomName(16)}`,
      key: keyOf(client, happening),
      thread,
      end: later<Ending>(),
    };
    const started = later<undefined>();
    let approved = input;
    const guest = guestTool(client, tool, cwd, judge, (given) => {
      running.set(call.id, call);
      approved = given;
      started.resolve(undefined);
      return call.end.promise;
    });
    const seen: Seen = { asked: undefined, decision: undefined, question: waiting?.question };
    const derived = toolkit.with({ thread, tools: [guest] });
    const canAsk = CLIENT[client].asks && happening.isUnattended !== true;
    const options = {
      ...(ask === "client" && canAsk && { approver: leftTo(client, seen) }),
      onEvent: seeing(seen),
    };
    const made =
      waiting === undefined
        ? derived.call({ name: guest.name, input, id: call.id, turn: happening.session }, options)
        : derived.resume(waiting.call, options);
    void made.then(async () => {
      running.delete(call.id);
      if (waiting !== undefined) await toolkit.store.move(waiting.call, { to: "delivered" }).catch(() => undefined);
    });
    const ended = await Promise.race([started.promise, made]);
    if (ended?.status === "parked") return { verdict: "deny", reason: waitsText(seen.question) };
    if (unreadable !== undefined) return { verdict: "deny", reason: `Handrail: ${unreadable}.` };
    if (ended !== undefined && ended.status !== "ok") return { verdict: "deny", reason: `Handrail: ${asText(ended)}` };
    const closed = opensFiles(client, tool) ? (seen.decision?.except ?? []).filter((path) => existsSync(path)) : [];
    if (closed.length > 0) {
      const reason = `this would open ${closed.slice(0, 3).join(", ")}, which stays closed. Name a folder without it`;
      call.end.resolve({ text: reason, failed: true });
      return { verdict: "deny", reason: `Handrail: ${reason}.` };
    }
    // A person or a hook may have changed it, and a search leaves secrets out.
    const { effects, input: last } = judge(approved);
    const [now] = effects;
    const isChanged = JSON.stringify(last) !== JSON.stringify(input);
    const where = await placeOf(toolkit, seen.decision);
    const isApprovedAsText = seen.asked !== undefined || seen.question !== undefined;
    // Unasked, only the command that was judged runs, in the shell, the folders and the variables that it was judged for.
    if (now?.kind !== "exec" || (where !== "sandbox" && isApprovedAsText))
      return allowed(seen.asked, isChanged ? last : undefined);
    const run: Contained = {
      ...{ command: now.command, cwd: now.cwd ?? cwd, project, thread, parent: call.id },
      ...(where !== undefined && { where }),
      keepsFolder: CLIENT[client].keepsFolder && !isInBackground(last),
      outside: CLIENT[client].outside,
    };
    return allowed(seen.asked, { ...last, [commandArgument(client, tool)]: await contained(run) });
  };

  return {
    before,
    after(client, happening) {
      const [thread, key] = [threadOf(client, happening), keyOf(client, happening)];
      const call = [...running.values()].find((each) => each.thread === thread && each.key === key);
      const { result = "", failed = false } = happening;
      call?.end.resolve({ text: clip(result, RESULT_RECORDED), failed });
    },
    async prompt(client, happening) {
      const thread = threadOf(client, happening);
      const { title } = CLIENT[client];
      for (const call of running.values())
        if (call.thread === thread)
          call.end.resolve({ text: `${title} reported no end: it was refused there, or still runs`, failed: true });
      await recordPrompt(happening.text, thread, toolkit);
    },
    running: () => running.size,
  };
}

/** Where an approved command runs; see `Contained`. */
async function placeOf({ backend }: Toolkit, decision: Decision | undefined): Promise<Contained["where"]> {
  if (decision?.within === "none") return backend.sandbox === undefined ? undefined : "none";
  return (await backend.sandbox?.state())?.works === true ? "sandbox" : undefined;
}

function opensFiles(client: ClientName, tool: string): boolean {
  return ["grep", "gather"].includes(touchesOf(client, tool)?.does ?? "");
}

function isInBackground(input: ToolInput): boolean {
  return input["run_in_background"] === true || input["is_background"] === true;
}

/** Reads the calls of a tool. An input that was read is not read again. */
function touching(client: ClientName, tool: string, cwd: string): (input: ToolInput) => Touched {
  const known = new Map<string, Touched>();
  return (input) => {
    const key = JSON.stringify(input);
    const found = known.get(key) ?? touched(client, tool, input, cwd);
    known.set(key, found);
    return found;
  };
}

function problemIn(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof Unreadable) return error.message;
    throw error;
  }
}

/** A call that a client runs. */
interface Running {
  readonly id: CallId;
  readonly end: ReturnType<typeof later<Ending>>;
  /** The same for `before` and `after` of one call. */
  readonly key: string;
  readonly thread: ThreadId;
}

interface Ending {
  readonly text: string;
  readonly failed: boolean;
}

/** What the events of a call have told so far. */
interface Seen {
  /** The question that the client asks its person. */
  asked: string | undefined;
  decision: Decision | undefined;
  question: QuestionId | undefined;
}

function seeing(seen: Seen): (event: CallEvent) => void {
  return (event) => {
    if (event.type === "call.approved") seen.decision = event.decision;
    if (event.type === "approval.requested") seen.question = event.question;
  };
}

/** The answer in place of a question: the client's own question comes next and can still refuse the call. */
function leftTo(client: ClientName, seen: Seen): Approver {
  return async (call, decision) => {
    seen.asked = terminalSafe(decision.reason ?? describeCall(call));
    return { answer: "once", by: `${CLIENT[client].title}, which asks` };
  };
}

function allowed(asked: string | undefined, input?: ToolInput): Verdict {
  const changed = input === undefined ? {} : { input };
  return asked === undefined ? { verdict: "allow", ...changed } : { verdict: "ask", reason: asked, ...changed };
}

const threadOf = (client: ClientName, { session }: Pick<Happening, "session">): ThreadId => `${client}:${session}`;

function keyOf(client: ClientName, { id, tool, input }: Call): string {
  return `${client}:${id ?? JSON.stringify([tool, input])}`;
}

/** How many characters of a result are recorded. */
const RESULT_RECORDED = 65_536;

/** Records what a person wrote: URLs in it are known, and it names the thread. */
async function recordPrompt(words: string, thread: ThreadId, { store, backend, mask, hear }: Toolkit): Promise<void> {
  const at = Date.now();
  const { name: target, workDir } = backend;
  const isKnown = (await store.threads()).some((each) => each.thread === thread);
  if (!isKnown) store.append({ type: "thread.created", thread, at, target, workDir });
  const message = { role: "user", from: "person", content: [{ type: "text", text: mask(words) }] } as const;
  store.append({ type: "message.added", thread, at, message });
  hear(words, thread);
}

/** The parked call of an earlier, equal call of the client, if its result has not been given to the client. */
async function waitingCall({ store }: Toolkit, thread: ThreadId, name: string, input: ToolInput) {
  const all = await store.parked({ thread }).catch(() => []);
  const written = JSON.stringify(input);
  return all.find((parked) => parked.name === name && JSON.stringify(parked.input) === written);
}

function waitsText(question: QuestionId | undefined): string {
  const which = question === undefined ? "" : ` (question ${question})`;
  return (
    `A person has been asked to approve this${which}, and has not answered yet. It has not run. ` +
    "Continue with other work, and make exactly this call again later: the answer will count for it."
  );
}

/** A tool of the client, as a tool of Handrail that leaves the work to the client. */
function guestTool(
  client: ClientName,
  tool: string,
  cwd: string,
  judge: (input: ToolInput) => Touched,
  run: (input: ToolInput) => Promise<Ending>,
): Tool {
  const { title } = CLIENT[client];
  return defineTool({
    name: toolName(tool),
    description: `The tool ${tool} of ${title}.`,
    touches: ["exec", "read", "write", "fetch", "search", "foreign"],
    input: Type.Object({}, { additionalProperties: true }),
    effects: (input: ToolInput) => judge(input).effects,
    change: (input: ToolInput, backend) => changeOf(input, cwd, backend),
    async run(input: ToolInput, { signal }) {
      const { text, failed } = await untilAborted(run(input), signal);
      if (failed) throw new ToolFailure(text);
      return text;
    },
  }) as Tool;
}

/** A tool's name in the form that Handrail's tools have. */
function toolName(tool: string): string {
  const name = tool.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return (/^[A-Za-z_]/.test(name) ? name : `_${name}`).slice(0, 64);
}

/** The change of a file, for people, from the argument names that clients use. */
async function changeOf(input: ToolInput, cwd: string, backend: Parameters<NonNullable<Tool["change"]>>[1]) {
  const [path, content, before, after] = [
    input["file_path"] ?? input["filePath"] ?? input["path"],
    input["content"],
    input["old_string"] ?? input["oldString"],
    input["new_string"] ?? input["newString"],
  ];
  if (typeof path !== "string") return undefined;
  const real = path.startsWith("/") ? path : `${cwd}/${path}`;
  if (typeof content === "string") return write().change?.({ path: real, content }, backend);
  if (typeof before !== "string" || typeof after !== "string") return undefined;
  return edit().change?.({ path: real, old_text: before, new_text: after }, backend);
}
