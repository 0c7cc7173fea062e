import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { quoteWord } from "../../util/shell.ts";
import type { Facts } from "./facts.ts";
import type { Shells } from "./shells.ts";

/** How the machines that Node names are called by uname(1). */
const MACHINES: { readonly [architecture: string]: string } = { x64: "x86_64", arm64: "aarch64" };

/**
 * Puts the ripgrep of this machine on a remote host with the same system and kind of machine, under its hash in the user's cache folder, unless it is there. Resolves to its path;
 * `undefined` where the kinds differ, it cannot be put there, or it does not run.
 */
export async function putRipgrep(
  shells: Pick<Shells, "ask" | "askAside">,
  { system, machine, home, programs }: Facts,
): Promise<string | undefined> {
  if (process.platform !== "linux" || system !== "Linux" || MACHINES[process.arch] !== machine) return undefined;
  const bytes = await ourRipgrep();
  if (bytes === undefined || home === "/") return undefined;
  const hash = createHash("sha256").update(bytes).digest("hex");
  const { status, out } = await shells.ask(LOOK(home, hash));
  const path = out.toString("utf8");
  if (status === 0) return path;
  if (!path.startsWith("/")) return undefined;
  const isZipped = programs.has("gzip");
  const input = isZipped ? await promisify(gzip)(bytes) : bytes;
  const unzip = isZipped ? "gzip -dc" : "cat";
  const taken = await shells.askAside(TAKE({ path, hash, length: input.length, unzip }), { input });
  return taken.status === 0 ? path : undefined;
}

/** The binary in the package that ships it. It may need libraries that the other host lacks: it is tried there before it is used. */
async function ourRipgrep(): Promise<Buffer | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep"); // throws where it is not installed
    return await readFile(rgPath);
  } catch {
    return undefined;
  }
}

/** Writes the path; ends with 0 when it is there and runs. */
const LOOK = (home: string, hash: string) => `
case \${XDG_CACHE_HOME-} in /*) folder=$XDG_CACHE_HOME/handrail ;; *) folder=${quoteWord(home)}/.cache/handrail ;; esac
(umask 077; mkdir -p "$folder") 2>/dev/null && [ -O "$folder" ] || exit 1
find "$folder" -name '.rg-*.part' -mtime +1 -exec rm -f {} + >/dev/null 2>&1
printf %s "$folder/rg-${hash}"
"$folder/rg-${hash}" --version >/dev/null 2>&1`;

/** Whatever goes wrong, all of stdin is read: what was left of it would be run. What did not arrive whole is not used. */
const TAKE = (file: {
  readonly path: string;
  readonly hash: string;
  readonly length: number;
  readonly unzip: string;
}) => `
path=${quoteWord(file.path)} part=${quoteWord(file.path.replace(/[^/]*$/, `.rg-${randomBytes(8).toString("hex")}.part`))}
umask 077
hr_file_take ${file.length} | { ${file.unzip} >"$part" || cat >/dev/null; } 2>/dev/null
sum=$( (sha256sum <"$part") 2>/dev/null)
[ "\${sum%% *}" = ${file.hash} ] && chmod 700 "$part" && "$part" --version >/dev/null 2>&1 && mv -f "$part" "$path" && exit 0
rm -f "$part"
exit 1`;
