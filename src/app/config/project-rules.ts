import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { absolutePath, isInside } from "../../core/util/paths.ts";
import { tried } from "../../core/util/errors.ts";

/**
 * What a project's file may set a key to. The file came with the project, so its author is not the user. (The user's
 * own file, one named with `--config`, and the environment may set anything.) `note` is for the documentation.
 */
export type ProjectRule<T> =
  /** Any value: it allows nothing that was not allowed before. */
  | { readonly rule: "free"; readonly note: string }
  /** No value: only the user may set it. A value is an error. */
  | { readonly rule: "never"; readonly note: string }
  /** Nothing looser than what applies without it. A value with complaints is an error. */
  | {
      readonly rule: "tightens";
      readonly note: string;
      /** @param own what applies without the project's file */
      complaints(value: T, own: unknown, around: Around): readonly Complaint[];
      /** What counts when the value does not fit. Default: the value has no effect. */
      readonly strictest?: T;
      /** Returns the paths as they were checked. */
      real?(value: T, around: Around): T;
    }
  /** The value gives away something of the user's, or makes something run: ignored until the user trusts the file. */
  | {
      readonly rule: "trusted";
      readonly note: string;
      /** What trust allows, for people; `undefined` if the value needs no trust. Not safe for a terminal. */
      gives(value: T, around: Around): string | undefined;
      /** Marks the value as a project's. Without it, a value that is not trusted is omitted. */
      mark?(value: T, standing: "trusted" | "not trusted"): T;
    };

/** Why a value of a project is looser, and where in it. */
export interface Complaint {
  readonly at: readonly string[];
  readonly message: string;
}

/** What the rules need to know besides the value. */
export interface Around {
  /** The real folder of the project's file. */
  readonly folder: string;
  readonly home: string;
  /** The paths that the user forbids. */
  readonly forbidden: readonly string[];
  /** Returns the tools of a preset that act and are not in the preset that the user chose; none if none was chosen. */
  addedTools(preset: string): readonly string[];
}

export const free = (note = ""): ProjectRule<never> => ({ rule: "free", note });
export const never = (note = ""): ProjectRule<never> => ({ rule: "never", note });

/** For settings with one of several values. `order` lists the loosest first. */
export const notLooser = <T>(order: readonly T[], note = "not looser than yours"): ProjectRule<T> => ({
  rule: "tightens",
  note,
  strictest: order.at(-1) as T,
  complaints(value, own) {
    const least = order.findIndex((each) => each === own);
    return order.indexOf(value) >= least
      ? []
      : looser(`${JSON.stringify(value)} is looser than ${JSON.stringify(own)}`);
  },
});

/** For a limit; null is none. */
export const notMore: ProjectRule<number | null> = {
  rule: "tightens",
  note: "not more than yours",
  strictest: 0,
  complaints: (value, own) =>
    typeof own === "number" && (value ?? Infinity) > own ? looser(`${value ?? "no limit"} is looser than ${own}`) : [],
};

export function looser(what: string): readonly Complaint[] {
  return [{ at: [], message: `a project can only tighten the policy, and ${what}` }];
}

/** For a path or a list of paths, which become real paths. */
export const inOwnFolder = <T extends string | readonly string[]>(note: string): ProjectRule<T> => ({
  rule: "tightens",
  note,
  complaints: (value, _, around) =>
    [value].flat().flatMap((path, index) => {
      const message = outside(path, around);
      return message === undefined ? [] : [{ at: typeof value === "string" ? [] : [`${index}`], message }];
    }),
  real(value, { folder: workDir, home }) {
    const real = (path: string) => realPath(absolutePath(path, { workDir, home }));
    return (typeof value === "string" ? real(value) : value.map(real)) as T;
  },
});

/** Returns a complaint if a path is not in the project's folder, or is in a path that the user has forbidden. */
function outside(path: string, { folder, home, forbidden }: Around): string | undefined {
  const real = (each: string) => realPath(absolutePath(each, { workDir: folder, home }));
  if (!isInside(real(path), folder)) return "a project can only open up its own folder, and this leads out of it";
  const isForbidden = forbidden.map(real).some((each) => isInside(each, folder) && isInside(real(path), each));
  return isForbidden ? "a project can only tighten the policy, and you have forbidden this path" : undefined;
}

/** Follows every link. A path that does not exist yet is appended to the real path of its nearest existing folder. */
function realPath(path: string): string {
  const real = tried(() => realpathSync(path));
  return real ?? (path === dirname(path) ? path : join(realPath(dirname(path)), basename(path)));
}
