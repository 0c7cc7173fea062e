import { resolve } from "node:path";
import { createAlarms } from "./activity/alarms.ts";
import { createJobs } from "./activity/jobs.ts";
import { memoryStore } from "./activity/memory-store.ts";
import { type ProcessIdentity, livenessOf, thisProcess } from "./activity/process-identity.ts";
import { type Surroundings, openBackend, openPrograms } from "./backends/open.ts";
import { describeCall } from "./policy/describe.ts";
import type { Notice } from "./contract/notice.ts";
import type { QuestionId } from "./contract/question.ts";
import type { Waiting } from "./engine/host.ts";
import type { SandboxOptions } from "./backends/sandbox/options.ts";
import { type Place, hasTerminal, isContained } from "./backends/targets.ts";
import {
  browserFolder,
  configFolder,
  grantsFolder,
  jobsFolder,
  outputsFolder,
  stateFolder,
  undoFolder,
} from "./config/state.ts";
import type { SandboxMode } from "./contract/containment.ts";
import type { JobInput, Store } from "./contract/activity.ts";
import type { CallId, ThreadId } from "./contract/identity.ts";
import type { Backend, ScriptShell } from "./contract/backend.ts";
import type { Jobs, Notices } from "./contract/job.ts";
import type { Outputs } from "./contract/tool.ts";
import type { Toolkit } from "./contract/toolkit.ts";
import { createLiveTools } from "./engine/live-tools.ts";
import { requireValidSchemas } from "./engine/schema-fault.ts";
import { openToolkit } from "./engine/toolkit.ts";
import { createWatch } from "./engine/watch.ts";
import { toolset } from "./engine/toolset.ts";
import { createSeenFiles } from "./files/seen.ts";
import { openMemories } from "./memory/memories.ts";
import type { Fetcher } from "./network/fetch.ts";
import type { NetworkSettings } from "./network/network-settings.ts";
import { type Mask, NO_MASK, createMask } from "./output/mask.ts";
import { maskedOutput } from "./output/masked-output.ts";
import { createOutputs } from "./output/outputs.ts";
import { oneLine } from "./output/terminal-text.ts";
import { createConversations } from "./provenance/conversations.ts";
import { createGrants } from "./policy/grants.ts";
import { createPolicy } from "./policy/policy.ts";
import { createRateLimit } from "./policy/rate.ts";
import { createRules } from "./policy/rules/rules.ts";
import { startUpFile } from "./provenance/start-up.ts";
import { isSecretOfProject } from "./provenance/keys.ts";
import { DEFAULT_FORBIDDEN_PATHS, type PolicySettings } from "./policy/policy-settings.ts";
import { createWithheld } from "./policy/withheld.ts";
import { openSchedules } from "./schedule/schedules.ts";
import { loadWords } from "./schedule/timing.ts";
import { type SandboxChoice, type ToolkitOptions, requireValidOptions } from "./toolkit-options.ts";
import { presetPolicy } from "./tools/presets/policies.ts";
import { chosenTools, sourceChoice } from "./tools/presets/choose.ts";
import type { UndoRecorder } from "./undo/undo.ts";
import type { BrowsersOptions } from "./web/browser/browsers.ts";
import type { Browsers } from "./web/browser/protocol.ts";
import { jobs as jobsTool } from "./tools/jobs.ts";
import { pause } from "./util/abort.ts";
import { randomName } from "./util/identifier.ts";
import { requireNode } from "./util/runtime.ts";

/**
 * Puts tools, policy, backend, store and outputs together.
 *
 * @throws ToolFailure when the place of work cannot be reached or its working directory is not there; TypeError when
 *   two tools have one name, when there is no such preset, tool or target, when a tool's schema is not a valid JSON
 *   Schema, and when something is given that a backend as `target` has itself, and for an option that does not exist;
 *   RangeError for a number that is out of range; Error on Bun and Deno.
 */
export async function createToolkit(options: ToolkitOptions = {}): Promise<Toolkit> {
  requireNode();
  requireValidOptions(options);
  const { outputOwner = randomName(16), store = memoryStore(), memoryScope = "user" } = options;
  const { answerWithinMs = 600_000, park = "never", keepParkedMs = 604_800_000, sources = [] } = options;
  const stateDir = resolve(options.stateDir ?? stateFolder()); // from our own folder, not from the backend's
  const { mode, limits, alarms: alarmOptions } = sandboxChoice(options);
  const place: Place = { ...options, sandbox: mode };
  const [sandboxed, terminal] = [isContained(place), hasTerminal(place)];
  const hasSources = sources.length > 0;
  const browsers = lazyBrowsers({
    ...options.browser,
    folder: browserFolder(stateDir),
    network: options.policy?.network,
    judge: (thread, effect) => toolkit.with({ thread }).judge([effect]),
  });
  const toolsWith = (shell?: ScriptShell) =>
    toolset(
      chosenTools(options, {
        sandboxed,
        terminal,
        memoryScope,
        hasSources,
        browsers,
        ...(shell !== undefined && { shell }),
      }),
    );
  const usual = toolsWith(); // what is wrong with the choice is said before anything is opened
  // Only those that were brought: Handrail's own are checked by a test, and the command line starts sooner.
  requireValidSchemas((options.tools ?? []).filter(({ name }) => usual.has(name)));
  const outputs = createOutputs({
    folder: outputsFolder(stateDir),
    owner: outputOwner,
    ...(options.maxOutputBytes !== undefined && { maxBytes: options.maxOutputBytes }),
  });
  const oneCommand = options.lifetime === "call";
  const around = surroundings(options.policy, limits, { stateDir, outputOwner, outputs, oneCommand });
  const backend = await openBackend(place, around);
  const tools = backend.shell === "sh" ? toolsWith("sh") : usual;
  if (tools.has("cron_add")) await loadWords();
  const ownFolders = [stateDir, configFolder(), ...OWN_FOLDERS];
  const alarms = createAlarms(alarmOptions);
  const mask = options.mask === false ? NO_MASK : createMask(process.env, options.mask);
  const jobStore: Pick<Store, "append"> = { append: (event) => store.append(mask.json(event)) };
  const jobs = createJobs({ backend, store: jobStore, lifetime: options.lifetime ?? "toolkit", alarms });
  const memories = openMemories({
    file: `${stateDir}/memory.db`,
    scope: memoryScope,
    workspace: `${backend.name}:${backend.workDir}`,
    mask: mask.text,
  });
  const schedules = openSchedules({
    file: `${stateDir}/schedule.db`,
    process: {
      own: () => JSON.stringify(thisProcess()),
      isDead: (identity) => livenessOf(JSON.parse(identity) as ProcessIdentity) === "dead",
    },
    mask: mask.text,
  });
  const rules = createRules(options.policy?.commands, backend);
  const withheld = createWithheld(rules, backend);
  const max = options.policy?.maxActionsPerHour;
  const rate = max === undefined ? undefined : createRateLimit({ max, folder: `${stateDir}/acts` });
  let removing: Promise<void> | undefined;
  /** What a job is called is shown to people and models, for as long as there is the job; what runs is `command`. */
  const namedJobs: Jobs = {
    async start({ label, ...command }, script, by) {
      // Most owners are one session's: nobody else would remove what they have left.
      removing ??= import("./backends/local/processes.ts").then((local) => local.removeOldJobs(jobsFolder(stateDir)));
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
  const conversations = createConversations(store);
  const isHere = backend.access === undefined && typeof options.target !== "object";
  const undo = options.undo === true && isHere ? lazyUndo(backend, stateDir, options) : undefined;
  const fetcher = lazyFetcher(options.policy?.network);
  const policies = [
    createPolicy({ ...presetPolicy(options.preset), ...options.policy }, backend, ownFolders, rules, {
      conversations,
      hasSecret: (text) => mask.text(text) !== text,
    }),
    ...(rate === undefined ? [] : [rate.policy]),
    ...(options.policies ?? []),
  ];
  const permanentGrants = () =>
    createGrants({
      workspace: { backend: backend.name, folder: backend.workDir },
      folder: grantsFolder(stateDir),
      ...(options.grants !== undefined && { longest: options.grants }),
    });
  /** What a job has written is read like a saved output. */
  const readable: Outputs = {
    get forCommands() {
      return backend.sandbox?.outputs;
    },
    save: async (content) => outputs.save(await maskedOutput(content, mask)),
    open: async (id) => (await jobs.openOutput(id)) ?? outputs.open(id),
  };

  /** Of sources, for the model. */
  const fromSources: string[] = [];
  const notices: Notices = {
    take(thread) {
      const news = [...(backend.notices?.() ?? [])];
      for (const text of news) options.onNotice?.(text);
      return [...news, ...fromSources.splice(0), ...jobs.notices.take(thread)];
    },
  };
  const programs = openPrograms(place, around, backend);
  const live = createLiveTools({
    own: tools,
    sources,
    ...sourceChoice(options),
    host: { workDir: programs.workDir, start: programs.start, mask: mask.text },
    notice(text) {
      const told = oneLine(mask.text(text), MOST_OF_NOTICE);
      if (fromSources.length < MOST_NOTICES) fromSources.push(told);
      options.onNotice?.(told);
    },
  });

  /** Makes the call that writes to a job, if this toolkit has it. */
  const write = async ({ job: id, request, text, end = false }: JobInput, call: CallId, thread: ThreadId) => {
    if ((await jobs.get(id))?.call !== call) return;
    const input = { action: "write", id, text, end };
    await toolkit.with({ tools: [jobsTool()], thread }).call({ name: "jobs", input, id: request });
  };
  const watch = createWatch(store, {
    ...{ stop: jobs.stop, watch: jobs.watch, open: jobs.open },
    // Without an answer, the process that asks reports it.
    write: (input, { call, thread }) => void write(input, call, thread).catch(() => {}),
  });
  const own = {
    ...{ tools: () => live.current, approver: options.approver, thread: "main", seen: createSeenFiles() },
    ...{
      grants: permanentGrants(),
      parkAfterMs: typeof park === "object" ? park.afterMs : park === "now" ? 0 : undefined,
    },
  };
  const shared = {
    policies,
    permanentGrants,
    takeAct: rate?.take,
    beforeAct: [undo?.beforeAct, options.beforeAct].filter((hook) => hook !== undefined),
    ...(undo !== undefined && { beforeTurn: undo.prepare }),
    fetcher,
    conversations,
    backend,
    outputs: readable,
    jobs: namedJobs,
    memories,
    schedules,
    notices,
    live,
    withheld,
    store,
    watch,
    answerWithinMs,
    approvers: options.approvers,
    onWaiting: options.onWaiting && tellOnce(options.onWaiting, mask),
    notify: (notice: Notice) =>
      void options.onWaiting?.({ ...notice, title: mask.text(notice.title), text: mask.text(notice.text) }),
    keepParkedMs,
    howToApprove: options.howToApprove ?? PASS_APPROVER,
    mask,
    alarms,
  };
  live.start();
  const toolkit = openToolkit(shared, own, async (callsEnded) => {
    const ended = Promise.all([callsEnded, jobs.close(), live.close()]);
    await Promise.race([ended, pause(CLOSING_MS, undefined, { keepsAlive: false })]);
    // what could not be ended, since nobody answers there, is let go
    await Promise.all([backend.close(), programs.close()]);
    await ended;
    await undo?.close();
    await Promise.all([fetcher.close(), browsers.close()]);
    await outputs.close();
    await memories.close();
    await schedules.close();
    watch.close();
    await store.close();
  });
  return toolkit;
}

const PASS_APPROVER =
  "To allow it, pass an approver to createToolkit, or let people answer the questions of its store.";

/** Characters of a source's notice. */
const MOST_OF_NOTICE = 500;

/** Notices of sources that wait for a result to tell the model; more are only told to people. */
const MOST_NOTICES = 20;

/**
 * Calls and jobs are stopped by themselves for so long; then their backend is closed all the same. TERM has a grace of
 * two seconds. Milliseconds.
 */
const CLOSING_MS = 4_000;

/** Loads the fetcher, with its client, for the first request. */
function lazyFetcher(network: NetworkSettings | undefined): Fetcher {
  let loading: Promise<Fetcher> | undefined;
  return {
    async fetch(url, options, by) {
      loading ??= import("./network/fetch.ts").then(({ createFetcher }) => createFetcher({ network }));
      return (await loading).fetch(url, options, by);
    },
    close: async () => (await loading)?.close(),
  };
}

/** Loads the browser's driver for the first action. */
function lazyBrowsers(options: BrowsersOptions): Browsers {
  let loading: Promise<Browsers> | undefined;
  const load = () =>
    (loading ??= import("./web/browser/browsers.ts").then(({ createBrowsers }) => createBrowsers(options)));
  return {
    act: async (...action) => (await load()).act(...action),
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
  const load = () => (loading ??= import("./undo/undo.ts").then(({ createUndo }) => createUndo(options)));
  return {
    beforeAct: async (...act) => (await load()).beforeAct(...act),
    prepare: (...said) => void load().then(({ prepare }) => prepare(...said)),
    close: async () => (await loading)?.close(),
  };
}

/** What the backend needs. What the policy says of paths holds for commands in the sandbox too. */
function surroundings(
  policy: PolicySettings = {},
  limits: SandboxOptions["limits"],
  {
    stateDir,
    outputOwner: owner,
    outputs,
    oneCommand,
  }: {
    readonly stateDir: string;
    readonly outputOwner: string;
    readonly outputs: { readonly folder: string };
    readonly oneCommand: boolean;
  },
): Surroundings {
  const { allowedRoots = [], forbiddenPaths = [], network } = policy;
  return {
    outputFolder: outputs.folder,
    programs: `${stateDir}/programs`,
    jobs: { owner, folder: `${jobsFolder(stateDir)}/${owner}` },
    sandbox: {
      folder: `${stateDir}/sandbox`,
      writable: allowedRoots,
      hidden: [stateDir, configFolder(), ...forbiddenPaths.filter((path) => !SYSTEM_FOLDERS.has(path))],
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

/** Where Handrail keeps its own on the backend's side, when that is another system. */
const OWN_FOLDERS: readonly string[] = ["~/.local/state/handrail", "~/.config/handrail"];

/**
 * Tools may not walk about in them, but no program runs without them: they are read-only in the sandbox, and not
 * hidden.
 */
const SYSTEM_FOLDERS: ReadonlySet<string> = new Set(DEFAULT_FORBIDDEN_PATHS.filter((path) => path.startsWith("/")));

/** Passes each question on once, with its text masked. */
function tellOnce(tell: (notice: Notice) => unknown, mask: Mask): (waiting: Waiting) => void {
  const told = new Set<QuestionId>();
  return ({ question, call, decision: { risk } }) => {
    if (told.has(question)) return;
    told.add(question);
    const { name, thread } = call.request;
    const text = mask.text(describeCall({ tool: { name }, effects: call.effects }));
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
