import type { MemoryScope } from "../../contract/memory.ts";
import type { ToolOptions } from "../../contract/tool.ts";

/** What the factories of the memory tools take. */
export interface MemoryToolOptions extends ToolOptions {
  /** Who shares the memories of the toolkit, as its description says. `createToolkit` sets it. Default "user". */
  readonly scope?: MemoryScope;
}

/** For the descriptions of the memory tools. */
export const SHARED_BY: { readonly [S in MemoryScope]: string } = {
  user: "Memories are shared by everything that this user works on.",
  workspace: "Memories belong to this workspace (the working directory) only.",
};
