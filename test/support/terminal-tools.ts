import { createJobs } from "../../src/record/activity/jobs.ts";
import { memoryStore } from "../../src/record/activity/memory-store.ts";
import type { ActivityEvent } from "../../src/core/contract/activity.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import type { Approver } from "../../src/core/contract/policy.ts";
import type { ToolResult } from "../../src/core/contract/result.ts";
import type { Tool } from "../../src/core/contract/tool.ts";
import { callTool } from "../../src/core/call/call.ts";
import type { Host } from "../../src/core/call/host.ts";
import { Stop } from "../../src/core/util/abort.ts";
import { createWatch } from "../../src/core/call/watch.ts";
import { parse } from "../../src/core/call/parse.ts";
import { asText } from "../../src/core/call/result.ts";
import { toolset } from "../../src/core/call/toolset.ts";
import { createSeenFiles } from "../../src/core/files/seen.ts";
import { openMemories } from "../../src/record/memory/memories.ts";
import { openSchedules } from "../../src/record/schedule/schedules.ts";
import { createFetcher } from "../../src/machine/network/fetch.ts";
import { createConversations } from "../../src/policy/provenance/conversations.ts";
import { NO_MASK } from "../../src/core/output/mask.ts";
import { createOutputs } from "../../src/core/output/outputs.ts";
import { createGrants } from "../../src/policy/grants.ts";
import { namedFilesIn } from "../../src/policy/commands/named-files.ts";
import { createPolicy } from "../../src/policy/policy.ts";
import type { PolicySettings } from "../../src/policy/policy-settings.ts";
import { BUILT_IN } from "../../src/tools/presets/built-in.ts";
import { chosenTools } from "../../src/tools/presets/choose.ts";
import { temporaryFolder } from "./workspace.ts";

interface TerminalToolsOptions {
  /** The tools. Default: every built-in one, second names included. */
  readonly tools?: readonly Tool[];
  /** Default: full autonomy. */
  readonly policy?: PolicySettings;
  readonly approver?: Approver;
  /** Default "toolkit". */
  readonly lifetime?: "call" | "toolkit";
}

/** The tools on a backend with a live terminal, composed of the parts of a toolkit. */
export interface TerminalTools {
  readonly host: Host;
  call(name: string, input: unknown, signal?: AbortSignal): Promise<ToolResult>;
  /** Makes a call, and returns what a model reads. */
  text(name: string, input: unknown): Promise<string>;
  events(): Promise<readonly ActivityEvent[]>;
  /** Ends the jobs. The backend is not closed. */
  close(): Promise<void>;
}

export function terminalTools(
  backend: Backend,
  { tools, policy = { autonomy: "full" }, approver, lifetime = "toolkit" }: TerminalToolsOptions = {},
): TerminalTools {
  const stateDir = temporaryFolder();
  const store = memoryStore();
  const jobs = createJobs({ backend, store, lifetime });
  const outputs = createOutputs({ folder: `${stateDir}/outputs`, owner: "test" });
  const terminal = backend.terminal !== undefined;
  const host: Host = {
    tools: toolset(tools ?? chosenTools({ preset: "every", toolsets: { every: Object.keys(BUILT_IN) } }, { terminal })),
    policies: [createPolicy(policy, backend)],
    approver,
    grants: createGrants({
      workspace: { backend: backend.name, folder: backend.workDir },
      folder: `${stateDir}/grants`,
    }),
    backend,
    namedFiles: namedFilesIn,
    fetcher: createFetcher(),
    conversations: createConversations(store),
    outputs: {
      ...outputs,
      open: async (id) => (await jobs.openOutput(id)) ?? outputs.open(id),
      openMasked: outputs.open,
    },
    jobs,
    memories: openMemories({ file: `${stateDir}/memory.db`, scope: "user", mask: (text) => text }),
    schedules: openSchedules({
      file: `${stateDir}/schedule.db`,
      process: { own: () => "test", isDead: () => false },
      mask: (text) => text,
    }),
    notices: jobs.notices,
    seen: createSeenFiles(),
    withheld: () => undefined,
    store,
    mask: NO_MASK,
    watch: createWatch(store, { ...jobs, write: () => undefined }),
    answerWithinMs: 600_000,
    keepParkedMs: 1,
    beforeAct: [],
    howToApprove: "Pass an approver.",
  };
  const call: TerminalTools["call"] = (name, input, signal) =>
    callTool(parse({ name, input }), host, new Stop(...(signal === undefined ? [] : [signal])));
  return {
    host,
    call,
    text: async (name, input) => asText(await call(name, input)),
    async events() {
      const all: ActivityEvent[] = [];
      for await (const event of store.events()) all.push(event);
      return all;
    },
    close: () => jobs.close(),
  };
}
