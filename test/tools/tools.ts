import type { ToolResult } from "../../src/contract/result.ts";
import type { Toolkit } from "../../src/contract/toolkit.ts";
import { asText } from "../../src/engine/result.ts";
import type { ToolkitOptions } from "../../src/toolkit.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

/** Tools on a workspace of their own, called the way a model does. */
export interface Tools {
  readonly folder: string;
  readonly toolkit: Toolkit;
  call(name: string, input: unknown): Promise<ToolResult>;
  /** What a model reads of the call's result. */
  text(name: string, input: unknown): Promise<string>;
}

/** Every tool, allowed everything inside a new folder that has the files given. */
export async function toolsOn(
  files: { readonly [path: string]: string | Uint8Array } = {},
  options: ToolkitOptions = {},
): Promise<Tools> {
  const folder = await workspace(files);
  const toolkit = await toolkitWith({
    ...(options.tools === undefined && { preset: "all" }),
    ...(typeof options.target !== "object" && { workDir: folder }),
    policy: { autonomy: "full" },
    ...options,
  });
  const call = (name: string, input: unknown) => toolkit.call({ name, input });
  return { folder, toolkit, call, text: async (name, input) => asText(await call(name, input)) };
}

/** Numbered lines: "line 1\nline 2\n…". */
export function numberedLines(count: number): string {
  let text = "";
  for (let line = 1; line <= count; line++) text += `line ${line}\n`;
  return text;
}
