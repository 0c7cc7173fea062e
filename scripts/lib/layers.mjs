/**
 * The wings of src and their order: the source of the import rules (.dependency-cruiser.mjs) and of their diagram
 * (docs-layers.mjs). A wing may import the wings of earlier levels; wings of one level never import each other. Inside a
 * wing, folders have an order of their own in the same way.
 */

/**
 * @typedef {object} Wing
 * @property {string} name                            a folder of src, or a file in it
 * @property {string} holds
 * @property {readonly (readonly Folder[])[]} folders those with an order, lowest first; the rest of the wing is above
 *                                                    them and has none
 */

/**
 * @typedef {object} Folder
 * @property {string} name
 * @property {string} holds
 */

/** @type {readonly (readonly Wing[])[]} lowest first */
export const LEVELS = [
  [
    {
      name: "core",
      holds: "the way of one call, and what every wing needs",
      folders: [
        [{ name: "contract", holds: "types and tiny constructors" }],
        [{ name: "util", holds: "small pure functions" }],
        [
          { name: "output", holds: "what does not fit: truncation, saved outputs, size words, terminal-safe text" },
          {
            name: "files",
            holds: "text files as bytes: encodings, lines, exact edits, diffs; pictures; what was seen",
          },
        ],
        [{ name: "call", holds: "one call, one direction, a file a stage" }],
      ],
    },
  ],
  [
    {
      name: "machine",
      holds: "where work happens: this machine, the sandbox, tmux, containers, hosts over SSH",
      folders: [
        [
          { name: "programs", holds: "the programs of this machine: found where no tool can write, and started" },
          { name: "network", holds: "which URL and which address may be reached; the guarded fetch" },
          { name: "git", holds: "what a repository makes git run and obey" },
        ],
        [{ name: "places", holds: "lists of keys and start-up files, and what a path is" }],
      ],
    },
  ],
  [
    {
      name: "policy",
      holds: "effects in, a decision out",
      folders: [[{ name: "provenance", holds: "who could have written something, what a conversation has seen" }]],
    },
    {
      name: "record",
      holds: "what outlives a call",
      folders: [
        [{ name: "db", holds: "work on SQLite or PostgreSQL, migrations" }],
        [
          { name: "activity", holds: "threads, messages and tool activities" },
          { name: "memory", holds: "the store behind the memory tools" },
          { name: "schedule", holds: "the store behind the cron tools" },
          { name: "undo", holds: "the store behind undo" },
        ],
      ],
    },
  ],
  [
    {
      name: "tools",
      holds: "one small file a tool; presets",
      folders: [
        [
          { name: "web", holds: "HTML to Markdown, search results, the browser driver" },
          { name: "plugins", holds: "external programs as tools" },
          { name: "mcp", holds: "MCP servers as tools" },
        ],
      ],
    },
  ],
  [{ name: "agent", holds: "the loop, models, sub-agents", folders: [] }],
  [
    {
      name: "connect",
      holds: "the toolkit for programs of others",
      folders: [
        [
          { name: "mcp", holds: "the toolkit as an MCP server" },
          { name: "adapters", holds: "the toolkit as tools of the SDKs that people use" },
          { name: "guard", holds: "tool calls of other agents, judged as ours are" },
        ],
      ],
    },
    {
      name: "team",
      holds: "calls made on other machines: their delivery, and the process that makes them",
      folders: [],
    },
  ],
  [{ name: "serve", holds: "the HTTP API, its streams, and the files of its page", folders: [] }],
  [
    {
      name: "app",
      holds: "settings in, a toolkit out: the composition root",
      folders: [[{ name: "config", holds: "files, flags and environment, as one checked settings object" }]],
    },
  ],
  [
    { name: "index.ts", holds: "the public names; the only barrel", folders: [] },
    { name: "cli", holds: "the command line", folders: [] },
  ],
];

/** Every wing, lowest first. */
export const WINGS = LEVELS.flat();

/**
 * A pattern for the paths in any of the wings, relative to the checkout.
 *
 * @param {readonly { readonly name: string }[]} wings
 */
export function pathsOf(wings) {
  const names = wings.map(({ name }) => (name.endsWith(".ts") ? `${name.replace(".", "\\.")}$` : `${name}/`));
  return `^src/(?:${names.join("|")})`;
}

/**
 * A pattern for the paths in any of these folders of a wing.
 *
 * @param {Wing} wing
 * @param {readonly { readonly name: string }[]} folders
 */
export function pathsIn(wing, folders) {
  return `^src/${wing.name}/(?:${folders.map(({ name }) => name).join("|")})/`;
}

/**
 * A pattern for the paths of a wing that are in none of its ordered folders.
 *
 * @param {Wing} wing
 */
export function restOf(wing) {
  const names = wing.folders.flat().map(({ name }) => `${name}/`);
  return names.length === 0 ? pathsOf([wing]) : `^src/${wing.name}/(?!${names.join("|")})`;
}

/**
 * Every part of src in its order: the ordered folders of each wing, then the rest of the wing.
 *
 * @returns {{ name: string, holds: string, paths: RegExp }[]}
 */
export function parts() {
  return WINGS.flatMap((wing) => [
    ...wing.folders.flat().map((folder) => ({
      name: `${wing.name}/${folder.name}`,
      holds: folder.holds,
      paths: new RegExp(pathsIn(wing, [folder])),
    })),
    { name: wing.name, holds: wing.holds, paths: new RegExp(restOf(wing)) },
  ]);
}
