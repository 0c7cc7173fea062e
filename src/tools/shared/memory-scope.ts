import type { MemoryScope } from "../../core/contract/memory.ts";
import type { ToolOptions } from "../../core/contract/tool.ts";

/** Options of the memory tools. */
export interface MemoryToolOptions extends ToolOptions {
  /** Who shares the memories; named in the description. `createToolkit` sets it. Default "user". */
  readonly scope?: MemoryScope;
}

/** A sentence for the descriptions of the memory tools. */
export const SHARED_BY: { readonly [S in MemoryScope]: string } = {
  user: "Memories are shared by all workspaces of this user.",
  workspace: "Memories belong to this workspace (the working directory) only.",
};
