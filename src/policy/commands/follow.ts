import { type FoundWord, scriptIn } from "./found-words.ts";
import {
  type Assigned,
  type FoundCommand,
  type Place,
  STEPS,
  type Search,
  type Writable,
  leaveOut,
  nameOf,
  spend,
} from "./search.ts";
import { ADDED, type Wrapped, wrappedIn } from "./wrapped.ts";
import { SHELLS } from "./programs.ts";

/** How deep commands behind wrappers, and scripts inside scripts, are followed. */
export const MAX_DEPTH = 10;
/** The longest folder path that is followed (PATH_MAX of Linux). */
const MAX_FOLDER = 4_096;

/** Follows commands to what they run. `home` is where `cd` alone leads; `readScript` reads a script that one runs. */
export function createFollower(search: Search, home: string, readScript: (text: string, place: Place) => void) {
  const { commands, unclear, unread } = search;

  const open = (words: readonly FoundWord[], text: string, assigns: readonly Assigned[], place: Place) => {
    const { folder, nested, hidden, reads, inFunction } = place;
    const own = words.length;
    const found: Writable<FoundCommand> = {
      words,
      own,
      text,
      nested,
      hidden,
      folder,
      assigns,
      reads,
      inWords: [],
      inFunction,
    };
    commands.push(found);
    spend(search, STEPS.command);
    return found;
  };

  /** Finds what a command runs, and sets the folder in which `shell` is afterwards. */
  const follow = (found: Writable<FoundCommand>, place: Place, shell: Place): void => {
    const [name] = found.words;
    const base = nameOf(found);
    if (SETTERS.has(base)) found.assigns = [...found.assigns, ...found.words.slice(1).flatMap(assignedIn)];
    for (const { name: variable, value = "" } of found.assigns) {
      if (variable.startsWith("BASH_FUNC_")) applyAll([{ kind: "script", text: `f ${value}` }], place);
    }
    if (name === undefined) return;
    if (name.value === undefined || name.value === ADDED.text) {
      unread.add(`the command that ${name.text} names is known only when it runs`);
      return;
    }
    const wrapped = wrappedIn(base, found.words, place.here);
    const inner = wrapped.flatMap((each) =>
      each.kind === "command" ? [each.words.filter((word) => word !== ADDED).length] : [],
    );
    found.own = Math.max(1, found.words.length - Math.max(0, ...inner));
    if (CHANGES_SHELL.get(base)?.test(found.text) === true)
      unclear.add(`${found.text} changes how the shell reads the rest`);
    const folder = applyAll(wrapped, place);
    if (/^(eval|command|builtin)$/.test(base)) shell.folder = folder;
    if (base === "popd") shell.folder = undefined;
    if (base === "cd" || base === "pushd") shell.folder = folderAfter(found, place.folder);
  };

  const folderAfter = ({ words }: FoundCommand, from: string | undefined): string | undefined => {
    const to = words.length === 1 ? home : words.find(({ prefix }, at) => at > 0 && !/^-./.test(prefix))?.value;
    if (to === undefined || to === "-" || (from === undefined && !to.startsWith("/"))) return undefined;
    const folder = to.startsWith("/") || from === "" ? to : `${from ?? ""}/${to}`;
    if (folder.length <= MAX_FOLDER) return folder;
    leaveOut(search, "it changes to folders whose path is too long; split it");
    return undefined;
  };

  /** Follows all wrapped commands. Returns the folder in which their shell is afterwards. */
  const applyAll = (wrapped: readonly Wrapped[], place: Place): string | undefined => {
    const within = { ...place, nested: true, depth: place.depth + 1, quoted: false };
    for (const each of wrapped) {
      if (each.kind === "script") readScript(each.text, each.hidden ? { ...within, hidden: true } : within);
      else if (each.words.length === 0) continue;
      else if (within.depth > MAX_DEPTH)
        leaveOut(search, `commands in it are nested more than ${MAX_DEPTH} deep; split it`);
      else {
        spend(search, each.words.length * STEPS.word);
        follow(open(each.words, each.words.map(({ text }) => text).join(" "), [], within), within, within);
      }
    }
    return within.folder;
  };

  return { open, follow, applyAll };
}

/** `. <(echo id)` and `eval "$(echo id)"` run what a command prints. `inner` are the commands in the words. */
export function printedFor(found: FoundCommand, inner: readonly FoundCommand[]): readonly Wrapped[] {
  if (!SHELLS.has(nameOf(found)) && !/^(source|\.|eval)$/.test(nameOf(found))) return [];
  const printers = inner.filter((each) => /^(echo|printf)$/.test(nameOf(each)));
  return printers.map(({ words }) => ({ kind: "script", text: words.slice(1).map(scriptIn).join(" ") }));
}

const SETTERS = new Set("export declare typeset local readonly env cross-env sudo doas".split(" "));

function assignedIn({ prefix, value, text }: FoundWord): readonly Assigned[] {
  const at = prefix.indexOf("=");
  return at <= 0 || prefix.startsWith("-") ? [] : [{ name: prefix.slice(0, at), value: value?.slice(at + 1), text }];
}

/** Builtins after which the shell reads words or commands in another way. */
const CHANGES_SHELL: ReadonlyMap<string, RegExp> = new Map([
  ["set", /\s-[a-z]*k|\s-[a-z]*o\s+(keyword|history|physical|posix)/],
  ["shopt", /expand_aliases|extdebug/],
  ["enable", /./],
  ["hash", /\s-\w*p/],
  ["printf", /%[-\d.*]*n/],
  ["wait", /\s-\w*p/],
]);
