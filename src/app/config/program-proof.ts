import { posix } from "node:path";
import type { Env } from "../../core/contract/effect.ts";
import { loadsCode } from "../../machine/programs/environment.ts";
import { realOf } from "../../machine/git/disk.ts";
import { isInside } from "../../core/util/paths.ts";
import { tried } from "../../core/util/errors.ts";

/** What is known about the places of this machine when a program's words are read. */
export interface ProofPlaces {
  /** Folders and files that a model may write, as written and as real paths. */
  readonly places: readonly string[];
  /** The folder in which relative words are looked for, besides the one in which it starts. */
  readonly workDir: string;
  readonly home: string;
  /** Whether there is a file or folder. */
  readonly exists: (path: string) => boolean;
}

/** Words that can be anything but a path, a pattern, or code that reaches one. */
const PLAIN = /^[\w@%+=:,.#^!-]*$/;
const WEB = /^(?:[\w-]+[:=]\s*)?https?:\/\/[^\s'"`$\\]+$/;
/** Several commands, the output of one, or an escape that may spell a path. */
const CODE = /[;&|<>\n\r`\\]|\$\(/;
/** With a slash in the word, these may spell any path: variables, patterns, another user's home. */
const SPELLS = /[$*?[{]|~[\w.-]/;
/** Where a path may begin and end in a word: `-I/x`, `--import=file:///x`, `sh -c "make -C /x"`, `/x:/y`. */
const PATH_BEGINS = /~?\//g;
const PATH_ENDS = /[\s'"`:,;|&<>()=]|$/g;
/** Characters of a word with a path that is read. */
const LONGEST = 2_000;

/**
 * Whether a word certainly leads to nothing that a model could write: it has no path into such a place, none above one,
 * no name of a file in the workspace, and no code that could reach one. Errs towards false. `isData`: it is no code.
 */
export function leadsOutside(word: string, { places, workDir, home, exists }: ProofPlaces, isData = false): boolean {
  const leadsIn = (path: string) => {
    const absolute = posix.resolve(workDir, path.replace(/^~(?=\/|$)/, home));
    return [absolute, realOf(absolute)].some((each) =>
      places.some((place) => isInside(each, place) || (each !== place && isInside(place, each))),
    );
  };
  if (WEB.test(word)) return true;
  const text = (tried(() => decodeURIComponent(word)) ?? word).replaceAll(/\bfile:\/\/[\w.-]*(?=\/)/gi, "file:");
  const values = [text, text.slice(text.indexOf("=") + 1), /^-\w(.+)$/s.exec(text)?.[1] ?? ""];
  if (values.some((each) => each !== "" && !isOption(each) && exists(posix.resolve(workDir, each)) && leadsIn(each)))
    return false;
  if (PLAIN.test(text)) return !/(^|[=:,])\.\.($|[:,])/.test(text);
  if (!isData && CODE.test(text)) return false;
  if (/(^|[\s=:,'"])~($|[\s:,'"])/.test(text) || /\.\.(\/|$)/.test(text)) return false;
  if (!text.includes("/")) return true;
  if (!isData && SPELLS.test(text)) return false;
  if (text.length > LONGEST) return false;
  // A place may have blanks and quotes in its name, so a path may end at each of them.
  return Array.from(text.matchAll(PATH_BEGINS)).every(({ index }) => {
    const rest = text.slice(index);
    const isWithin = !isOption(text) && /\w/.test(text[index - 1] ?? ""); // "a/=": a slash of base64 is not the root
    return Array.from(rest.matchAll(PATH_ENDS)).every(
      (end) => (isWithin && end.index === 1) || !leadsIn(single(rest.slice(0, end.index))),
    );
  });
}

const single = (path: string) => path.replaceAll(/\/{2,}/g, "/");

const isOption = (word: string) => word.startsWith("-");

/** Whether all variables that are set for a program lead to nothing that a model could write. */
export function environmentLeadsOutside(env: Env, known: ProofPlaces): boolean {
  return Object.entries(env).every(([name, value]) => {
    const isData = name !== "PATH" && !loadsCode(name); // a password may have any characters
    return value.split(":").every((part) => leadsOutside(part, known, isData));
  });
}
