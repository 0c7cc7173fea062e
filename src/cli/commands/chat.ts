import { basename, relative } from "node:path";
import type { Agent, CostReached } from "../../agent/agent.ts";
import { NoModel } from "../../agent/models/load.ts";
import type { Job } from "../../core/contract/job.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import type { Approver } from "../../core/contract/policy.ts";
import { machineOf } from "../../core/call/park.ts";
import { describeExit } from "../../core/output/describe-exit.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { messageOf } from "../../core/util/errors.ts";
import { type AgentParts, openParts } from "../agent-parts.ts";
import { callSubject } from "../call-title.ts";
import { approveAll, terminalApprover } from "../approver.ts";
import type { AgentOptions } from "../options.ts";
import { chooseThread, moved } from "../resume.ts";
import { scheduleRunner, tellOutcomes } from "../schedules.ts";
import { isPlain, plainView } from "../plain.ts";
import { textView } from "../run-view.ts";
import { say as print, warn } from "../say.ts";
import { loadedSettings } from "../settings.ts";
import { type Approvals, createApprovals } from "../chat/approvals.ts";
import { commandToContinue, findThread } from "../threads.ts";
import { type Chat, listedCommands, runCommand } from "../chat/commands.ts";
import { pathsOf } from "../chat/completions.ts";
import { type Conversation, createConversation } from "../chat/conversation.ts";
import { createOwnCalls } from "../chat/own-call.ts";
import { recalled } from "../chat/recall.ts";
import { type Face, isCommand, pipedFace } from "../chat/face.ts";
import { lineFace } from "../chat/line-face.ts";
import type { Actions } from "../chat/actions.ts";
import type { TerminalFaceOptions } from "../chat/terminal-face.ts";
import { offerModel } from "../offer-model.ts";
import { inWorktree } from "../worktree.ts";
import { contextNotice, createStatus, dollars, hostOf, statusOf } from "../chat/status.ts";
import type { TerminalChoices } from "../terminal.ts";
import type { Io } from "../io.ts";

/**
 * Chats with an agent: each message of the person is a turn. A terminal gets an editor, live blocks of the calls and a
 * status line, with `--plain` and `TERM=dumb` lines of words. Otherwise each line of stdin is a message, text goes to
 * stdout and calls to stderr. Ends when the input ends, with `/exit`, or with a second Ctrl-C.
 */
export async function run(given: AgentOptions): Promise<void> {
  await inWorktree(given, chat);
}

async function chat(given: AgentOptions): Promise<void> {
  let options = given;
  const isTerminal = options.io.stdin.isTTY && options.io.stdout.isTTY;
  const isDrawn = isTerminal && !isPlain(options.io, options);
  if (isDrawn && options.resume === true && !options.showPrompt) {
    const { resume: _, ...others } = options;
    const thread = await chooseThread(options);
    options = { ...others, ...(thread !== undefined && { resume: thread }) };
  }
  let face: Face | undefined;
  const ask: Approver = async (...question) => face?.ask?.(...question) ?? { answer: "refuse" };
  const approvals = isTerminal ? createApprovals(ask, options.yes === true) : undefined;
  const early: string[] = [];
  const tell = (text: string) => (face === undefined ? void early.push(text) : face.say(text));
  const open = () =>
    openParts(options, approvals?.approver ?? (options.yes ? approveAll : terminalApprover(options.io)), tell);
  const parts = await open().catch(async (error: unknown) => {
    if (!isDrawn || !(error instanceof NoModel)) throw error;
    const chosen = await offerModel(options.io, error);
    if (chosen === undefined) return undefined;
    const { baseUrl: _, ...others } = options;
    if (chosen.model !== undefined) options = { ...others, ...chosen };
    return await open();
  });
  if (parts === undefined) return;
  try {
    await talk(parts.options, parts, approvals, (shown) => {
      face = shown;
      for (const text of early.splice(0)) shown.say(text);
    });
  } finally {
    await parts.close();
  }
}

async function talk(
  options: AgentOptions,
  parts: AgentParts,
  approvals: Approvals | undefined,
  setFace: (face: Face) => void,
): Promise<void> {
  const { toolkit } = parts;
  let isLeaving = false;
  let wantsToLeave = false;
  const status = createStatus({
    read: () => session.status(),
    untilMs: () => approvals?.state().untilMs ?? Infinity,
    onChange: () => face.update?.(),
  });
  const talking = await createConversation(options, parts, {
    async show(event) {
      if (event.type !== "text" && event.type !== "tool_update") status.changed();
      await face.show(event);
      if (event.type === "end" && approvals !== undefined) tellOfContext();
    },
    // At a cost limit the person decides; without a terminal the turn ends.
    onCost: async (reached, signal) => (await face.choose?.(costQuestion(reached), {}, signal)) === "yes",
  });
  let isTold = false;
  /** Once, until the context is emptier again. */
  const tellOfContext = () => {
    const notice = contextNotice(session.status());
    if (notice !== undefined && !isTold) face.say(notice);
    isTold = notice !== undefined;
  };
  const own = createOwnCalls({
    toolkit,
    thread: () => talking.agent.thread,
    show: (event) => face.show(event, true),
    say: (text) => face.say(text),
  });
  const leave = () => {
    if (isLeaving) options.io.exit(130);
    isLeaving = true;
    face.close();
    own.stop();
    void talking.agent.close();
  };
  const askToLeave = async () => {
    if (await mayLeave(toolkit, face)) leave();
  };
  const session = chatOf(options.io, {
    ...{ parts, talking, approvals, leave: askToLeave },
    approved: approvals ?? (options.yes ? createApprovals(approveAll, true) : undefined),
    face: () => face,
  });
  const actions: Actions = {
    steer: (content) => talking.agent.steer([...content, ...own.taken()]),
    stop() {
      if (!own.stop() || talking.isBusy()) void talking.agent.stop();
    },
    leave: () => void askToLeave(),
    leaveNow: leave,
    async command(line) {
      status.changed();
      if (!/^\/(?:exit|quit)\s*$/.test(line))
        return runCommand(session, line, true).catch(messageOf).finally(status.changed);
      wantsToLeave = true; // when the turn has ended
      void talking.agent.stop();
      return "";
    },
    shell: (command) => void own.run(command),
    rewind: () =>
      void runCommand(session, "/rewind")
        .catch(messageOf)
        .then((text) => text !== "" && face.say(text)),
    running: async () => (await runningJobs(toolkit)).map(stoppedLine),
  };

  const view = () => {
    const toContinue = commandToContinue(talking.agent.thread, options);
    return isPlain(options.io, options)
      ? plainView(options.io, toContinue, subjectsOf(talking))
      : textView(options.io, toContinue);
  };
  const face: Face =
    approvals === undefined
      ? pipedFace(options.io, view())
      : isPlain(options.io, options)
        ? lineFace(options.io, view(), actions)
        : await terminalFaceOf(talking, session, parts, { actions, status: status.line });
  setFace(face);
  const signals = ["SIGTERM", "SIGHUP"] as const;
  for (const name of signals) options.io.signals.on(name, leave);
  if (approvals === undefined) options.io.signals.on("SIGINT", leave);
  const closing = new AbortController();
  const runner = runnerOf(parts);
  runner.start();
  void tellOutcomes(toolkit, closing.signal, (text) => face.say(text));
  void tellJobs(toolkit, closing.signal, (text) => face.say(text));
  void tellPutAside(
    toolkit,
    () => talking.agent.thread,
    closing.signal,
    (text) => face.say(text),
  );
  try {
    face.say(greeting(talking, parts, approvals));
    if (parts.thread !== undefined && approvals !== undefined)
      face.say(recall(options.io, talking.agent, parts.thread.title));
    while (!isLeaving) {
      const sent = await face.next();
      if (isLeaving) break;
      if (sent === undefined) await askToLeave();
      else if (isCommand(sent.text)) {
        const text = await runCommand(session, sent.text).catch(messageOf);
        status.changed();
        if (text !== "") face.say(text);
      } else {
        await talking.send([...sent.content, ...own.taken()]);
      }
      if (wantsToLeave) await askToLeave();
      wantsToLeave = false;
    }
  } finally {
    closing.abort();
    status.close();
    face.close();
    await Promise.all([talking.close(), runner.close()]);
    for (const name of signals) options.io.signals.off(name, leave);
    options.io.signals.off("SIGINT", leave);
    if (approvals !== undefined && talking.agent.messages.length > 0)
      print(options.io, `To continue: ${commandToContinue(talking.agent.thread, talking.options)}`);
  }
}

interface ChatSources {
  readonly parts: AgentParts;
  readonly talking: Conversation;
  readonly approvals: Approvals | undefined;
  /** Without a terminal, `--yes` approves everything. */
  readonly approved: Approvals | undefined;
  readonly face: () => Face;
  readonly leave: () => Promise<void>;
}

/** The chat as its commands see it. */
function chatOf(io: Io, { parts, talking, approvals, approved, face, leave }: ChatSources): Chat {
  const { toolkit, servers } = parts;
  const reopen = async (thread: string | undefined) => {
    const { waitingFor } = talking;
    await talking.reopen(thread);
    if (waitingFor.length > 0) face().say(`The end of job ${waitingFor.join(", ")} will not wake the agent.`);
  };
  return {
    ...{ toolkit, servers, send: talking.send, use: talking.use, leave },
    get agent() {
      return talking.agent;
    },
    get keys() {
      return face().keys ?? [];
    },
    status: () =>
      statusOf(talking.agent, toolkit, {
        ...{ model: talking.languageModel, autonomy: parts.autonomy, isBusy: talking.isBusy() },
        approvals: approved,
      }),
    get model() {
      return talking.model;
    },
    get columns() {
      return Math.max(20, (io.stdout.columns ?? 80) - LIST_MARGIN);
    },
    get options() {
      return talking.options;
    },
    ...(approvals !== undefined && {
      confirm: async (question: string) => (await face().choose?.(`${question} [y/N] `, {})) === "yes",
    }),
    ...(approvals !== undefined && {
      pick: async <T>(title: string, items: readonly { readonly label: string; readonly value: T }[]) =>
        face().pick?.(title, items),
    }),
    prefill: (text) => face().prefill?.(text),
    open: reopen,
    async resume(id) {
      const found = await findThread(toolkit, id);
      await reopen(id);
      const texts = [`Thread ${id}, ${talking.agent.messages.length} messages`, moved(found, toolkit.backend)];
      const said = approvals && recall(io, talking.agent, found.title);
      return [...texts, said].filter((text) => text !== undefined).join("\n");
    },
    approve: (words) => approvals?.set(words) ?? "/approve needs a terminal. --yes approves every question.",
  };
}

async function terminalFaceOf(
  talking: Conversation,
  session: Chat,
  { toolkit, options }: AgentParts,
  given: Pick<TerminalFaceOptions, "actions" | "status">,
): Promise<Face> {
  const { terminalFace } = await import("../chat/terminal-face.ts"); // with the editor, which only a terminal needs
  const { settings } = await loadedSettings(options);
  const { workDir, name } = toolkit.backend;
  const isHere = machineOf(name) === "local";
  return terminalFace(options.io, {
    place: { workDir, ...(!isHere && { host: hostOf(toolkit.backend) }) },
    history: talking.agent.messages.flatMap(wordsOfPerson).toReversed(),
    commands: () => listedCommands(session),
    paths: pathsOf(toolkit.backend),
    subjectOf: subjectsOf(talking),
    keys: settings.chat.keys,
    ...given,
  });
}

/** The columns beside the entries of a list. */
const LIST_MARGIN = 4;

function subjectsOf(talking: Conversation): TerminalFaceOptions["subjectOf"] {
  return (name, input) => callSubject(talking.agent.tools, name, input);
}

/** Runs the schedules of this workspace while the chat is open. */
function runnerOf({ toolkit, model, limits, builtFrom, disable, agents }: AgentParts) {
  return scheduleRunner({ toolkit, agents: { model, limits, instructions: builtFrom, disable, agents } });
}

function greeting(
  { model }: Conversation,
  { toolkit, thread, model: of, options }: AgentParts,
  approvals?: Approvals,
): string {
  const { backend } = toolkit;
  const lines = [`handrail · ${basename(backend.workDir)} on ${hostOf(backend)} · ${model}`];
  if (approvals !== undefined && !isPlain(options.io, options))
    lines.push("Type a message. / commands  @ files  ! shell  /keys");
  if (of.provider === "demo" && thread === undefined) lines.push('Write "practice" for a tour in a new folder.');
  if (thread !== undefined && approvals === undefined)
    warn(options.io, [`continues thread ${thread.thread}: ${thread.title ?? ""}`]);
  return lines.join("\n");
}

function costQuestion({ cost, more }: CostReached): string {
  return `This turn has cost ${dollars(cost)}, which is its limit. Go on with another ${dollars(more)}? [y/N] `;
}

function recall(io: Io, { messages }: Agent, title: string | undefined): string {
  return recalled({ title, messages }, { rows: io.stdout.rows ?? 24, columns: io.stdout.columns ?? 80 });
}

async function runningJobs({ jobs }: Pick<Toolkit, "jobs">): Promise<readonly Job[]> {
  return (await jobs.list()).filter((job) => job.ended === undefined && job.call !== undefined);
}

/** Asks what should happen to the running jobs. Returns false if the person wants to stay. */
async function mayLeave(toolkit: Toolkit, face: Face): Promise<boolean> {
  const jobs = await runningJobs(toolkit);
  const answer = jobs.length === 0 ? "yes" : await face.choose?.(leavingQuestion(jobs), leavingChoices(jobs));
  if (answer === "no" || answer === "left" || (typeof answer === "object" && "no" in answer)) return false;
  const isKept = ({ lifetime }: Job) => lifetime === "detached" && answer !== "yes";
  await Promise.all(jobs.filter((job) => !isKept(job)).map(({ process: each }) => each.kill()));
  return true;
}

/** Tells the end of each job that this process started. Never rejects: `/jobs` shows what is missed. */
async function tellJobs({ store, jobs }: Toolkit, signal: AbortSignal, say: (text: string) => void): Promise<void> {
  try {
    for await (const event of store.events({ types: ["job.ended"], after: "now", follow: true, signal })) {
      if (event.type !== "job.ended") continue;
      const job = await jobs.get(event.job);
      if (job?.call === event.call) say(`Job ${job.id} has ended: ${shortOf(job)}. ${describeExit(event.exit)}.`);
    }
  } catch {
    // the store reports it where it is written
  }
}

/** Tells which files the sandbox put aside in the thread. Never rejects: `/held-back` lists them. */
async function tellPutAside(
  { store, backend }: Toolkit,
  thread: () => string,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<void> {
  try {
    for await (const event of store.events({ types: ["sandbox.refused"], after: "now", follow: true, signal })) {
      if (event.type !== "sandbox.refused" || event.thread !== thread()) continue;
      const aside = event.refusals.flatMap((each) => (each.kind === "start-up" && each.isAside ? [each.path] : []));
      if (aside.length === 0) continue;
      const names = aside.map((path) => oneLine(relative(backend.workDir, path), 200)).join(", ");
      say(
        `Put aside, since other programs would run what is in it: ${names}. To look at it and put it back: /held-back`,
      );
    }
  } catch {
    // the store reports it where it is written
  }
}

function leavingQuestion(jobs: readonly Job[]): string {
  const lines = jobs.map(
    (job) => `Job ${job.id} is running${job.lifetime === "detached" ? " detached" : ""}: ${shortOf(job)}`,
  );
  const detach = hasDetached(jobs) ? "; d leaves the detached ones running" : "";
  return `${lines.join("\n")}\nStop and leave? y stops them${detach}; n stays. [y/N${detach === "" ? "" : "/d"}] `;
}

function leavingChoices(jobs: readonly Job[]): TerminalChoices<"detached"> {
  return hasDetached(jobs) ? { d: "detached" } : {};
}

function hasDetached(jobs: readonly Job[]): boolean {
  return jobs.some(({ lifetime }) => lifetime === "detached");
}

function stoppedLine(job: Job): string {
  return `Job ${job.id} ${job.lifetime === "detached" ? "continues" : "will be stopped"}: ${shortOf(job)}`;
}

function shortOf({ command }: Job): string {
  return oneLine(command, 80);
}

function wordsOfPerson(message: Agent["messages"][number]): readonly string[] {
  if (message.role !== "user" || message.from !== "person") return [];
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}
