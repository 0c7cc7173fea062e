import type { Approvers } from "./contract/approvers.ts";
import type { Notice } from "./contract/notice.ts";
import type { AlarmOptions } from "./activity/alarms.ts";
import type { SandboxOptions } from "./backends/sandbox/options.ts";
import type { TargetOptions } from "./backends/targets.ts";
import { didYouMean } from "./config/nearest.ts";
import type { Store } from "./contract/activity.ts";
import type { BeforeAct } from "./contract/call.ts";
import type { SandboxMode } from "./contract/containment.ts";
import type { MemoryScope } from "./contract/memory.ts";
import type { Approver, Policy } from "./contract/policy.ts";
import type { Hooks } from "./contract/hooks.ts";
import type { ToolSource } from "./contract/tool-source.ts";
import type { MaskOptions } from "./output/mask.ts";
import type { PolicySettings } from "./policy/policy-settings.ts";
import type { ToolChoice } from "./tools/presets/choose.ts";
import type { BrowserSettings } from "./web/browser/protocol.ts";

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
   * The environment: where Handrail's folders are, which values are masked, and what commands of this machine may get of
   * it (`passEnv`). Default: that of this process.
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
  /** "call": this toolkit is closed after one call, so it starts no jobs that would end with it. Default "toolkit". */
  readonly lifetime?: "call" | "toolkit";
}

/**
 * Checks the options also for programs without types.
 *
 * @throws TypeError for an option that does not exist, and for one that a backend as `target` has itself; RangeError
 *   for a number that is out of range.
 */
export function requireValidOptions(options: ToolkitOptions): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(OPTIONS, name)) continue;
    const hint = didYouMean(name, Object.keys(OPTIONS));
    throw new TypeError(`createToolkit has no option ${JSON.stringify(name)}. ${hint}`.trimEnd());
  }
  for (const name of PLACE_OPTIONS) {
    if (typeof options.target !== "object" || options[name] === undefined) continue;
    throw new TypeError(`createToolkit got ${name} and a backend as target: ${BESIDE_BACKEND[name]}`);
  }
  const { answerWithinMs, keepParkedMs, park } = options;
  if (typeof park === "string" && park !== "now" && park !== "never") {
    throw new TypeError(`park ${JSON.stringify(park)}: expected "now", "never" or { afterMs }`);
  }
  const { afterMs } = typeof park === "object" ? park : {};
  for (const [name, value] of Object.entries({ answerWithinMs, keepParkedMs, "park.afterMs": afterMs })) {
    if (value !== undefined && !(value > 0)) throw new RangeError(`${name} ${value}: expected a number above 0`);
  }
}

const OPTIONS: { readonly [name in keyof Required<ToolkitOptions>]: true } = {
  answerWithinMs: true,
  approver: true,
  approvers: true,
  beforeAct: true,
  browser: true,
  disable: true,
  grants: true,
  hooks: true,
  howToApprove: true,
  keepParkedMs: true,
  lifetime: true,
  mask: true,
  maxOutputBytes: true,
  maxUndoBytes: true,
  memoryScope: true,
  onNotice: true,
  onWaiting: true,
  outputOwner: true,
  park: true,
  passEnv: true,
  policies: true,
  policy: true,
  preset: true,
  queue: true,
  sandbox: true,
  sources: true,
  stateDir: true,
  env: true,
  store: true,
  target: true,
  targets: true,
  terminal: true,
  toolOptions: true,
  tools: true,
  toolsets: true,
  undo: true,
  workDir: true,
  workerId: true,
};

const PLACE_OPTIONS = ["workDir", "passEnv", "sandbox", "terminal"] as const;

const BESIDE_BACKEND: { readonly [name in (typeof PLACE_OPTIONS)[number]]: string } = {
  workDir: "a backend has its own working directory: leave workDir out",
  passEnv: "give it to the backend: local({ passEnv })",
  sandbox: "wrap the backend in it: sandbox(backend, { folder })",
  terminal: "a backend has its own terminal, or none: leave terminal out",
};
