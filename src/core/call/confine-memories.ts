import type { ApprovedCall } from "../contract/call.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Memories } from "../contract/memory.ts";

/** Limits the memories to what a call declared, until the call ends. Any other use rejects with a `ToolFailure`. */
export function confineMemories(
  memories: Memories,
  { tool, effects }: Pick<ApprovedCall, "tool" | "effects">,
  isOver: () => boolean,
): Memories {
  const declared = effects.filter((effect) => effect.kind === "state" && effect.store === "memory");
  const mayChange = declared.some((effect) => effect.kind === "state" && effect.change);
  const guarded = async <T>(may: boolean, what: string, use: () => Promise<T>): Promise<T> => {
    if (isOver()) throw new ToolFailure(`the call of "${tool.name}" has ended; it can no longer use memories`);
    if (may) return await use();
    throw new ToolFailure(`tool "${tool.name}" ${what} memories, which its \`effects\` do not name`);
  };
  const reading = <T>(use: () => Promise<T>) => guarded(declared.length > 0, "reads", use);
  const changing = <T>(use: () => Promise<T>) => guarded(mayChange, "changes", use);
  return {
    scope: memories.scope,
    store: (added) => changing(() => memories.store(added)),
    forget: (key) => changing(() => memories.forget(key)),
    recall: (query, limit) => reading(() => memories.recall(query, limit)),
    list: (options) => reading(() => memories.list(options)),
    get: (key) => reading(() => memories.get(key)),
  };
}
