import type { Command } from "../../../core/contract/backend.ts";
import type { SandboxAccess } from "../../../core/contract/containment.ts";
import type { Env } from "../../../core/contract/effect.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { messageOf } from "../../../core/util/errors.ts";
import { bridged } from "../egress/bridge-command.ts";
import type { EgressProxy } from "../egress/proxy.ts";
import { type CommandFacts, removeEmpty } from "../mounts/facts.ts";
import { type Mount, mountsOf } from "../mounts/mounts.ts";
import { NO_RETRIES } from "../session/caches.ts";
import { type Contained, bubblewrapWords } from "./bubblewrap.ts";
import { PROXY_INSIDE, type SandboxContext, givenBy } from "./wrap.ts";

/** What is undone after a command, in any order. `run` undoes it once, and never rejects. */
export interface Cleaning {
  add(undo: () => unknown): void;
  run(): Promise<unknown>;
}

export function cleaner(): Cleaning {
  const all: (() => unknown)[] = [];
  let done: Promise<unknown> | undefined;
  return {
    add: (undo) => void all.push(undo),
    run: () => (done ??= Promise.allSettled(all.map(async (undo) => undo()))),
  };
}

/** What a command would find in its sandbox now. */
export interface View {
  /** The command, with the bridge to its network. */
  readonly argv: Command["argv"];
  /** The command's own variables, with those of the sandbox. */
  readonly env: Env;
  readonly networked: boolean;
  readonly mounts: readonly Mount[];
  readonly found: CommandFacts;
  readonly proxy: EgressProxy | undefined;
  /** The words of bwrap. */
  words(how: Omit<Contained, "hasOwnNetwork">): readonly string[];
}

export const isNetworked = ({ network = [] }: SandboxAccess) => network.length > 0;

/**
 * Finds out what a command may see and do. `cleaning` gets the steps that remove what was created. @throws ToolFailure
 */
export async function viewFor(
  { argv, env = {} }: Pick<Command, "argv" | "env">,
  access: SandboxAccess,
  context: SandboxContext,
  cleaning: Cleaning,
): Promise<View> {
  const networked = isNetworked(access);
  const proxy = networked ? await proxyFor(access.network ?? [], context) : undefined;
  cleaning.add(() => proxy?.close());
  const bridge = proxy === undefined ? { argv, env: {}, paths: [] } : bridged(argv, PROXY_INSIDE);
  await context.settle();
  const found = context.factsFor(access, { reopened: bridge.paths, given: givenBy(context, proxy) });
  cleaning.add(() => removeEmpty(found.made));
  const mounts = mountsOf({ ...found.facts, ownProcesses: context.features.processes });
  const hasOwnNetwork = networked || context.sharedNetwork === undefined;
  return {
    argv: bridge.argv,
    env: {
      ...context.caches.environment(networked),
      ...(networked ? {} : NO_RETRIES),
      TMPDIR: "/tmp",
      ...env,
      ...bridge.env,
    },
    networked,
    mounts,
    found,
    proxy,
    words: (how) => bubblewrapWords(context.features, mounts, { ...how, hasOwnNetwork }),
  };
}

async function proxyFor(hosts: readonly string[], { network, session }: SandboxContext): Promise<EgressProxy> {
  const { startProxy } = await import("../egress/proxy.ts");
  try {
    return await startProxy({ hosts, folder: session.folder, ...(network !== undefined && { network }) });
  } catch (error) {
    throw new ToolFailure(`the sandbox's proxy could not be started: ${messageOf(error)}`, { cause: error });
  }
}
