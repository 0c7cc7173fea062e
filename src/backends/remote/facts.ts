import { isSecretName } from "../../output/mask-values.ts";
import type { Shell } from "./shell.ts";
import { ToolFailure } from "../../contract/failure.ts";

/** What is to be known of another system, asked once. */
export interface Facts {
  /** As `uname -s` and `uname -m` say it: "Linux", "x86_64". */
  readonly system: string;
  readonly machine: string;
  /** The number of the user who works there. */
  readonly user: number;
  /** The home folder, and the folder in which a login begins. Real paths. */
  readonly home: string;
  readonly folder: string;
  /** Where temporary files go. */
  readonly temporary: string;
  /** Which form of stat(1) there is. */
  readonly stat: "gnu" | "bsd" | "none";
  /** Which of the programs that are looked for (`PROGRAMS`) are there. */
  readonly programs: ReadonlySet<Program>;
  /** The folders of its PATH. */
  readonly path: readonly string[];
  /** Variables that commands do not get: their names look like those of secrets. */
  readonly secrets: readonly string[];
}

/** Programs beyond POSIX that are used where they are there, and those that a minimal system may lack. */
const PROGRAMS = [
  "setsid",
  "readlink",
  "realpath",
  "mktemp",
  "rg",
  "grep",
  "find",
  "awk",
  "perl",
  "gzip",
  "git",
  "bash",
  "tmux",
  "ps",
  "sync",
] as const;

export type Program = (typeof PROGRAMS)[number];

/**
 * Asks a shell what it is and where.
 *
 * @throws ToolFailure when its answer makes no sense; what `ask` throws.
 */
export async function askFacts(shell: Pick<Shell, "ask">, passEnv: readonly string[] = []): Promise<Facts> {
  const { out } = await shell.ask(SCRIPT);
  const fields = out.toString("utf8").split("\0");
  const said = new Map<string, string>();
  for (let index = 0; index + 1 < fields.length; index += 2) said.set(fields[index] ?? "", fields[index + 1] ?? "");
  const folder = said.get("folder") ?? "";
  if (!folder.startsWith("/") || said.get("system") === undefined) {
    throw new ToolFailure(
      `the shell there does not answer as a POSIX shell does: ${JSON.stringify(out.toString("utf8").slice(0, 300))}`,
    );
  }
  const home = said.get("home") ?? "";
  const stat = said.get("stat");
  const programs = new Set(PROGRAMS.filter((name) => said.has(`program ${name}`)));
  return {
    system: said.get("system") ?? "",
    machine: said.get("machine") ?? "",
    user: Number(said.get("user")),
    home: home.startsWith("/") ? home : "/",
    folder,
    temporary: said.get("temporary") ?? "/tmp",
    stat: stat === "gnu" || stat === "bsd" ? stat : "none",
    programs,
    path: (said.get("path") ?? "").split(":").filter((each) => each.startsWith("/")),
    secrets: [...new Set((said.get("names") ?? "").split("\n"))].filter(
      (name) => isSecretName(name) && !passEnv.includes(name),
    ),
  };
}

const SCRIPT = `
LC_ALL=C; export LC_ALL
field() { printf '%s\\0%s\\0' "$1" "$2"; }
field system "$(uname -s)"
field machine "$(uname -m)"
field user "$(id -u)"
field folder "$(pwd -P)"
field home "$(cd -P -- "\${HOME:-/}" 2>/dev/null && pwd -P)"
field temporary "$(cd -P -- "\${TMPDIR:-/tmp}" 2>/dev/null && pwd -P || echo /tmp)"
field path "$PATH"
if [ "$(stat -c %F / 2>/dev/null)" = directory ]; then field stat gnu
elif [ "$(stat -f %HT / 2>/dev/null)" = Directory ]; then field stat bsd
else field stat none; fi
for program in ${PROGRAMS.join(" ")}; do
  if command -v "$program" >/dev/null 2>&1; then field "program $program" ""; fi
done
field names "$(env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p')"
`;
