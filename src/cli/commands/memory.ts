import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { MEMORY_CATEGORIES, type Memories, type Memory, type NewMemory } from "../../core/contract/memory.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { oneLine, terminalSafe } from "../../core/output/terminal-text.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { codeOf, messageOf } from "../../core/util/errors.ts";
import { parseJson } from "../../core/util/json.ts";
import { plural } from "../../core/util/text.ts";
import type { Io } from "../io.ts";
import type { GlobalOptions } from "../options.ts";
import { localTime } from "../local-time.ts";
import { toolkitOptions } from "../settings.ts";
import { readStdin } from "../stdin.ts";
import { write } from "../say.ts";

/** Memories read at a time. */
const PAGE = 500;

/** Takes a piece of the text that a command prints. */
type Write = (text: string) => Promise<void>;

/** The names of the commands, and what they do. */
const ACTIONS = {
  list: async (memories, _, print) => {
    let none = true;
    for await (const page of pages(memories)) {
      none = false;
      await print(page.map(line).join(""));
    }
    if (none) await print("(no memories)\n");
  },
  search: async (memories, query, print) => {
    const found = await memories.recall(query, 20);
    await print(found.length === 0 ? "(no matching memories)\n" : found.map(line).join(""));
  },
  show: async (memories, key, print, io) => {
    const memory = await memories.get(key);
    if (memory === undefined) throw noMemory(key);
    await print(`${io.stdout.isTTY ? terminalSafe(memory.content) : memory.content}\n`);
  },
  forget: async (memories, key, print) => {
    if (!(await memories.forget(key))) throw noMemory(key);
    await print(`Forgot memory: ${oneLine(key, 200)}\n`);
  },
  export: async (memories, _, print) => {
    for await (const page of pages(memories)) await print(page.map(exported).join(""));
  },
  import: async (memories, file, print, io) => {
    const given = file === "-" ? imported(await readStdin(io), "stdin") : imported(await readTextFile(io, file), file);
    await memories.store(given.toSorted((one, other) => one.storedMs - other.storedMs));
    await print(`Imported ${plural(given.length, "memory", "memories")}\n`);
  },
} satisfies {
  readonly [action: string]: (memories: Memories, argument: string, print: Write, io: Io) => Promise<void>;
};

type Action = keyof typeof ACTIONS;

const without = (action: Action) => (options: GlobalOptions) => useMemories(action, "", options);
const withOne = (action: Action) => (argument: string, options: GlobalOptions) =>
  useMemories(action, argument, options);

/** The commands of `handrail memory`, without an argument or with one. */
export const run = {
  list: without("list"),
  search: withOne("search"),
  show: withOne("show"),
  forget: withOne("forget"),
  export: without("export"),
  import: withOne("import"),
};

/**
 * Runs a command on the memories of the configured scope.
 *
 * @throws ToolFailure when there is no memory with the key; Error for a file that cannot be imported, in which case
 * nothing is stored.
 */
async function useMemories(action: Action, argument: string, options: GlobalOptions): Promise<void> {
  const toolkit = await createToolkit({ ...(await toolkitOptions(options)), preset: "none" });
  try {
    await ACTIONS[action](toolkit.memories, argument, (text) => write(options.io, text), options.io);
  } finally {
    await toolkit.close();
  }
}

/**
 * Runs a command on memories and returns what it prints. Rejects as it does.
 *
 * @param argument the query or the key
 */
export async function memoryText(
  io: Io,
  memories: Memories,
  action: "list" | "search" | "show" | "forget",
  argument: string,
): Promise<string> {
  let text = "";
  await ACTIONS[action](memories, argument, async (more) => void (text += more), io);
  return text.trimEnd();
}

/** Yields all memories, newest first. */
async function* pages(memories: Memories): AsyncGenerator<readonly Memory[]> {
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await memories.list({ limit: PAGE, before });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    before = last.id;
  }
}

function line({ key, content, category, storedMs }: Memory): string {
  const day = localTime(storedMs).slice(0, 10);
  return `${oneLine(key, 60)}  ${category}  ${day}  ${oneLine(content, 80)}\n`;
}

function exported({ key, content, category, storedMs }: Memory): string {
  return `${JSON.stringify({ key, content, category, stored: new Date(storedMs).toISOString() })}\n`;
}

/** Parses memories from lines of JSON. */
function imported(text: string, file: string): readonly Required<NewMemory>[] {
  return text.split("\n").flatMap((each, index) => {
    if (each.trim() === "") return [];
    const parsed = parseJson(each);
    const value = parsed.ok ? asMemory(parsed.value) : undefined;
    if (value !== undefined) return [value];
    const problem = parsed.ok ? "" : ` (${parsed.message})`;
    throw new Error(
      `${file}:${index + 1}: expected {"key": "…", "content": "…", "category": "core", "stored": ` +
        `"2026-01-31T12:00:00Z"} on one line${problem}. ` +
        "Nothing was imported.",
    );
  });
}

async function readTextFile({ cwd }: Io, file: string): Promise<string> {
  try {
    return await readFile(resolve(cwd, file), "utf8");
  } catch (error) {
    const why = codeOf(error) === "ENOENT" ? "there is no such file" : messageOf(error);
    const hint = "Name a file that `handrail memory export` has written, or - for stdin.";
    throw new Error(`memory import: cannot read ${oneLine(file, 500)}: ${why}. ${hint}`, { cause: error });
  }
}

function asMemory(value: unknown): Required<NewMemory> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { key, content, category = "core", stored } = value as { readonly [name: string]: unknown };
  const known = MEMORY_CATEGORIES.find((each) => each === category);
  const storedMs = typeof stored === "string" ? Date.parse(stored) : Date.now();
  if (typeof key !== "string" || typeof content !== "string" || known === undefined) return undefined;
  return Number.isFinite(storedMs) ? { key, content, category: known, storedMs } : undefined;
}

function noMemory(key: string): ToolFailure {
  return new ToolFailure(`No memory found with key: ${oneLine(key, 200)}`, {
    hint: "`handrail memory list` lists the keys.",
  });
}
