import { APPROVER_LIMITS, type Approvers } from "../core/contract/approvers.ts";
import type { Notice } from "../core/contract/notice.ts";
import type { AlarmOptions } from "../record/activity/alarms.ts";
import type { LimitSettings } from "../machine/sandbox/limits/limits.ts";
import type { SandboxOptions } from "../machine/sandbox/options.ts";
import type { TargetOptions } from "../machine/targets.ts";
import type { Store } from "../core/contract/activity.ts";
import type { BeforeAct } from "../core/contract/call.ts";
import { SANDBOX_MODES, type SandboxMode } from "../core/contract/containment.ts";
import { MEMORY_SCOPES, type MemoryScope } from "../core/contract/memory.ts";
import { AUTONOMIES, type Approver, type Policy } from "../core/contract/policy.ts";
import type { Hooks } from "../core/contract/hooks.ts";
import type { ToolSource } from "../core/contract/tool-source.ts";
import type { MaskOptions } from "../core/output/mask.ts";
import { FETCH_MODES, type NetworkSettings, PROXY_MODES } from "../machine/network/network-settings.ts";
import { ASK_IN_SANDBOX, type CommandRule, type CommandRules, type PolicySettings } from "../policy/policy-settings.ts";
import type { ToolChoice } from "../tools/presets/choose.ts";
import {
  type Shape,
  anyObject,
  callback,
  either,
  flag,
  listOf,
  mapOf,
  number,
  object,
  oneOf,
  requireShape,
  text,
} from "../core/util/shape.ts";
import type { BrowserSettings } from "../tools/web/browser/protocol.ts";

/** How commands are contained, which works only on this machine. The policy decides what they may read and write. */
export interface SandboxChoice {
  /** "auto" contains commands where that works here, "on" runs none without it. Default "auto". */
  readonly mode?: SandboxMode;
  /** Limits of a command in the sandbox. */
  readonly limits?: SandboxOptions["limits"];
  /** How many sandbox refusals raise an alarm in the record. */
  readonly alarms?: AlarmOptions;
}

export interface ToolkitOptions extends ToolChoice, Omit<TargetOptions, "sandbox"> {
  /** How commands are contained, or the mode alone. Default "auto". */
  readonly sandbox?: SandboxMode | SandboxChoice;
  /**
   * Sources of tools that come and go. One of Handrail's presets gets all of their tools, one of `toolsets` those that
   * it names. Sources start at once, and no call waits for them: see `Toolkit.ready`. They are closed with the toolkit.
   */
  readonly sources?: readonly ToolSource[];
  /** Settings of the browser of the tool `browser`. Default: its own Chromium, without a window. */
  readonly browser?: BrowserSettings;
  /** Settings of the standard policy. */
  readonly policy?: PolicySettings;
  /** Your own policies, in addition to the standard one. The strictest decision counts. */
  readonly policies?: readonly Policy[];
  /**
   * Asks a person. An answer through the store may come first. Without an approver, a question waits for such an answer
   * while a process attends (`Store.attend`); otherwise the call is denied.
   */
  readonly approver?: Approver;
  /**
   * Runs before the first effect of every act (writes, commands, requests and the like). The act waits for it. A
   * rejection ends the call.
   */
  readonly beforeAct?: BeforeAct;
  /** Programs of the user at stages of calls and turns. They can refuse, ask about and change calls. */
  readonly hooks?: Hooks;
  /**
   * Keeps the state of the workspace before tools change it, in `stateDir`, for `handrail undo`. Only on this machine,
   * and with git. Default false: it takes disk space, and time before acts.
   */
  readonly undo?: boolean;
  /** Bytes for the kept states of one workspace; the oldest are removed first. Default 2 GiB (2,147,483,648). */
  readonly maxUndoBytes?: number;
  /**
   * How long to wait for an answer from the store without an approver, in milliseconds. Default 600,000: ten minutes.
   */
  readonly answerWithinMs?: number;
  /**
   * When a call that a person must approve is parked: recorded with its question, so that no process need wait. "now":
   * at once, if this toolkit has no approver. `afterMs`: when nobody, the approver included, has answered within this
   * time; at once if nobody can be asked. "never": the call waits for `answerWithinMs` and is denied. Calls that a
   * running tool makes are never parked. Default "never".
   */
  readonly park?: "now" | "never" | { readonly afterMs: number };
  /**
   * How long a parked call waits for its answer, and then again for a process that makes it, in milliseconds. Default
   * 604,800,000: seven days.
   */
  readonly keepParkedMs?: number;
  /**
   * Called when something waits for a person who may be elsewhere: when a question opens that no approver of this
   * toolkit may answer, or when its call is parked, once for each question; and when a schedule's run has failed. The
   * text is masked. It is not awaited.
   */
  readonly onWaiting?: (notice: Notice) => unknown;
  /** Which risk can be approved from where; the approver counts as "terminal". Default: every risk from everywhere. */
  readonly approvers?: Approvers;
  /** The last sentence of a denial when nobody could be asked: how its reader can get approval. */
  readonly howToApprove?: string;
  /**
   * The longest approval that a person can give: for one call, for the lifetime of this toolkit, or permanently, stored
   * in the state folder for the backend's working directory. Default "always".
   */
  readonly grants?: "once" | "session" | "always";
  /** Default: a store in memory. Closed with the toolkit. */
  readonly store?: Store;
  /**
   * The Redis server that wakes workers, for a target "worker:NAME": `redis://HOST:PORT` or `rediss://…` with TLS.
   * Needs the packages bullmq and ioredis. Default: workers are woken by the store alone.
   */
  readonly queue?: string;
  /** Makes the calls that are delivered to a worker with this id, which its jobs and saved outputs begin with. */
  readonly workerId?: string;
  /**
   * Who shares the memories in `stateDir`: all workspaces of the user, or only sessions in the same folder. Default
   * "user".
   */
  readonly memoryScope?: MemoryScope;
  /** Where saved outputs go. Default: `$XDG_STATE_HOME/handrail` (`~/.local/state/handrail`). */
  readonly stateDir?: string;
  /**
   * The environment: where Handrail's folders are, which values are masked, and what commands of this machine may get
   * of it (`passEnv`). Default: that of this process.
   */
  readonly env?: NodeJS.ProcessEnv;
  /**
   * Bytes that the saved outputs in `stateDir` may take together; the oldest are removed first. Default 2 GiB
   * (2,147,483,648).
   */
  readonly maxOutputBytes?: number;
  /**
   * Toolkits with the same name read each other's saved outputs, and share detached jobs. Default: a random
   * name.
   */
  readonly outputOwner?: string;
  /**
   * Further secrets to mask in results, in what people are shown and in the record, or false to mask nothing. Keys of
   * known formats and values of environment variables with secret-looking names are masked by default. Files are not
   * changed.
   */
  readonly mask?: MaskOptions | false;
  /**
   * Called with a sentence for each notice: of the backend (such as a lost connection that was opened again) when a
   * result reports it to the model, of tool sources at once. Must not throw.
   */
  readonly onNotice?: (text: string) => void;
  /**
   * Which files calls are judged by. "machine": those of the machine, also where commands have temporary folders of
   * their own, because a program outside the sandbox does the work. Default "commands": those that commands see.
   */
  readonly filesOf?: "commands" | "machine";
  /** "call": this toolkit is closed after one call, so it starts no jobs that would end with it. Default "toolkit". */
  readonly lifetime?: "call" | "toolkit";
}

/**
 * Checks the options, with everything in them, also for programs without types.
 *
 * @throws TypeError for an option or a key in one that does not exist, for a value that cannot be, and for an option
 *   that a backend as `target` has itself; RangeError for a number that is out of range.
 */
export function requireValidOptions(options: ToolkitOptions): void {
  const { answerWithinMs, keepParkedMs, park } = options;
  const { afterMs } = typeof park === "object" && park !== null ? park : {};
  for (const [name, value] of Object.entries({ answerWithinMs, keepParkedMs, "park.afterMs": afterMs })) {
    if (typeof value === "number" && !(value > 0)) throw new RangeError(`${name} ${value}: expected a number above 0`);
  }
  requireShape("createToolkit", options, OPTIONS);
  for (const name of PLACE_OPTIONS) {
    if (typeof options.target !== "object" || options[name] === undefined) continue;
    throw new TypeError(`createToolkit got ${name} and a backend as target: ${BESIDE_BACKEND[name]}`);
  }
}

const NETWORK: Shape<NetworkSettings> = {
  allowHosts: listOf(text),
  denyHosts: listOf(text),
  allowPrivate: listOf(text),
  fetch: oneOf(...FETCH_MODES),
  proxy: oneOf(...PROXY_MODES),
  ports: listOf(number(1)),
};

const RULES = listOf(
  either("string", text, object<CommandRule>({ rule: text, match: listOf(text), not_match: listOf(text) })),
);

const POLICY: Shape<PolicySettings> = {
  autonomy: oneOf(...AUTONOMIES),
  workspaceOnly: flag,
  allowedRoots: listOf(text),
  forbiddenPaths: listOf(text),
  commands: object<CommandRules>({ allow: RULES, only: RULES, ask: RULES, deny: RULES }),
  blockHighRiskCommands: flag,
  requireApprovalForMediumRisk: flag,
  maxActionsPerHour: number(0),
  shellConfirm: flag,
  askInSandbox: oneOf(...ASK_IN_SANDBOX),
  forbiddenInSandbox: flag,
  wholeMachine: flag,
  network: object(NETWORK),
};

const MODE = oneOf(...SANDBOX_MODES);
const SANDBOX: Shape<SandboxChoice> = {
  mode: MODE,
  limits: object<LimitSettings>({ processes: number(1), memory: number(1), diskFree: number(0), caches: number(0) }),
  alarms: object<AlarmOptions>({ perMinute: number(0), cooldownMs: number(0), now: callback }),
};

const LIMIT = oneOf(...APPROVER_LIMITS);

const OPTIONS: Shape<ToolkitOptions> = {
  answerWithinMs: number(0),
  approver: callback,
  approvers: object<Approvers>({ terminal: LIMIT, browser: LIMIT, phone: LIMIT, api: LIMIT }),
  beforeAct: callback,
  browser: object<BrowserSettings>({ headed: flag, executablePath: text, profile: text, cdp: text }),
  disable: listOf(text),
  filesOf: oneOf("commands", "machine"),
  grants: oneOf("once", "session", "always"),
  hooks: anyObject,
  howToApprove: text,
  keepParkedMs: number(0),
  lifetime: oneOf("call", "toolkit"),
  mask: (value, at) => {
    if (value === false) return [];
    return object<MaskOptions>({ values: listOf(text), names: listOf(text) })(value, at);
  },
  maxOutputBytes: number(0),
  maxUndoBytes: number(0),
  memoryScope: oneOf(...MEMORY_SCOPES),
  onNotice: callback,
  onWaiting: callback,
  outputOwner: text,
  park: either("string", oneOf("now", "never"), object<{ readonly afterMs: number }>({ afterMs: number(0) })),
  passEnv: listOf(text),
  policies: listOf((value, at) => (typeof value === "function" ? [] : anyObject(value, at))),
  policy: object(POLICY),
  preset: text,
  queue: text,
  sandbox: either("string", MODE, object(SANDBOX)),
  sources: listOf(anyObject),
  stateDir: text,
  env: anyObject,
  store: anyObject,
  target: either("string", text, anyObject),
  targets: listOf(anyObject),
  terminal: either("string", text, either("boolean", flag, anyObject)),
  toolOptions: mapOf(anyObject),
  tools: listOf(anyObject),
  toolsets: mapOf(listOf(text)),
  undo: flag,
  workDir: text,
  workerId: text,
};

const PLACE_OPTIONS = ["workDir", "passEnv", "sandbox", "terminal"] as const;

const BESIDE_BACKEND: { readonly [name in (typeof PLACE_OPTIONS)[number]]: string } = {
  workDir: "a backend has its own working directory: leave workDir out",
  passEnv: "give it to the backend: local({ passEnv })",
  sandbox: "wrap the backend in it: sandbox(backend, { folder })",
  terminal: "a backend has its own terminal, or none: leave terminal out",
};
