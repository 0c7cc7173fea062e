import { resolve } from "node:path";
import { type AlarmOptions, createAlarms } from "./activity/alarms.ts";
import { createJobs } from "./activity/jobs.ts";
import { memoryStore } from "./activity/memory-store.ts";
import { type Surroundings, openBackend } from "./backends/open.ts";
import type { SandboxOptions } from "./backends/sandbox/options.ts";
import { type Place, hasTerminal, isContained } from "./backends/targets.ts";
import { didYouMean } from "./config/nearest.ts";
import { configFolder, stateFolder } from "./config/state.ts";
import type { SandboxMode } from "./contract/containment.ts";
import type { Store } from "./contract/activity.ts";
import type { ScriptShell } from "./contract/backend.ts";
import type { Jobs, Notices } from "./contract/job.ts";
import type { MemoryScope } from "./contract/memory.ts";
import type { Approver, Policy } from "./contract/policy.ts";
import type { Outputs } from "./contract/tool.ts";
import type { Toolkit } from "./contract/toolkit.ts";
import { requireValidSchemas } from "./engine/schema-fault.ts";
import { openToolkit } from "./engine/toolkit.ts";
import { createWatch } from "./engine/watch.ts";
import { toolset } from "./engine/toolset.ts";
import { createSeenFiles } from "./files/seen.ts";
import { openMemories } from "./memory/memories.ts";
import type { Fetcher } from "./network/fetch.ts";
import { createKnownHosts } from "./network/known-hosts.ts";
import type { NetworkSettings } from "./network/settings.ts";
import { type MaskOptions, NO_MASK, createMask } from "./output/mask.ts";
import { createOutputs } from "./output/outputs.ts";
import { createGrants } from "./policy/grants.ts";
import { createPolicy } from "./policy/policy.ts";
import { createRateLimit } from "./policy/rate.ts";
import { createRules } from "./policy/rules/rules.ts";
import { protectedFile } from "./policy/protected.ts";
import { isSecretOfProject } from "./policy/sensitive.ts";
import { DEFAULT_FORBIDDEN_PATHS, type PolicySettings } from "./policy/settings.ts";
import { createWithheld } from "./policy/withheld.ts";
import { presetPolicy } from "./tools/presets/policies.ts";
import { type ToolChoice, chosenTools } from "./tools/presets/choose.ts";
import { pause } from "./util/abort.ts";
import { randomName } from "./util/identifier.ts";

/** How commands are contained, which only this machine can do. What they may read and write is the policy's to say. */
export interface SandboxChoice {
  /** "auto" contains commands where that works here, "on" runs none without it. Default "auto". */
  readonly mode?: SandboxMode;
  /** What a command in the sandbox may use at most. */
  readonly limits?: SandboxOptions["limits"];
  /** How many refusals of the sandbox raise an alarm in the record. */
  readonly alarms?: AlarmOptions;
}

export interface ToolkitOptions extends ToolChoice, Omit<Place, "sandbox"> {
  /** How commands are contained, or the mode alone. Default "auto". */
  readonly sandbox?: SandboxMode | SandboxChoice;
  /** What the standard policy is told. */
  readonly policy?: PolicySettings;
  /** Policies of yours, asked beside the standard one; the strictest decision counts. */
  readonly policies?: readonly Policy[];
  /**
   * Asks a person. Whoever answers questions of the store may be first. Without an approver such an answer is waited for while somebody can answer
   * there (`Store.attend`); otherwise what would be asked is denied.
   */
  readonly approver?: Approver;
  /** How long an answer from the store is waited for without an approver, in milliseconds. Default 600,000: ten minutes. */
  readonly answerWithinMs?: number;
  /** Ends the text of a denial where nobody could be asked: a sentence that tells whoever reads it what they can do. */
  readonly howToApprove?: string;
  /**
   * What a person may answer at most: this call only, as long as this toolkit, or for good, which is kept in the state folder for the backend's
   * working directory. Default "always".
   */
  readonly grants?: "once" | "session" | "always";
  /** Default: in memory, as long as the toolkit. It is closed with the toolkit. */
  readonly store?: Store;
  /** Who shares what the memory tools store in `stateDir`: all that the user runs, or only what works in the same folder. Default "user". */
  readonly memoryScope?: MemoryScope;
  /** Where saved outputs go. Default: `$XDG_STATE_HOME/handrail` (`~/.local/state/handrail`). */
  readonly stateDir?: string;
  /** Bytes that the saved outputs in `stateDir` may take together; the oldest are removed first. Default 2 GiB (2,147,483,648). */
  readonly maxOutputBytes?: number;
  /** Toolkits with the same name read each other's saved outputs, and have their detached jobs in common. Default: a name of its own. */
  readonly outputOwner?: string;
  /**
   * Secrets in what models and people are shown, and in the record: values of secret-looking variables of our environment, passed to
   * commands or not, and keys of known formats. More of them, or false to mask nothing. Files keep their bytes.
   */
  readonly mask?: MaskOptions | false;
  /**
   * Gets what happened to the backend, such as a lost connection that was opened again: a sentence each, when a result tells the model. Must not
   * throw.
   */
  readonly onNotice?: (text: string) => void;
  /** "call": this toolkit is closed after one call, so it starts no jobs that would end with it. Default "toolkit". */
  readonly lifetime?: "call" | "toolkit";
}

/**
 * Puts tools, policy, backend, store and outputs together.
 *
 * @throws ToolFailure when the place of work cannot be reached or its working directory is not there; TypeError when two tools have one
 *   name, when there is no such preset, tool or target, when a tool's schema is not a valid JSON Schema, and when something is given that a
 *   backend as `target` has itself, and for an option that does not exist; RangeError for a number that is out of range.
 */
export async function createToolkit(options: ToolkitOptions = {}): Promise<Toolkit> {
  requireKnown(options);
  for (const name of PLACE_OPTIONS) {
    if (typeof options.target !== "object" || options[name] === undefined) continue;
    throw new TypeError(`createToolkit got ${name} and a backend as target: ${BESIDE_BACKEND[name]}`);
  }
  const { outputOwner = randomName(16), store = memoryStore(), memoryScope = "user" } = options;
  const { answerWithinMs = 600_000 } = options;
  if (!(answerWithinMs > 0)) throw new RangeError(`answerWithinMs ${answerWithinMs}: expected a number above 0`);
  const stateDir = resolve(options.stateDir ?? stateFolder()); // from our own folder, not from the backend's
  const { mode, limits, alarms: alarmOptions } = sandboxChoice(options);
  const place: Place = { ...options, sandbox: mode };
  const [sandboxed, terminal] = [isContained(place), hasTerminal(place)];
  const toolsWith = (shell?: ScriptShell) =>
    toolset(chosenTools(options, { sandboxed, terminal, memoryScope, ...(shell !== undefined && { shell }) }));
  const usual = toolsWith(); // what is wrong with the choice is said before anything is opened
  // Only those that were brought: Handrail's own are checked by a test, and the command line starts sooner.
  requireValidSchemas((options.tools ?? []).filter(({ name }) => usual.has(name)));
  const outputs = createOutputs({
    folder: outputsFolder(stateDir),
    owner: outputOwner,
    ...(options.maxOutputBytes !== undefined && { maxBytes: options.maxOutputBytes }),
  });
  const backend = await openBackend(place, surroundings(options.policy, limits, { stateDir, outputOwner, outputs }));
  const tools = backend.shell === "sh" ? toolsWith("sh") : usual;
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
  const rules = createRules(options.policy?.commands, backend);
  const withheld = createWithheld(rules);
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
  };
  const knownHosts = createKnownHosts();
  const fetcher = lazyFetcher(options.policy?.network);
  const policies = [
    createPolicy({ ...presetPolicy(options.preset), ...options.policy }, backend, ownFolders, rules, {
      isKnown: knownHosts.has,
      hasSecret: (text) => mask.text(text) !== text,
    }),
    ...(rate === undefined ? [] : [rate.policy]),
    ...(options.policies ?? []),
  ];
  const grants = createGrants({
    workspace: { backend: backend.name, folder: backend.workDir },
    folder: grantsFolder(stateDir),
    ...(options.grants !== undefined && { longest: options.grants }),
  });
  /** What a job has written is read like a saved output. */
  const readable: Outputs = {
    save: outputs.save,
    open: async (id) => (await jobs.openOutput(id)) ?? outputs.open(id),
  };

  const notices: Notices = {
    take(thread) {
      const news = backend.notices?.();
      if (news === undefined || news.length === 0) return jobs.notices.take(thread);
      for (const text of news) options.onNotice?.(text);
      return [...news, ...jobs.notices.take(thread)];
    },
  };

  const watch = createWatch(store, jobs.stop);
  const own = { tools, approver: options.approver, thread: "main", seen: createSeenFiles() };
  const shared = {
    policies,
    grants,
    takeAct: rate?.take,
    fetcher,
    knownHosts,
    backend,
    outputs: readable,
    jobs: namedJobs,
    memories,
    notices,
    withheld,
    store,
    watch,
    answerWithinMs,
    howToApprove: options.howToApprove ?? PASS_APPROVER,
    mask,
    alarms,
  };
  return openToolkit(shared, own, async (callsEnded) => {
    const ended = Promise.all([callsEnded, jobs.close()]);
    await Promise.race([ended, pause(CLOSING_MS, undefined, { keepsAlive: false })]);
    await backend.close(); // what could not be ended, since nobody answers there, is let go
    await ended;
    await fetcher.close();
    await outputs.close();
    await memories.close();
    watch.close();
    await store.close();
  });
}

const PASS_APPROVER =
  "To allow it, pass an approver to createToolkit, or let people answer the questions of its store.";

/** Calls and jobs are stopped by themselves for so long; then their backend is closed all the same. TERM has a grace of two seconds. Milliseconds. */
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

/** Where the jobs of all owners are kept, each owner's in a folder of its name. */
export function jobsFolder(stateDir: string): string {
  return `${stateDir}/jobs`;
}

/** Where the saved outputs of all owners are kept. */
export function outputsFolder(stateDir: string): string {
  return `${stateDir}/outputs`;
}

/** Where what people have allowed for good is kept. */
export function grantsFolder(stateDir: string): string {
  return `${stateDir}/grants`;
}

/** What the backend needs. What the policy says of paths holds for commands in the sandbox too. */
function surroundings(
  policy: PolicySettings = {},
  limits: SandboxOptions["limits"],
  {
    stateDir,
    outputOwner: owner,
    outputs,
  }: { readonly stateDir: string; readonly outputOwner: string; readonly outputs: { readonly folder: string } },
): Surroundings {
  const { allowedRoots = [], forbiddenPaths = [], network } = policy;
  return {
    outputFolder: outputs.folder,
    jobs: { owner, folder: `${jobsFolder(stateDir)}/${owner}` },
    sandbox: {
      folder: `${stateDir}/sandbox`,
      writable: allowedRoots,
      hidden: [stateDir, configFolder(), ...forbiddenPaths.filter((path) => !SYSTEM_FOLDERS.has(path))],
      isProtected: (path) => protectedFile(path) !== undefined,
      isSensitive: isSecretOfProject,
      ...(network !== undefined && { network }),
      ...(limits !== undefined && { limits }),
    },
  };
}

function sandboxChoice({ sandbox = {} }: ToolkitOptions): SandboxChoice & { readonly mode: SandboxMode } {
  return typeof sandbox === "string" ? { mode: sandbox } : { mode: "auto", ...sandbox };
}

/** Programs without types learn of a wrong name here. */
function requireKnown(options: object): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(OPTIONS, name)) continue;
    const hint = didYouMean(name, Object.keys(OPTIONS));
    throw new TypeError(`createToolkit has no option ${JSON.stringify(name)}. ${hint}`.trimEnd());
  }
}

const OPTIONS: { readonly [name in keyof Required<ToolkitOptions>]: true } = {
  answerWithinMs: true,
  approver: true,
  disable: true,
  grants: true,
  howToApprove: true,
  lifetime: true,
  mask: true,
  maxOutputBytes: true,
  memoryScope: true,
  onNotice: true,
  outputOwner: true,
  passEnv: true,
  policies: true,
  policy: true,
  preset: true,
  sandbox: true,
  stateDir: true,
  store: true,
  target: true,
  targets: true,
  terminal: true,
  toolOptions: true,
  tools: true,
  toolsets: true,
  workDir: true,
};

/** Where Handrail keeps its own on the backend's side, when that is another system. */
const OWN_FOLDERS: readonly string[] = ["~/.local/state/handrail", "~/.config/handrail"];

const PLACE_OPTIONS = ["workDir", "passEnv", "sandbox", "terminal"] as const;

const BESIDE_BACKEND: { readonly [name in (typeof PLACE_OPTIONS)[number]]: string } = {
  workDir: "a backend has its own working directory: leave workDir out",
  passEnv: "give it to the backend: local({ passEnv })",
  sandbox: "wrap the backend in it: sandbox(backend, { folder })",
  terminal: "a backend has its own terminal, or none: leave terminal out",
};

/** Tools may not walk about in them, but no program runs without them: they are read-only in the sandbox, and not hidden. */
const SYSTEM_FOLDERS: ReadonlySet<string> = new Set(DEFAULT_FORBIDDEN_PATHS.filter((path) => path.startsWith("/")));
