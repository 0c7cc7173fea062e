import type { Tool } from "../../contract/tool.ts";
import { bash } from "../bash.ts";
import { edit } from "../edit.ts";
import { find } from "../find.ts";
import { grep } from "../grep.ts";
import { jobs } from "../jobs.ts";
import { ls } from "../ls.ts";
import { read } from "../read.ts";
import { shell } from "../shell.ts";
import { time } from "../time.ts";
import { write } from "../write.ts";

/** Options of tools, by the tool's name; each is what its factory takes. */
export interface ToolOptionsByName {
  readonly read?: Parameters<typeof read>[0];
  readonly write?: Parameters<typeof write>[0];
  readonly edit?: Parameters<typeof edit>[0];
  readonly bash?: Parameters<typeof bash>[0];
  readonly jobs?: Parameters<typeof jobs>[0];
  readonly grep?: Parameters<typeof grep>[0];
  readonly find?: Parameters<typeof find>[0];
  readonly ls?: Parameters<typeof ls>[0];
  readonly time?: Parameters<typeof time>[0];
  readonly shell?: Parameters<typeof shell>[0];
  readonly file_read?: Parameters<typeof read>[0];
  readonly file_write?: Parameters<typeof write>[0];
}

/** Every tool that Handrail brings, by name, made fresh: `BUILT_IN.read({})`. */
export const BUILT_IN = {
  read: (options) => read(options.read),
  write: (options) => write(options.write),
  edit: (options) => edit(options.edit),
  bash: (options) => bash(options.bash),
  jobs: (options) => jobs(options.jobs),
  grep: (options) => grep(options.grep),
  find: (options) => find(options.find),
  ls: (options) => ls(options.ls),
  time: (options) => time(options.time),
  shell: (options) => shell(options.shell),
  // Seed 003's names and texts for reading and writing.
  file_read: (options) => read({ name: "file_read", aliases: [], ...options.file_read }),
  file_write: (options) =>
    write({
      name: "file_write",
      aliases: [],
      said: ({ path, bytes }) => `Wrote ${bytes} bytes to ${path}`,
      ...options.file_write,
    }),
} satisfies { readonly [name: string]: (options: ToolOptionsByName) => Tool };

/** Second names of tools that are there under their own: seeds call them so. */
export const SECOND_NAMES: ReadonlySet<string> = new Set(["file_read", "file_write"]);

export type BuiltInName = keyof typeof BUILT_IN;

/** The tools of these names, in this order. */
export function builtIn(names: readonly BuiltInName[], options: ToolOptionsByName = {}): readonly Tool[] {
  return names.map((name) => BUILT_IN[name](options));
}
