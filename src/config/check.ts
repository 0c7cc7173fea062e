import { type Given, KEYS, type Key } from "./keys.ts";
import { didYouMean } from "./nearest.ts";
import { type Reading, entriesOf, shown, within } from "./shape.ts";
import type { Node } from "./yaml-tree.ts";

/** Validates the content of a file, key by key. Reports everything that is invalid, and returns what is valid. */
export function check(root: Node, reading: Reading): Given {
  return Object.fromEntries(checkGroup(root, "", reading));
}

/** Validates the content of `group`: "" for the whole file, "policy", "policy.env". */
function checkGroup(node: Node, group: string, reading: Reading): readonly (readonly [Key, unknown])[] {
  if (node.kind === "other" && node.value === null) return []; // nothing after the colon, or an empty file
  const known = namesIn(group);
  if (node.kind !== "map") {
    reading.report(node.place, group, `expected a map of ${known.join(", ")}, got ${kindOf(node)}`);
    return [];
  }
  return entriesOf(node.entries, group, reading).flatMap(({ key: name, place, value }) => {
    const key = within(group, name);
    if (isKey(key)) {
      const found = KEYS[key].read(value, key, reading);
      return found === undefined ? [] : [[key, found] as const];
    }
    if (known.includes(name)) return checkGroup(value, key, reading);
    const meant = didYouMean(name, known) || elsewhere(name) || `Keys here: ${known.join(", ")}.`;
    reading.report(place, key, `unknown key. ${meant}`);
    return [];
  });
}

/** Describes the kind of a node. The content is not quoted, because the file may be any file of the user's. */
function kindOf(node: Node): string {
  return node.kind === "text" ? "text" : shown(node);
}

/** Returns advice for a known name in the wrong group. */
function elsewhere(name: string): string | undefined {
  const key = Object.keys(KEYS).find((full) => full.endsWith(`.${name}`));
  return key && `Did you mean ${JSON.stringify(key)}?`;
}

function namesIn(group: string): readonly string[] {
  const before = group === "" ? "" : `${group}.`;
  const inside = Object.keys(KEYS).filter((key) => key.startsWith(before));
  return [...new Set(inside.map((key) => key.slice(before.length).split(".")[0] ?? key))];
}

function isKey(key: string): key is Key {
  return Object.hasOwn(KEYS, key);
}
