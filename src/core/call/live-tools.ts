import type { ToolSource, ToolSourceHost } from "../contract/tool-source.ts";
import { type Tool, isToolName } from "../contract/tool.ts";
import type { Toolset } from "../contract/toolkit.ts";
import { messageOf } from "../util/errors.ts";
import { plural } from "../util/text.ts";

/** The maximum number of tools of one source. Further tools are omitted. */
const MOST_TOOLS = 500;

/** The tools of a toolkit: its own tools, and the tools of sources, which change. */
export interface LiveTools {
  /** The current tools: a new value after each change. */
  readonly current: Toolset;
  /** Calls the listener after each change; its exceptions are ignored. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void;
  /** Starts the sources. */
  start(): void;
  /** Resolves when every source has started or failed. Never rejects. */
  readonly ready: Promise<void>;
  /** The names of the sources that are still starting. */
  readonly starting: readonly string[];
  /** Why a tool is absent; `undefined` when nothing is known about the name. */
  absent(name: string): string | undefined;
  /** Ends the sources. Never rejects. */
  close(): Promise<void>;
}

export interface LiveToolsOptions {
  /** The toolkit's own tools. Sources cannot use their names. */
  readonly own: Toolset;
  /** The sources. If two have a tool with the same name, the tool of the first counts. */
  readonly sources: readonly ToolSource[];
  /** Adapts a source's tool, for example to another name. `undefined` omits it. */
  readonly choose: (tool: Tool) => Tool | undefined;
  /** The position of a tool among all tools. Tools with the same position keep their order. */
  readonly position: (name: string) => number;
  /** Returns sentences about chosen tools that are missing. Called once, when every source has listed its tools. */
  readonly missing: () => readonly string[];
  /** Further properties of a source's host. */
  readonly host: Pick<ToolSourceHost, "workDir" | "start" | "mask">;
  readonly notice: (text: string) => void;
  /** Throws for a tool with an invalid schema. */
  readonly requireValid: (tools: readonly Tool[]) => void;
}

interface State {
  readonly source: ToolSource;
  tools: readonly Tool[];
  isStarting: boolean;
}

/** @throws TypeError when two sources have the same name. */
export function createLiveTools({
  own,
  sources,
  choose,
  position,
  missing,
  host,
  notice,
  requireValid,
}: LiveToolsOptions): LiveTools {
  const states = sources.map((source): State => ({ source, tools: [], isStarting: true }));
  const double = states.find(
    ({ source }, index) => states.findIndex((each) => each.source.name === source.name) < index,
  );
  if (double !== undefined) throw new TypeError(`two tool sources are named "${double.source.name}"; rename one`);
  let current = own;
  /** The source of each tool seen so far. */
  const owners = new Map<string, string>();
  const reported = new Set<string>();
  const listeners = new Set<() => void>();
  const closing = new AbortController();
  let ready: Promise<void> = Promise.resolve();

  const starting = () => states.filter(({ isStarting }) => isStarting).map(({ source }) => source.name);

  const sayOnce = (text: string) => {
    if (reported.has(text)) return;
    reported.add(text);
    notice(text);
  };

  const merge = () => {
    const named = new Map(own);
    for (const { source, tools } of states) {
      for (const tool of tools) {
        const owner = own.has(tool.name) ? "this toolkit" : owners.get(tool.name);
        if (named.has(tool.name)) {
          sayOnce(`${source.name}: the tool "${tool.name}" is left out: ${owner} already has a tool with this name.`);
          continue;
        }
        named.set(tool.name, tool);
        owners.set(tool.name, source.name);
      }
    }
    current = new Map([...named].sort(([one], [other]) => position(one) - position(other)));
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch {
        // A failing listener does not end a source.
      }
    }
  };

  const faultOf = (tool: Tool): string | undefined => {
    try {
      requireValid([tool]);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  };

  /** The tools that can be used. */
  const usable = (source: ToolSource, tools: readonly Tool[]): readonly Tool[] => {
    const seen = new Set<string>();
    const refuse = (what: string, why: string) => {
      sayOnce(`${source.name}: the tool ${what} is left out: ${why}.`);
      return [];
    };
    if (tools.length > MOST_TOOLS) sayOnce(`${source.name}: only the first ${plural(MOST_TOOLS, "tool")} are used.`);
    return tools.slice(0, MOST_TOOLS).flatMap((offered) => {
      const shown = JSON.stringify(offered.name);
      if (!isToolName(offered.name)) {
        return refuse(shown, 'its name must be a letter or "_", then up to 63 letters, digits, "_" or "-"');
      }
      const tool = choose(offered);
      if (tool === undefined) return [];
      if (seen.has(tool.name)) return refuse(shown, "another of its tools has the same name");
      seen.add(tool.name);
      const fault = faultOf(tool);
      if (fault === undefined) return [tool];
      // What other programs return is also taken without the schema that they give.
      const { output: _, ...unchecked } = tool;
      if (tool.touches.includes("foreign") && faultOf(unchecked) === undefined) return [unchecked];
      return refuse(shown, fault);
    });
  };

  const start = async (state: State): Promise<void> => {
    const { source } = state;
    try {
      await source.start({
        ...host,
        signal: closing.signal,
        notice,
        set(tools) {
          if (closing.signal.aborted) return;
          const before = state.tools;
          state.tools = usable(source, tools);
          if (before.length > 0 || state.tools.length > 0) merge();
        },
      });
    } catch (error) {
      notice(`${source.name} could not start: ${messageOf(error)}`);
    }
    state.isStarting = false;
  };

  return {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start() {
      ready = Promise.all(states.map(start)).then(() => {
        // The names may be those of tools that a source would have.
        if (closing.signal.aborted || states.some(({ tools }) => tools.length === 0)) return;
        for (const text of missing()) notice(text);
      });
    },
    get ready() {
      return ready;
    },
    get starting() {
      return starting();
    },
    absent(name) {
      if (current.has(name)) return undefined; // a derived toolkit omits it
      const owner = owners.get(name);
      if (owner !== undefined) return `${owner} no longer has the tool "${name}"`;
      const names = starting();
      if (names.length === 0) return undefined;
      return `there is no tool "${name}" yet: ${names.join(", ")} ${names.length === 1 ? "is" : "are"} still starting`;
    },
    async close() {
      closing.abort(new Error("the toolkit was closed"));
      await Promise.allSettled(sources.map(async (source) => source.close()));
    },
  };
}
