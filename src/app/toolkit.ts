import { homedir } from "node:os";
import { resolve } from "node:path";
import { createAlarms } from "../record/activity/alarms.ts";
import { createJobs } from "../record/activity/jobs.ts";
import { memoryStore } from "../record/activity/memory-store.ts";
import { type ProcessIdentity, identityText, livenessOf, thisProcess } from "../machine/programs/process-identity.ts";
import { type Surroundings, openBackend, openPrograms } from "../machine/open.ts";
import { withMachineFiles } from "../machine/sandbox/machine-files.ts";
import { describeCall, foldedCall } from "../policy/describe.ts";
import type { Notice } from "../core/contract/notice.ts";
import type { QuestionId } from "../core/contract/question.ts";
import type { Waiting } from "../core/call/host.ts";
import type { SandboxOptions } from "../machine/sandbox/options.ts";
import { type TargetOptions, hasTerminal, sandboxedAt } from "../machine/targets.ts";
import {
  browserFolder,
  configFolder,
  grantsFolder,
  jobsFolder,
  outputsFolder,
  stateFolder,
  undoFolder,
} from "./config/state.ts";
import type { SandboxMode } from "../core/contract/containment.ts";
import type { JobInput } from "../core/contract/activity.ts";
import type { BeforeAct } from "../core/contract/call.ts";
import type { CallId, ThreadId } from "../core/contract/identity.ts";
import type { Approver, Policy } from "../core/contract/policy.ts";
import type { Backend, ScriptShell } from "../core/contract/backend.ts";
import type { Jobs, Notices } from "../core/contract/job.ts";
import type { Outputs, Tool } from "../core/contract/tool.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import type { Delivery } from "../core/contract/delivery.ts";
import { createLiveTools } from "../core/call/live-tools.ts";
import { openToolkit } from "../core/call/toolkit.ts";
import { createWatch } from "../core/call/watch.ts";
import { findTool, toolset } from "../core/call/toolset.ts";
import { realOf } from "../machine/git/disk.ts";
import { keepProgramsOutOf } from "../machine/programs/places.ts";
import { createSeenFiles } from "../core/files/seen.ts";
import { openMemories } from "../record/memory/memories.ts";
import type { Fetcher } from "../core/contract/fetch.ts";
import type { NetworkSettings } from "../machine/network/network-settings.ts";
import { type Mask, NO_MASK, createMask } from "../core/output/mask.ts";
import { maskedFile, maskedOutput } from "../core/output/masked-output.ts";
import { createOutputs } from "../core/output/outputs.ts";
import { oneLine, terminalSafe } from "../core/output/terminal-text.ts";
import { createConversations } from "../policy/provenance/conversations.ts";
import { namedFilesIn } from "../policy/commands/named-files.ts";
import { createGrants } from "../policy/grants.ts";
import { createPolicy } from "../policy/policy.ts";
import { lostFilesPolicy } from "../policy/lost-files.ts";
import { createRateLimit } from "../policy/rate.ts";
import { createRules } from "../policy/rules/rules.ts";
import { startUpFile } from "../machine/places/start-up.ts";
import { keepPlaces, writtenPlaces } from "../policy/provenance/written-places.ts";
import { isSecretOfProject } from "../machine/places/keys.ts";
import { DEFAULT_FORBIDDEN_PATHS, type PolicySettings } from "../policy/policy-settings.ts";
import { createWithheld } from "../policy/withheld.ts";
import { openSchedules } from "../record/schedule/schedules.ts";
import { loadWords } from "../record/schedule/timing.ts";
import { type SandboxChoice, type ToolkitOptions, requireValidOptions } from "./toolkit-options.ts";
import { presetPolicy } from "../tools/presets/policies.ts";
import { chosenTools, presetsWith, sourceChoice } from "../tools/presets/choose.ts";
import type { UndoRecorder } from "../record/undo/undo.ts";
import type { BrowsersOptions } from "../tools/web/browser/browsers.ts";
import type { Browsers } from "../tools/web/browser/protocol.ts";
import { takeOver } from "../tools/browser.ts";
import { jobs as jobsTool } from "../tools/jobs.ts";
import { pause } from "../core/util/abort.ts";
import { absolutePath, isInside } from "../core/util/paths.ts";
import { randomName } from "../core/util/identifier.ts";
import { requireNode } from "../core/util/runtime.ts";
import type { DeliveringOptions } from "../team/deliver.ts";

/**
 * Creates a toolkit: tools, policy, backend, store and saved outputs that work together.
 *
 * @throws ToolFailure when the target cannot be reached or its working directory does not exist; TypeError for an
 *   unknown option, preset, tool or target, for two tools with the same name, for a tool whose schema is not a valid
 *   JSON Schema, and for an option that a `target` given as a backend decides itself; RangeError for a number that is
 *   out of range; Error on Bun and Deno.
 */
export async function createToolkit(options: ToolkitOptions = {}): Promise<Toolkit> {
  requireNode();
  requireValidOptions(options);
  const { outputOwner = randomName(16), store = memoryStore(), memoryScope = "user" } = options;
  const { answerWithinMs = 600_000, park = "never", keepParkedMs = 604_800_000, sources = [] } = options;
  const { env = process.env } = options;
  const stateDir = resolve(options.stateDir ?? stateFolder(env)); // a folder of this machine, whatever the backend
  const allState = isInside(stateDir, stateFolder(env)) ? stateFolder(env) : stateDir;
  const { mode, limits, alarms: alarmOptions } = sandboxChoice(options);
  const place: TargetOptions = { ...options, sandbox: mode };
  const browsers = lazyBrowsers({
    ...options.browser,
    folder: browserFolder(stateDir),
    network: options.policy?.network,
    judge: (thread, effect) => toolkit.with({ thread }).judge([effect]),
    openNetwork: async () => (await import("../machine/sandbox/egress/shared-network.ts")).openSharedNetwork(),
  });
  const toolsFor = (shell?: ScriptShell, workerHasTerminal = false) => {
    const [sandboxed, terminal] = [sandboxedAt(place), hasTerminal(place) || workerHasTerminal];
    const about = { sandboxed, terminal, memoryScope, hasSources: sources.length > 0, browsers };
    return toolset(chosenTools(options, { ...about, ...(shell !== undefined && { shell }) }));
  };
  const usualTools = toolsFor(); // a wrong choice of tools throws before anything is opened
  const checks = await schemaChecks(
    (options.tools ?? []).filter(({ name }) => usualTools.has(name)),
    sources.length > 0,
  );
  const outputs = outputsOf(options, stateDir, outputOwner);
  const oneCommand = options.lifetime === "call";
  const owned = { env, stateDir, allState, outputOwner, outputs, oneCommand, store };
  const around = surroundings(options.policy, limits, owned);
  const onceMoreOpen = keepProgramsOut(options, allState);
  const opened = await openBackend(place, around);
  const backend = options.filesOf === "machine" ? withMachineFiles(opened) : opened;
  const isOther = backend.shell === "sh" || backend.workerHasTerminal === true;
  const tools = isOther ? toolsFor(backend.shell, backend.workerHasTerminal) : usualTools;
  if (tools.has("cron_add")) await loadWords();

  const mask = options.mask === false ? NO_MASK : createMask(env, options.mask);
  mask.learn({ STORE: store.url ?? "", QUEUE: options.queue ?? "" }); // their passwords
  const alarms = createAlarms(alarmOptions);
  const jobs = createJobs({
    backend,
    store: { append: (event) => store.append(mask.json(event)) },
    lifetime: options.lifetime ?? "toolkit",
    ...(options.workerId !== undefined && { idPrefix: options.workerId }),
    alarms,
  });
  const workspace = { backend: backend.name, folder: backend.workDir };
  const { memories, schedules } = openStores(stateDir, store.url, memoryScope, workspace, mask);
  const conversations = createConversations(store);
  const rules = createRules(options.policy?.commands, backend);
  const maxActs = options.policy?.maxActionsPerHour;
  const rate = maxActs === undefined ? undefined : createRateLimit({ max: maxActs, folder: `${stateDir}/acts` });
  const ownFolders = [allState, configFolder(env), ...OWN_FOLDERS];
  const policySettings = { ...presetPolicy(options.preset), ...options.policy };
  const facts = { conversations, hasSecret: (text: string) => mask.text(text) !== text };
  const ownPolicies = [...(rate === undefined ? [] : [rate.policy]), ...(options.policies ?? [])];
  const isLocal = backend.access === undefined && typeof options.target !== "object";
  const undo = options.undo === true && isLocal ? lazyUndo(backend, stateDir, options) : undefined;
  const policies = [
    createPolicy(policySettings, backend, ownFolders, rules, facts),
    ...(undo === undefined || policySettings.autonomy === "full" ? [] : [lostFilesPolicy(backend, undo.lossOf)]),
    ...ownPolicies,
  ];
  const delivering =
    backend.worker === undefined
      ? undefined
      : await openDelivering(options, {
          ...{ name: backend.worker, store, policies: ownPolicies },
          delivery: { policy: policySettings as Delivery["policy"], ...(mode === "on" && { contained: true }) },
        });
  const permanentGrants = () =>
    createGrants({
      workspace,
      folder: grantsFolder(stateDir),
      ...(options.grants !== undefined && { longest: options.grants }),
    });
  const fetcher = lazyFetcher(options.policy?.network);
  const { notices, noticeOfSource } = createNotices(backend, jobs, mask, options.onNotice);
  const programs = openPrograms(place, around, backend);
  const live = createLiveTools({
    own: tools,
    sources,
    ...sourceChoice(options),
    host: { workDir: programs.workDir, start: programs.start, mask: mask.text },
    notice: noticeOfSource,
    requireValid: (added) => checks?.requireValidSchemas(added),
  });

  /** Makes the call that writes to a job, if this toolkit has the job. */
  const write = async ({ job: id, request, text, end = false }: JobInput, call: CallId, thread: ThreadId) => {
    if ((await jobs.get(id))?.call !== call) return;
    const input = { action: "write", id, text, end };
    await toolkit.with({ tools: [jobsTool()], thread }).call({ name: "jobs", input, id: request });
  };
  const watch = createWatch(store, {
    stop: jobs.stop,
    watch: jobs.watch,
    open: jobs.open,
    // A failure is not reported here: the process that requested the write reports that it got no answer.
    write: (input, { call, thread }) => void write(input, call, thread).catch(() => {}),
  });
  const shown = (text: string) => terminalSafe(mask.text(text));
  const reported = new Set<string>();
  const shared = {
    policies,
    policiesOf: policiesOfCallers(backend, (settings) => createPolicy(settings, backend, ownFolders, undefined, facts)),
    elsewhere: delivering?.elsewhere,
    permanentGrants,
    takeAct: rate?.take,
    beforeAct: [
      isLocal ? places(backend, allState, options) : undefined,
      backend.sandbox?.seenAt && privateFiles(backend.sandbox),
      undo?.beforeAct,
      options.beforeAct,
    ].filter((hook) => hook !== undefined),
    ...(undo !== undefined && { beforeTurn: undo.prepare }),
    fetcher,
    conversations,
    backend,
    namedFiles: namedFilesIn,
    outputs: outputsAndJobs(backend, outputs, jobs, mask),
    jobs: jobsWithSecretsMasked(jobs, stateDir, mask),
    memories,
    schedules,
    notices,
    live,
    leftOut(tool: string, why: string) {
      if (reported.has(tool)) return;
      reported.add(tool);
      noticeOfSource(`The tool ${tool} is left out of requests: ${why}.`);
    },
    lacking: (name: string) => (findTool(live.current, name) === undefined ? presetsWith(name) : undefined),
    withheld: createWithheld(rules, backend),
    store,
    watch,
    hooks: options.hooks,
    answerWithinMs,
    approvers: options.approvers,
    onWaiting: options.onWaiting && tellOnce(options.onWaiting, mask),
    notify: (notice: Notice) =>
      void options.onWaiting?.({ ...notice, title: shown(notice.title), text: shown(notice.text) }),
    pages: pagesOf(browsers, () => toolkit),
    keepParkedMs,
    howToApprove: options.howToApprove ?? PASS_APPROVER,
    mask,
    alarms,
  };
  const own = {
    ...{ tools: () => live.current, approver: options.approver, thread: "main" },
    ...{ seen: createSeenFiles(), grants: permanentGrants() },
    parkAfterMs: typeof park === "object" ? park.afterMs : park === "now" ? 0 : undefined,
  };
  live.start();
  const toolkit = openToolkit(shared, own, async (callsEnded) => {
    const ended = Promise.all([callsEnded, jobs.close(), live.close()]);
    await Promise.race([ended, pause(CLOSING_MS, undefined, { keepsAlive: false })]);
    await Promise.all([backend.close(), programs.close()]); // ends what did not end on its own
    await ended;
    await undo?.close();
    await Promise.all([fetcher.close(), browsers.close()]);
    await outputs.close();
    await memories.close();
    await schedules.close();
    watch.close();
    await delivering?.close();
    await store.close();
    onceMoreOpen();
  });
  return toolkit;
}

/** The saved outputs of the toolkit, in the state folder. */
function outputsOf({ workerId, maxOutputBytes }: ToolkitOptions, stateDir: string, owner: string) {
  return createOutputs({
    ...{ folder: outputsFolder(stateDir), owner },
    ...(workerId !== undefined && { idPrefix: workerId }),
    ...(maxOutputBytes !== undefined && { maxBytes: maxOutputBytes }),
  });
}

/**
 * Checks the schemas of a program's tools. Returns what checks those of sources, if there are any. The schemas of
 * Handrail's own tools are checked by a test: to check them here would delay every start.
 */
async function schemaChecks(brought: readonly Tool[], hasSources: boolean) {
  const checks = brought.length > 0 || hasSources ? await import("../core/call/schema-fault.ts") : undefined;
  checks?.requireValidSchemas(brought);
  return checks;
}

/** Loads what delivers calls to workers, and the queue if one is named. */
async function openDelivering({ queue }: ToolkitOptions, options: Omit<DeliveringOptions, "queue">) {
  const { createDelivering } = await import("../team/deliver.ts");
  const [name = ""] = options.name.split("#");
  const opened = queue === undefined ? undefined : (await import("../team/queue.ts")).openQueue(queue, name);
  return createDelivering({ ...options, queue: await opened });
}

/** How many policies of callers are kept. */
const MOST_CALLERS = 64;

/** Makes the policies of callers from their settings, once for each settings. */
function policiesOfCallers(backend: Backend, policyOf: (settings: PolicySettings) => Policy) {
  const known = new Map<string, Policy>();
  return ({ policy, decision, contained }: Delivery): readonly Policy[] => {
    const key = JSON.stringify(policy);
    const judge = known.get(key) ?? policyOf(policy);
    if (known.size >= MOST_CALLERS) known.clear();
    known.set(key, judge);
    const reason = "The caller runs commands only in the sandbox, and this worker has none";
    const isOpen = contained === true && backend.sandbox === undefined;
    return [
      judge,
      ...(decision === undefined ? [] : [async () => decision]),
      ...(isOpen ? [async () => ({ verdict: "deny", risk: "high", rule: "sandbox", reason }) as const] : []),
    ];
  };
}

/** The pages of the browser, for people. */
function pagesOf(browsers: Browsers, toolkit: () => Toolkit): Toolkit["pages"] {
  return {
    watch: browsers.watch,
    use: browsers.use,
    takeOver(thread) {
      const id = randomName(16);
      const approver: Approver = async (_call, _decision, signal) => {
        await browsers.untilUnwatched(thread, signal);
        return { answer: "once", by: "a minute in which nobody watched" };
      };
      const request = { name: "browser", input: { action: "take_over" }, id };
      const person = toolkit().with({ tools: [takeOver({ browsers })], thread });
      void person.call(request, { approver, park: false });
      return id;
    },
  };
}

/** The databases of memories and schedules: files, or on the server of the store. Each is opened with its first use. */
function openStores(
  stateDir: string,
  url: string | undefined,
  scope: NonNullable<ToolkitOptions["memoryScope"]>,
  workspace: { readonly backend: string; readonly folder: string },
  mask: Mask,
) {
  const memories = openMemories({
    file: `${stateDir}/memory.db`,
    url,
    scope,
    workspace: `${workspace.backend}:${workspace.folder}`,
    mask: mask.text,
  });
  const schedules = openSchedules({
    file: `${stateDir}/schedule.db`,
    url,
    process: {
      own: () => identityText(thisProcess()),
      isDead(identity, isSilent) {
        const liveness = livenessOf(JSON.parse(identity) as ProcessIdentity);
        return liveness === "dead" || (liveness === "unknown" && isSilent);
      },
    },
    mask: mask.text,
  });
  return { memories, schedules };
}

/**
 * Masks what people and models are shown of a job (its label and script) for as long as the job exists. The command
 * that runs is not changed.
 */
function jobsWithSecretsMasked(jobs: ReturnType<typeof createJobs>, stateDir: string, mask: Mask): Jobs {
  let removing: Promise<void> | undefined;
  return {
    async start({ label, ...command }, script, by) {
      // The folders of ended processes are removed here: most owners are one session, and no other process would.
      removing ??= import("../machine/local/processes.ts").then((local) => local.removeOldJobs(jobsFolder(stateDir)));
      await removing;
      return jobs.start({ ...command, ...(label !== undefined && { label: mask.text(label) }) }, mask.text(script), by);
    },
    adopt: (process, script, by) => jobs.adopt(process, mask.text(script), by),
    list: jobs.list,
    get: jobs.get,
    told: jobs.told,
    handOver: jobs.handOver,
    reachPort: jobs.reachPort,
  };
}

/** Saved outputs, and the output of jobs, which is read in the same way. */
function outputsAndJobs(
  backend: Backend,
  outputs: ReturnType<typeof createOutputs>,
  jobs: ReturnType<typeof createJobs>,
  mask: Mask,
): Outputs & Toolkit["outputs"] {
  const open = async (id: string) => (await jobs.openOutput(id)) ?? (await outputs.open(id));
  return {
    get forCommands() {
      return backend.sandbox?.outputs;
    },
    save: async (content) => outputs.save(await maskedOutput(content, mask)),
    open,
    openMasked: async (id) => maskedFile(await open(id), mask),
  };
}

/**
 * Collects the notices for the model: of the backend, of sources and of jobs. `noticeOfSource` adds one of a source, as
 * one line with its secrets masked. The notices of backend and sources are also passed to `onNotice`.
 */
function createNotices(
  backend: Backend,
  jobs: ReturnType<typeof createJobs>,
  mask: Mask,
  onNotice: ToolkitOptions["onNotice"],
): { readonly notices: Notices; readonly noticeOfSource: (text: string) => void } {
  const ofSources: string[] = [];
  return {
    notices: {
      take(thread) {
        const ofBackend = [...(backend.notices?.() ?? [])];
        for (const text of ofBackend) onNotice?.(text);
        return [...ofBackend, ...ofSources.splice(0), ...jobs.notices.take(thread)];
      },
    },
    noticeOfSource(text) {
      const line = oneLine(mask.text(text), MAX_NOTICE_CHARACTERS);
      if (ofSources.length < MAX_NOTICES) ofSources.push(line);
      onNotice?.(line);
    },
  };
}

const PASS_APPROVER =
  "To allow it, pass an approver to createToolkit, or let people answer the questions of its store.";

/** The maximum length of a source's notice, in characters. */
const MAX_NOTICE_CHARACTERS = 500;

/** The maximum number of notices of sources that wait for the next result. Further ones are shown only to people. */
const MAX_NOTICES = 20;

/**
 * How long calls and jobs may take to end before their backend is closed, in milliseconds. It is more than the two
 * seconds between SIGTERM and SIGKILL.
 */
const CLOSING_MS = 4_000;

/** Keeps where models could write, for programs that the user starts later. */
function places({ workDir, home }: Backend, allState: string, { policy }: ToolkitOptions): BeforeAct {
  const writable = (policy?.allowedRoots ?? []).map((path) => realOf(absolutePath(path, { workDir, home })));
  return keepPlaces(writtenPlaces(allState), { workDir, home, writable });
}

/** Says where people find a file that a file tool writes into the session's private /tmp, and how long. */
function privateFiles({ seenAt }: NonNullable<Backend["sandbox"]>): BeforeAct {
  return async ({ effects }) => {
    if (effects.some(({ kind }) => kind === "exec")) return undefined;
    for (const effect of effects) {
      if (effect.kind !== "write" || effect.real === undefined) continue;
      const place = await seenAt?.(effect.real);
      if (place === undefined) continue;
      const notice = `${effect.path} is in the private /tmp of this session, until it ends. People find it at ${place}`;
      return { notice };
    }
    return undefined;
  };
}

/** Programs that Handrail starts are never taken from where tools can write. Returns the function that ends that. */
function keepProgramsOut({ target, workDir = ".", policy }: ToolkitOptions, allState: string): () => void {
  const base = { workDir: resolve(target === undefined ? workDir : "."), home: homedir() };
  const open = target === undefined ? [base.workDir, ...(policy?.allowedRoots ?? [])] : [];
  const real = open.map((path) => realOf(absolutePath(path, base)));
  const written = writtenPlaces(allState);
  return keepProgramsOutOf(() => [...real, ...written.now()]);
}

/** Loads the fetcher, with its client, for the first request. */
function lazyFetcher(network: NetworkSettings | undefined): Fetcher {
  let loading: Promise<Fetcher> | undefined;
  return {
    async fetch(url, options, by) {
      loading ??= import("../machine/network/fetch.ts").then(({ createFetcher }) => createFetcher({ network }));
      return (await loading).fetch(url, options, by);
    },
    close: async () => (await loading)?.close(),
  };
}

/** Loads the browser's driver for the first action. */
function lazyBrowsers(options: BrowsersOptions): Browsers {
  let loading: Promise<Browsers> | undefined;
  const load = () =>
    (loading ??= import("../tools/web/browser/browsers.ts").then(({ createBrowsers }) => createBrowsers(options)));
  return {
    act: async (...action) => (await load()).act(...action),
    takeOver: async (...by) => (await load()).takeOver(...by),
    watch: async (...by) => (loading === undefined ? undefined : (await loading).watch(...by)),
    use: async (...inputs) => (await load()).use(...inputs),
    untilUnwatched: async (...by) => (await load()).untilUnwatched(...by),
    close: async () => (await loading)?.close(),
  };
}

/** Loads undo for the first turn or act. */
function lazyUndo(backend: Backend, stateDir: string, { maxUndoBytes }: ToolkitOptions): UndoRecorder {
  const options = {
    folder: undoFolder(stateDir),
    workDir: backend.workDir,
    ...(maxUndoBytes !== undefined && { maxBytes: maxUndoBytes }),
  };
  let loading: Promise<UndoRecorder> | undefined;
  const load = () => (loading ??= import("../record/undo/undo.ts").then(({ createUndo }) => createUndo(options)));
  return {
    beforeAct: async (...act) => (await load()).beforeAct(...act),
    lossOf: async (paths) => (await load()).lossOf(paths),
    prepare: (...message) => void load().then(({ prepare }) => prepare(...message)),
    close: async () => (await loading)?.close(),
  };
}

/** The options of the backend. The paths that the policy allows and forbids hold in the sandbox too. */
function surroundings(
  policy: PolicySettings = {},
  limits: SandboxOptions["limits"],
  {
    env,
    stateDir,
    allState,
    outputOwner: owner,
    outputs,
    oneCommand,
    store,
  }: {
    readonly store: Surroundings["store"];
    readonly env: NodeJS.ProcessEnv;
    readonly stateDir: string;
    readonly allState: string;
    readonly outputOwner: string;
    readonly outputs: { readonly folder: string };
    readonly oneCommand: boolean;
  },
): Surroundings {
  const { allowedRoots = [], forbiddenPaths = [], network } = policy;
  return {
    outputFolder: outputs.folder,
    ...{ env, store },
    programs: `${stateDir}/programs`,
    written: writtenPlaces(allState).list,
    jobs: { owner, folder: `${jobsFolder(stateDir)}/${owner}` },
    sandbox: {
      folder: `${stateDir}/sandbox`,
      writable: allowedRoots,
      hidden: [allState, configFolder(env), ...forbiddenPaths.filter((path) => !SYSTEM_FOLDERS.has(path))],
      isProtected: (path) => startUpFile(path) !== undefined,
      isSensitive: isSecretOfProject,
      outputs: outputs.folder,
      oneCommand,
      ...(network !== undefined && { network }),
      ...(limits !== undefined && { limits }),
    },
  };
}

function sandboxChoice({ sandbox = {} }: ToolkitOptions): SandboxChoice & { readonly mode: SandboxMode } {
  return typeof sandbox === "string" ? { mode: sandbox } : { mode: "auto", ...sandbox };
}

/** The folders of Handrail on the machine of the backend, where that is another one. */
const OWN_FOLDERS: readonly string[] = ["~/.local/state/handrail", "~/.config/handrail"];

/** Forbidden to file tools, but needed by every program: the sandbox shows them read-only and does not hide them. */
const SYSTEM_FOLDERS: ReadonlySet<string> = new Set(DEFAULT_FORBIDDEN_PATHS.filter((path) => path.startsWith("/")));

/** Passes each question on once, with its text masked. */
function tellOnce(tell: (notice: Notice) => unknown, mask: Mask): (waiting: Waiting) => void {
  const told = new Set<QuestionId>();
  return ({ question, call, decision: { risk } }) => {
    if (told.has(question)) return;
    told.add(question);
    const { name, thread } = call.request;
    const { shown, isFolded } = foldedCall(mask.text(describeCall(call)));
    const text = isFolded ? `${shown}\nAll of it: handrail approvals show ${question}` : shown;
    void tell({
      about: "question",
      title: `${name} waits for your answer (risk ${risk})`,
      text,
      thread,
      question,
      risk,
    });
  };
}
