import { createHash } from "node:crypto";

/** What Codex does with a hook. */
export type CodexTrust =
  | "runs"
  /** Nobody has agreed to it in Codex yet: it does not run. */
  | "unknown"
  /** It has changed since somebody agreed to it: it does not run. */
  | "changed"
  | "off";

/**
 * Returns what Codex does with each of the hooks in a file, by the events that must run. Codex keeps what its user
 * agreed to in its `config.toml`: the table `hooks.state` has, for each hook by its place, the hash of the hook (0.171;
 * `codex-rs/hooks/src/engine/discovery.rs`). It runs no others, in `codex exec` without a word.
 *
 * @param files the paths of the file with the hooks, as written and real: Codex may name either
 * @param settings the content of that file
 * @param config the content of `config.toml`, parsed
 * @param isGuard whether an entry is the guard's
 */
export function codexTrust(
  files: readonly string[],
  settings: unknown,
  config: unknown,
  isGuard: (entry: unknown) => boolean,
): { readonly [event: string]: CodexTrust } {
  const groups = Object.entries(objectOf(objectOf(settings)["hooks"]));
  const states = objectOf(objectOf(objectOf(config)["hooks"])["state"]);
  const isOff = objectOf(objectOf(config)["features"])["hooks"] === false;
  const trust = groups.flatMap(([event, entries]): readonly (readonly [string, CodexTrust])[] => {
    const at = Array.isArray(entries) ? entries.findIndex(isGuard) : -1;
    if (at === -1) return [];
    const group = objectOf((entries as unknown[])[at]);
    const [hook] = Array.isArray(group["hooks"]) ? (group["hooks"] as unknown[]) : [];
    const name = event.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
    const state = objectOf(files.map((file) => states[`${file}:${name}:${at}:0`]).find((one) => one !== undefined));
    const agreed = state["trusted_hash"];
    if (isOff || state["enabled"] === false) return [[event, "off"]];
    if (agreed === undefined) return [[event, "unknown"]];
    return [[event, agreed === hashOf(name, group, objectOf(hook)) ? "runs" : "changed"]];
  });
  return Object.fromEntries(trust);
}

/** The hash of a hook, of its JSON with sorted keys. */
function hashOf(
  event: string,
  group: Fields,
  { command, timeout, async: isAsync = false, statusMessage }: Fields,
): string {
  const hook = {
    async: isAsync,
    command,
    ...(statusMessage !== undefined && { statusMessage }),
    timeout,
    type: "command",
  };
  const { matcher } = group;
  const identity = { event_name: event, hooks: [hook], ...(matcher !== undefined && { matcher }) };
  return `sha256:${createHash("sha256").update(JSON.stringify(identity)).digest("hex")}`;
}

interface Fields {
  readonly [name: string]: unknown;
}

function objectOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
