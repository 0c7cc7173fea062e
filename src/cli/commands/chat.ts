import { type Agent, type CostReached, createAgent } from "../../agent/agent.ts";
import { NoModel, parseModel } from "../../agent/models/load.ts";
import type { Job } from "../../contract/job.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import type { Approver } from "../../contract/policy.ts";
import { takeReady } from "../../engine/take-ready.ts";
import { describeExit } from "../../output/describe-exit.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { messageOf } from "../../util/errors.ts";
import { type AgentParts, modelFor, openParts } from "../agent-parts.ts";
import { callTitle } from "../call-title.ts";
import { agentSettings } from "../agent-settings.ts";
import { approveAll, terminalApprover } from "../approver.ts";
import type { AgentOptions } from "../options.ts";
import { chooseThread, moved, startedWith } from "../resume.ts";
import { scheduleRunner, tellOutcomes } from "../schedules.ts";
import { warn } from "../say.ts";
import { type Approvals, createApprovals } from "../chat/approvals.ts";
import { commandToContinue, findThread } from "../threads.ts";
import { type Chat, COMMAND_NAMES, runCommand } from "../chat/commands.ts";
import { recalled } from "../chat/recall.ts";
import { type Face, plainFace, terminalFace } from "../chat/face.ts";
import { offerModel } from "../offer-model.ts";
import { inWorktree } from "../worktree.ts";
import { dollars, statusOf } from "../chat/status.ts";
import type { TerminalChoices } from "../terminal.ts";

/**
 * Chats with an agent: each line of the person is a turn. A terminal gets an editor and live blocks of the calls.
 * Otherwise each line of stdin is a message, text goes to stdout and calls to stderr. Ends when the input ends, with
 * `/exit`, or with a second Ctrl-C.
 */
export async function run(given: AgentOptions): Promise<void> {
  await inWorktree(given, chat);
}

async function chat(given: AgentOptions): Promise<void> {
  let options = given;
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY && process.env["TERM"] !== "dumb";
  if (isTerminal && options.resume === true && !options.showPrompt) {
    const { resume: _, ...others } = options;
    const thread = await chooseThread(options);
    options = { ...others, ...(thread !== undefined && { resume: thread }) };
  }
  let face: Face | undefined;
  const ask: Approver = async (...question) => face?.ask?.(...question) ?? { answer: "refuse" };
  const approvals = isTerminal ? createApprovals(ask, options.yes === true) : undefined;
  const early: string[] = [];
  const tell = (text: string) => (face === undefined ? void early.push(text) : face.say(text));
  const open = () => openParts(options, approvals?.approver ?? (options.yes ? approveAll : terminalApprover()), tell);
  const parts = await open().catch(async (error: unknown) => {
    if (!isTerminal || !(error instanceof NoModel)) throw error;
    const chosen = await offerModel(error);
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
  { toolkit, ...parts }: AgentParts,
  approvals: Approvals | undefined,
  setFace: (face: Face) => void,
): Promise<void> {
  let { model, limits } = parts;
  let chosen = options; // with the model of /model
  let waitingFor: readonly string[] = [];
  let isBusy = false;
  let isInterrupted = false;
  let isLeaving = false;
  let wantsToLeave = false;
  let onTurnShown: (() => void) | undefined;
  let takeNoMore = () => {};

  /** Without a terminal, `--yes` approves everything. */
  const approved = approvals ?? (options.yes ? createApprovals(approveAll, true) : undefined);
  /** At a limit of cost the person decides; without a terminal the turn ends. */
  const onCost = async ({ cost, more }: CostReached) =>
    (await face.choose?.(
      `This turn has cost ${dollars(cost)}, which is its limit. Go on with another ${dollars(more)}? [y/N] `,
      {},
    )) === "yes";

  const start = async (thread: string | undefined): Promise<Agent> => {
    const { instructions, agents, skills, name, disable } = parts;
    const started = await createAgent({
      ...{ model, toolkit, instructions, limits: { ...limits, onCost }, agents, skills, disable },
      ...(name !== undefined && { name }),
      startedWith: startedWith(chosen),
      ...(thread !== undefined && { thread }),
    });
    void follow(started);
    takeNoMore();
    takeNoMore = takeReady(toolkit, { thread: started.thread, agents: () => started.resume() });
    return started;
  };
  const follow = async (followed: Agent) => {
    for await (const event of followed.events()) {
      if ((event.type === "message" || event.type === "tool_call") && !isBusy) [isBusy, isInterrupted] = [true, false];
      if (event.type === "end") [isBusy, waitingFor] = [false, event.waitingFor];
      await face.show(event);
      if (event.type === "end") onTurnShown?.();
    }
    onTurnShown?.();
  };
  let agent = await start(parts.thread?.thread);

  const leave = () => {
    if (isLeaving) process.exit(130);
    isLeaving = true;
    face.close();
    void agent.close();
  };
  const running = async () =>
    (await toolkit.jobs.list()).filter((job) => job.ended === undefined && job.call !== undefined);
  /** Leaves, unless jobs run and the person wants to stay. */
  const askToLeave = async () => {
    const jobs = await running();
    const answer = jobs.length === 0 ? "yes" : await face.choose?.(leavingQuestion(jobs), leavingChoices(jobs));
    if (answer === "no" || answer === "left" || (typeof answer === "object" && "no" in answer)) return;
    const isKept = ({ lifetime }: Job) => lifetime === "detached" && answer !== "yes";
    if (jobs.length > 0) await Promise.all(jobs.filter((job) => !isKept(job)).map(({ process: each }) => each.kill()));
    leave();
  };
  /** Runs a command at an open question. */
  const atQuestion = async (line: string) => {
    if (!/^\/(?:exit|quit)\s*$/.test(line)) return runCommand(session, line, true).catch(messageOf);
    wantsToLeave = true; // when the turn has ended
    void agent.stop();
    return "";
  };
  /** Handles Ctrl-C: stops the turn, or clears what is typed. A second Ctrl-C exits. */
  const interrupt = () => {
    if (isLeaving) return leave();
    if (!isBusy && face.clearTyped()) return;
    if (isInterrupted) return leave();
    isInterrupted = true;
    if (isBusy) void agent.stop();
    else void running().then((jobs) => face.say(["Press Ctrl-C again to exit.", ...jobs.map(stoppedLine)].join("\n")));
  };
  const reopen = async (thread: string | undefined) => {
    await agent.close();
    if (waitingFor.length > 0) face.say(`The end of job ${waitingFor.join(", ")} will not wake the agent.`);
    waitingFor = [];
    agent = await start(thread);
  };
  const recall = (title: string | undefined) =>
    recalled({ title, messages: agent.messages }, { rows: process.stdout.rows ?? 24, columns: process.stdout.columns });
  const send = async (text: string) => {
    const shown = new Promise<void>((resolve) => (onTurnShown = resolve));
    await agent.send(text);
    await shown;
  };
  const session: Chat = {
    ...{ toolkit, send, servers: parts.servers },
    status: () => statusOf(agent, toolkit, { model, autonomy: parts.autonomy, approvals: approved, isBusy }),
    get agent() {
      return agent;
    },
    get model() {
      return nameOf(model);
    },
    get columns() {
      return process.stdout.columns ?? 80;
    },
    get options() {
      return chosen;
    },
    ...(approvals !== undefined && {
      confirm: async (question: string) => (await face.choose?.(`${question} [y/N] `, {})) === "yes",
    }),
    prefill: () => {},
    open: reopen,
    async resume(id) {
      const found = await findThread(toolkit, id);
      await reopen(id);
      const texts = [`Thread ${id}, ${agent.messages.length} messages`, moved(found, toolkit.backend)];
      return [...texts, approvals && recall(found.title)].filter((text) => text !== undefined).join("\n");
    },
    async use(written) {
      const { baseUrl, ...others } = options;
      const isSameProvider = nameOf(model).startsWith(`${parseModel(written).provider}:`);
      const next: AgentOptions = {
        ...{ ...others, model: written },
        ...(baseUrl !== undefined && isSameProvider && { baseUrl }), // keeps the key from other providers
      };
      const settings = await agentSettings(next);
      ({ model } = await modelFor(settings.model ?? parseModel(written)));
      chosen = next;
      const { context: _, ...kept } = limits;
      limits = { ...kept, ...settings.limits };
      await reopen(agent.thread);
    },
    approve: (words) => approvals?.set(words) ?? "/approve needs a terminal. --yes approves every question.",
    leave: askToLeave,
  };

  const signals = ["SIGTERM", "SIGHUP"] as const;
  for (const name of signals) process.on(name, leave);
  process.on("SIGINT", interrupt);
  const history = agent.messages.flatMap(wordsOfPerson).toReversed();
  const titleOf = (name: string, input: string) => callTitle(agent.tools, name, input);
  const { workDir } = toolkit.backend;
  const face =
    approvals === undefined
      ? plainFace(commandToContinue(agent.thread, options))
      : terminalFace({ workDir, history, words: COMMAND_NAMES, titleOf, onInterrupt: interrupt, command: atQuestion });
  setFace(face);
  const closing = new AbortController();
  const { limits: usual, builtFrom, disable, agents } = parts;
  const runner = scheduleRunner({
    toolkit,
    agents: { model: parts.model, limits: usual, instructions: builtFrom, disable, agents },
  });
  runner.start();
  void tellOutcomes(toolkit, closing.signal, (text) => face.say(text));
  void tellJobs(toolkit, closing.signal, (text) => face.say(text));
  try {
    face.say(`Handrail ${__VERSION__} with ${nameOf(model)} in ${workDir}. /help lists the commands.`);
    if (model.provider === "demo" && parts.thread === undefined)
      face.say('Write "practice" for a tour in a new folder, or "repair" for a failing test.');
    if (parts.thread !== undefined) {
      const { thread, title = "" } = parts.thread;
      if (approvals === undefined) warn([`continues thread ${thread}: ${title}`]);
      else face.say(recall(title));
    }
    while (!isLeaving) {
      const line = await face.next();
      isInterrupted = false;
      if (isLeaving) break;
      if (line === undefined) await askToLeave();
      else if (line.startsWith("/")) {
        const text = await runCommand(session, line).catch(messageOf);
        if (text !== "") face.say(text);
      } else {
        await send(line);
      }
      if (wantsToLeave) await askToLeave();
      wantsToLeave = false;
    }
  } finally {
    closing.abort();
    takeNoMore();
    face.close();
    await Promise.all([agent.close(), runner.close()]);
    for (const name of signals) process.off(name, leave);
    process.off("SIGINT", interrupt);
    if (approvals !== undefined && agent.messages.length > 0)
      process.stdout.write(`To continue: ${commandToContinue(agent.thread, chosen)}\n`);
  }
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

function nameOf({ provider, modelId }: AgentParts["model"]): string {
  return provider === modelId ? modelId : `${provider.replace(/\..*$/, "")}:${modelId}`;
}

function wordsOfPerson(message: Agent["messages"][number]): readonly string[] {
  if (message.role !== "user" || message.from !== "person") return [];
  return message.content.flatMap((part) => (part.type === "text" && !part.text.includes("\n") ? [part.text] : []));
}
