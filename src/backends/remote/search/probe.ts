import { ToolFailure } from "../../../contract/failure.ts";
import type { Facts } from "../facts.ts";
import type { Shells } from "../shells.ts";

/** What the grep there can do beyond POSIX. */
export interface GrepFacts {
  /** The option that puts a NUL behind a file's name; "" where there is none. */
  readonly nulls: "--null" | "";
  /** The option by which a binary file is searched like others; "" where there is none, and none is needed. */
  readonly asText: "-a" | "";
}

/** What the find there can do. */
export interface FindFacts {
  /** Prints a path with a NUL behind it. */
  readonly print: readonly string[];
  /** `-mindepth` and `-maxdepth` are known. */
  readonly hasDepths: boolean;
}

export interface Probed {
  /** ripgrep is there, and has all options that the tools give. */
  readonly hasRipgrep: boolean;
  readonly grep: GrepFacts | undefined;
  readonly find: FindFacts | undefined;
}

/** All that the tools give to ripgrep. 13.0.0 has them. */
const RIPGREP_OPTIONS =
  "--no-config --no-require-git --no-ignore-global --no-ignore-dot --color=never --null --sort=path --hidden '--glob=!.git' '--type-add=meant:*.x' --type=meant";
const SEARCH_OPTIONS =
  "--with-filename --line-number --no-heading --no-context-separator --max-columns=9 --max-columns-preview --ignore-case --crlf --context=1 --max-count=1 --text";

const SCRIPT = `
LC_ALL=C; export LC_ALL
unset GREP_OPTIONS POSIXLY_CORRECT
if rg ${RIPGREP_OPTIONS} ${SEARCH_OPTIONS} --regexp=a - </dev/null >/dev/null 2>&1; [ $? = 1 ]; then
  rg ${RIPGREP_OPTIONS} --files -- /dev/null >/dev/null 2>&1
  [ $? = 2 ] || printf 'ripgrep\\n'
fi
if printf 'ab\\n' | grep -n -m 1 -C 1 -E -e '(a|x)b{1,2}' >/dev/null 2>&1; then printf 'grep\\n'; fi
if printf 'a\\n' | grep -a a >/dev/null 2>&1; then printf 'grep -a\\n'; fi
if printf 'a\\n' | grep --null a >/dev/null 2>&1; then printf 'grep --null\\n'; fi
if find / -prune -type d ! -name x >/dev/null 2>&1; then printf 'find\\n'; fi
if find / -prune -print0 >/dev/null 2>&1; then printf 'find -print0\\n'; fi
if find / -maxdepth 0 -mindepth 0 -prune >/dev/null 2>&1; then printf 'find -mindepth\\n'; fi
`;

/** The same as "-print0", where find does not have it. */
const PRINT_BY_SHELL: readonly string[] = ["-exec", "sh", "-c", String.raw`printf "%s\0" "$@"`, "sh", "{}", "+"];

/** Finds out what there is to search with. */
export async function probe(shells: Pick<Shells, "ask">): Promise<Probed> {
  const { out } = await shells.ask(SCRIPT);
  const has = new Set(out.toString("latin1").split("\n"));
  return {
    hasRipgrep: has.has("ripgrep"),
    grep: has.has("grep")
      ? { nulls: has.has("grep --null") ? "--null" : "", asText: has.has("grep -a") ? "-a" : "" }
      : undefined,
    find: has.has("find")
      ? { print: has.has("find -print0") ? ["-print0"] : PRINT_BY_SHELL, hasDepths: has.has("find -mindepth") }
      : undefined,
  };
}

/** The failure where a program that is needed is not there. */
export function programMissing(
  program: "find" | "grep",
  place: string,
  { system }: Pick<Facts, "system">,
): ToolFailure {
  return new ToolFailure(
    `there is neither ripgrep nor a usable ${program} on ${place} (${system}), so nothing can be searched there`,
    {
      hint: "Install ripgrep there (apt install ripgrep, apk add ripgrep), or find and grep.",
    },
  );
}
