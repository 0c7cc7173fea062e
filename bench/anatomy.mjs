/**
 * Where the time of one call goes: `npm run bench -- anatomy`.
 *
 * In:  nothing.
 * Out: a table of the stages of a call, in microseconds: a no-op, `read` (20 KB), `ls` (30 files) and `edit` (1 KB), with
 *      a record in memory and, for the last column of each tool, in SQLite. Each number is a mean without the slowest
 *      tenth of the calls. File system calls that wait for no other thread are counted apart, at the end, and are part
 *      of the stages above.
 *
 * Nothing in Handrail is instrumented: the stages end where a call reaches what a program may pass to it (the store,
 * the tool's functions, a policy), so a stage is the time between two of these.
 */
import fs, { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

const CALLS = 400;
const WARM_UP = 300;
const LINE = "A line of twenty-five.....\n";

/** Each stage, by the mark that ends it. */
const STAGES = /** @type {const} */ ({
  started: "accept, parse",
  recorded: "record the start",
  mended: "find the tool, mend",
  validated: "validate",
  declared: "declare effects",
  judged: "real paths, policy",
  approved: "grants, confine",
  durable: "record the approval",
  running: "hooks before the act",
  ran: "the tool runs",
  rendering: "end the confinement",
  rendered: "render",
  finished: "mask, fit",
  written: "record the end",
  returned: "return",
});
/** @typedef {keyof typeof STAGES} Mark */

/** @type {[Mark, number][]} */
let marks = [];
let inFiles = 0;
let fileCalls = 0;
/** @param {Mark} name */
const mark = (name) => {
  marks.push([name, performance.now()]);
};

/** Prints the table. @param {string} folder for state; it exists */
export async function anatomy(folder) {
  countFileCalls();
  const { createToolkit, defineTool, edit, ls, memoryStore, read, sqliteStore } = await import("handrail");
  const noop = defineTool({
    name: "noop",
    description: "Nothing.",
    touches: [],
    input: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    effects: () => [],
    run: async ({ a }) => ({ a }),
  });
  const place = mkdtempSync(join(homedir(), ".handrail-bench-"));
  mkdirSync(join(place, "list"));
  writeFileSync(join(place, "read.txt"), LINE.repeat(20_480 / LINE.length));
  for (let file = 0; file < 30; file++) writeFileSync(join(place, "list", `${file}.txt`), LINE);
  writeFileSync(join(place, "edit.txt"), `${LINE.repeat(36)}at 0;\n`);
  let edits = 0;
  const work = {
    noop: () => '{"a":"x"}',
    read: () => '{"path":"read.txt"}',
    ls: () => '{"path":"list"}',
    edit: () => JSON.stringify({ path: "edit.txt", old_text: `at ${edits};`, new_text: `at ${++edits};` }),
  };
  /** @type {Map<string, Map<string, number>>} */
  const columns = new Map();
  try {
    for (const [where, store] of Object.entries({
      memory: memoryStore,
      SQLite: () => sqliteStore({ file: join(folder, "anatomy.db") }),
    })) {
      const toolkit = await createToolkit({
        tools: [noop, read(), ls(), edit()].map(marked),
        workDir: place,
        stateDir: join(folder, "anatomy-state"),
        store: markedStore(store()),
        policy: { autonomy: "full" },
        policies: [
          async () => {
            mark("judged");
            return undefined;
          },
        ],
      });
      for (const [name, input] of Object.entries(work))
        columns.set(`${name}, ${where}`, await measured(toolkit, name, input));
      await toolkit.close();
    }
  } finally {
    rmSync(place, { recursive: true });
  }
  return table(columns);
}

/**
 * @param {import("handrail").Toolkit} toolkit @param {string} name @param {() => string} input
 */
async function measured(toolkit, name, input) {
  /** @type {Map<string, number[]>} */
  const times = new Map();
  const note = (/** @type {string} */ stage, /** @type {number} */ value) =>
    times.set(stage, [...(times.get(stage) ?? []), value]);
  for (let call = -WARM_UP; call < CALLS; call++) {
    const request = { name, input: input() };
    marks = [];
    inFiles = fileCalls = 0;
    let before = performance.now();
    const start = before;
    const result = await toolkit.call(request);
    mark("returned");
    if (result.status !== "ok") throw new Error(`${name}: ${JSON.stringify(result)}`);
    if (call < 0) continue;
    for (const [stage, at] of marks) {
      note(STAGES[stage], at - before);
      before = at;
    }
    note("whole call", before - start);
    note("of this, in file system calls", inFiles);
    note("file system calls", fileCalls / 1_000);
  }
  return new Map([...times].map(([stage, each]) => [stage, typical(each) * 1_000]));
}

/** The mean without the slowest tenth. @param {readonly number[]} values */
function typical(values) {
  const kept = values.toSorted((one, other) => one - other).slice(0, Math.ceil(values.length * 0.9));
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}

/** A tool that marks when its functions are called. @param {import("handrail").Tool<any, any>} tool */
function marked(tool) {
  return {
    ...tool,
    /** @param {unknown} raw */
    mend(raw) {
      const mended = tool.mend === undefined ? raw : tool.mend(raw);
      mark("mended");
      return mended;
    },
    /** @param {unknown} input */
    effects(input) {
      mark("validated");
      const effects = tool.effects(input);
      mark("declared");
      return effects;
    },
    /** @param {unknown} input @param {import("handrail").ToolContext} context */
    async run(input, context) {
      mark("running");
      try {
        return await tool.run(input, context);
      } finally {
        mark("ran");
      }
    },
    /** @param {any} data @param {any} input */
    render(data, input) {
      mark("rendering");
      const text = tool.render === undefined ? JSON.stringify(data) : tool.render(data, input);
      mark("rendered");
      return text;
    },
  };
}

/** A store that marks what is recorded. @param {import("handrail").Store} store @returns {import("handrail").Store} */
function markedStore(store) {
  const [before, after] = [
    { "call.started": "started", "call.approved": "approved", "call.finished": "finished" },
    { "call.started": "recorded", "call.approved": "durable", "call.finished": "written" },
  ];
  /** @param {any} names @param {{ type: string }} event */
  const markOf = (names, { type }) => {
    if (names[type] !== undefined) mark(names[type]);
  };
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== "append" && name !== "commit") return typeof value === "function" ? value.bind(target) : value;
      return (/** @type {any} */ event) => {
        markOf(before, event);
        const recorded = value.call(target, event);
        if (name === "append") return markOf(after, event);
        return recorded.then(() => markOf(after, event));
      };
    },
  });
}

/** Counts the synchronous calls of the file system, and their time. Must run before Handrail is imported. */
function countFileCalls() {
  const synchronous = "openSync closeSync readSync writeSync fstatSync statSync lstatSync readlinkSync readdirSync";
  const all = /** @type {any} */ (fs);
  for (const name of `${synchronous} renameSync fchmodSync fchownSync unlinkSync realpathSync`.split(" ")) {
    all[name] = timed(all[name]);
    if (name === "realpathSync") all[name].native = timed(all[name].native);
  }
  syncBuiltinESMExports();
}

/** @param {any} original */
function timed(original) {
  const wrapped = (/** @type {any[]} */ ...args) => {
    const began = performance.now();
    try {
      return original(...args);
    } finally {
      inFiles += performance.now() - began;
      fileCalls++;
    }
  };
  return Object.assign(wrapped, original);
}

/** @param {Map<string, Map<string, number>>} columns */
function table(columns) {
  const stages = [...Object.values(STAGES), "whole call", "of this, in file system calls", "file system calls"];
  const cell = (/** @type {number | undefined} */ value) => (value === undefined ? "" : value.toFixed(1));
  const rows = [
    ["microseconds", ...columns.keys()],
    ...stages.map((stage) => [stage, ...[...columns.values()].map((times) => cell(times.get(stage)))]),
  ];
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return `${rows
    .map((row) =>
      row.map((text, at) => (at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0))).join("  "),
    )
    .join("\n")}\n`;
}
