/**
 * The folders of src ("rooms") and their order: the source of the import rules (.dependency-cruiser.mjs) and of their
 * diagram (docs-layers.mjs). A room may import rooms of earlier levels. Rooms of one level never import each other.
 */

/**
 * @typedef {object} Room
 * @property {string} name   a folder of src, or a file in it
 * @property {string} holds
 */

/** @type {readonly (readonly Room[])[]} lowest first */
export const LEVELS = [
  [{ name: "contract", holds: "types and tiny constructors" }],
  [{ name: "util", holds: "small pure functions" }],
  [{ name: "machine", holds: "the programs of this machine: found where no tool can write, and started" }],
  [
    { name: "output", holds: "what does not fit: truncation, saved outputs, size words, terminal-safe text" },
    { name: "files", holds: "text files as bytes: encodings, lines, exact edits, diffs; pictures; what was seen" },
    { name: "db", holds: "work on SQLite or PostgreSQL, a typed SQL builder, migrations" },
  ],
  [{ name: "network", holds: "which URL and which address may be reached; the guarded fetch" }],
  [{ name: "git", holds: "what a repository makes git run and obey; asked by policy, backends, undo" }],
  [{ name: "provenance", holds: "what a path is, who could have written something, what a conversation has seen" }],
  [
    { name: "engine", holds: "one call, one direction, a file a stage" },
    { name: "policy", holds: "effects in, a decision out" },
    { name: "backends", holds: "where work happens" },
    { name: "activity", holds: "threads, messages and tool activities" },
    { name: "memory", holds: "the store behind the memory tools" },
    { name: "schedule", holds: "the store behind the cron tools" },
    { name: "undo", holds: "the store behind undo" },
    { name: "web", holds: "HTML to Markdown, search results, the browser driver" },
  ],
  [{ name: "tools", holds: "one small file a tool; presets" }],
  [
    { name: "plugins", holds: "external programs as tools" },
    { name: "mcp", holds: "toolkit to MCP server, MCP server to tools" },
    { name: "agent", holds: "the loop, models, sub-agents" },
    { name: "adapters", holds: "the toolkit as tools of the SDKs that people use" },
    { name: "guard", holds: "tool calls of other agents, judged as ours are" },
    { name: "workers", holds: "calls made on other machines: their delivery, and the process that makes them" },
    { name: "console", holds: "the web console and its HTTP API" },
  ],
  [{ name: "config", holds: "files, flags and environment, as one checked settings object" }],
  [{ name: "toolkit-options.ts", holds: "the options of a toolkit, and their checks" }],
  [{ name: "toolkit.ts", holds: "the composition root" }],
  [
    { name: "index.ts", holds: "the public names; the only barrel" },
    { name: "cli", holds: "the command line" },
  ],
];

/** Every room, lowest first. */
export const ROOMS = LEVELS.flat().map(({ name }) => name);

/**
 * A pattern for the paths in any of the rooms, relative to the checkout.
 *
 * @param {readonly string[]} rooms
 */
export function pathsOf(rooms) {
  const names = rooms.map((name) => (name.endsWith(".ts") ? `${name.replace(".", "\\.")}$` : `${name}/`));
  return `^src/(?:${names.join("|")})`;
}

/**
 * Returns the room that contains a path of src; `undefined` if no level lists it.
 *
 * @param {string} path relative to the checkout: "src/engine/call.ts"
 */
export function roomOf(path) {
  return ROOMS.find((room) => new RegExp(pathsOf([room])).test(path));
}
