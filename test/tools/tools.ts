import { onTestFinished } from "vitest";
import type { ToolResult } from "../../src/core/contract/result.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";
import { plainText } from "../support/plain-text.ts";

/** Tools on their own workspace, called the way a model does. */
export interface Tools {
  readonly folder: string;
  readonly toolkit: Toolkit;
  call(name: string, input: unknown): Promise<ToolResult>;
  /** Makes a call, and returns what a model reads. */
  text(name: string, input: unknown): Promise<string>;
}

/** Opens what makes the calls in a folder, which ends with the test. Returns the options of the toolkit. */
export type ToolsPlace = (folder: string, options: ToolkitOptions) => Promise<ToolkitOptions>;

let place: ToolsPlace | undefined;

/** Lets others than this process make the calls, until it is called without them. */
export function toolsAt(others: ToolsPlace | undefined): void {
  place = others;
}

/** Opens every tool, with full approval, on a new folder with the given files. */
export async function toolsOn(
  files: { readonly [path: string]: string | Uint8Array } = {},
  given: ToolkitOptions = {},
): Promise<Tools> {
  const folder = await workspace(files);
  const options: ToolkitOptions = {
    ...(given.tools === undefined && { preset: "all" }),
    policy: { autonomy: "full" },
    ...given,
  };
  const there = place !== undefined && typeof given.target !== "object" ? await place(folder, options) : undefined;
  const { workDir = folder, ...others } = options;
  const toolkit = await toolkitWith({
    ...(typeof given.target !== "object" && there === undefined && { workDir }),
    ...others,
    ...there,
  });
  if (there !== undefined) onTestFinished(() => toolkit.close());
  const call = (name: string, input: unknown) => toolkit.call({ name, input });
  return { folder, toolkit, call, text: async (name, input) => plainText(await call(name, input)) };
}

/** Numbered lines: "line 1\nline 2\n…". */
export function numberedLines(count: number): string {
  let text = "";
  for (let line = 1; line <= count; line++) text += `line ${line}\n`;
  return text;
}
