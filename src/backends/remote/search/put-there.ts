import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { quoteWord } from "../../../util/shell.ts";
import type { Facts } from "../facts.ts";
import type { Shells } from "../shells.ts";
import type { OurRipgrep } from "./our-ripgrep.ts";

/** A file that was begun so long ago will not be finished: days. */
const LEFT_BEHIND_DAYS = 1;

/** Puts ripgrep on another system, unless it is there. Resolves to its path there; `undefined` where no folder may hold a program, or it does not run. */
export async function putThere(
  { bytes, hash }: OurRipgrep,
  shells: Pick<Shells, "ask" | "askAside">,
  facts: Facts,
): Promise<string | undefined> {
  const look = await shells.ask(`${folderScript(facts)}\n${LOOK.replaceAll("HASH", hash)}`);
  const [word, folder] = look.out.toString("utf8").split("\0");
  if (folder === undefined || !folder.startsWith("/")) return undefined;
  const path = `${folder}/rg-${hash}`;
  if (word === "have") return path;
  const isZipped = facts.programs.has("gzip");
  const input = isZipped ? await promisify(gzip)(bytes, { level: 6 }) : bytes;
  const temporary = `${folder}/.rg-${randomBytes(8).toString("hex")}.part`;
  const script = TAKE.replaceAll("LENGTH", String(input.length))
    .replaceAll("SIZE", String(bytes.length))
    .replaceAll("HASH", hash)
    .replaceAll("UNZIP", isZipped ? "gzip -dc" : "cat")
    .replaceAll("FOLDER", quoteWord(folder));
  const { status } = await shells.askAside(`temporary=${quoteWord(temporary)}; path=${quoteWord(path)}\n${script}`, {
    input,
  });
  return status === 0 ? path : undefined;
}

/** Folders that may hold a program of ours, the best first. One in a folder that all may write to has to be ours alone. */
function folderScript({ user, home, temporary }: Facts): string {
  const cache = home === "/" ? "$XDG_CACHE_HOME" : `\${XDG_CACHE_HOME:-$home/.cache}`;
  const shared = [...new Set([temporary, "/tmp", "/dev/shm", "/var/tmp"])].map((folder) =>
    quoteWord(`${folder}/handrail-${user}`),
  );
  return `
umask 077
is_ours() {
  [ -d "$1" ] && [ ! -L "$1" ] || return 1
  set -- $(ls -ldn "$1/." 2>/dev/null)
  case "$1" in drwx------*) [ "$3" = ${user} ] ;; *) return 1 ;; esac
}
runs() {
  trial="$1/.trial-${randomBytes(8).toString("hex")}"
  rm -f "$trial"
  printf '#!/bin/sh\\nexit 0\\n' >"$trial" 2>/dev/null && chmod 700 "$trial" && "$trial" 2>/dev/null
  ran=$?
  rm -f "$trial"
  return $ran
}
usable() {
  mkdir -p "$1" 2>/dev/null
  [ "$2" = home ] || is_ours "$1" || return 1
  runs "$1"
}
choose() {
  home=${quoteWord(home)}
  cache="${cache}"
  folder="$cache/handrail"
  case "$cache" in /*) usable "$folder" home && return ;; esac
  for folder in ${shared.join(" ")}; do usable "$folder" shared && return; done
  return 1
}`;
}

const LOOK = `
choose 2>/dev/null || exit 1
find "$folder" -name '.rg-*.part' -mtime +${LEFT_BEHIND_DAYS} -exec rm -f {} + >/dev/null 2>&1
if [ -f "$folder/rg-HASH" ] && "$folder/rg-HASH" --version >/dev/null 2>&1; then printf 'have\\0%s\\0' "$folder"
else printf 'none\\0%s\\0' "$folder"; fi
`;

/** Whatever goes wrong, all of stdin is read: what was left of it would be run. */
const TAKE = `
umask 077
hr_file_take LENGTH | { UNZIP >"$temporary" || cat >/dev/null; } 2>/dev/null
sum=$( (sha256sum <"$temporary") 2>/dev/null) && sum=\${sum%% *} || sum=
size=$(($(wc -c <"$temporary" 2>/dev/null || echo 0)))
if [ "$size" = SIZE ] && { [ -z "$sum" ] || [ "$sum" = HASH ]; } && chmod 700 "$temporary" && "$temporary" --version >/dev/null 2>&1 && mv -f "$temporary" "$path"; then exit 0; fi
rm -f "$temporary"
exit 1
`;
