import { ToolFailure } from "../../contract/failure.ts";
import { isSecretName } from "../../output/mask-values.ts";
import { quoteWord } from "../../util/quote.ts";
import FACTS from "./facts.sh";
import type { Shell } from "./shell.ts";

/** Facts about a remote system, requested once. */
export interface Facts {
  /** As printed by `uname -s` and `uname -m`: "Linux", "x86_64". */
  readonly system: string;
  readonly machine: string;
  /** The UID of the remote user. */
  readonly user: number;
  /** The home folder, and the folder in which a login begins. Real paths. */
  readonly home: string;
  readonly folder: string;
  /** The folder for temporary files. */
  readonly temporary: string;
  /** Which form of stat(1) the system has. */
  readonly stat: "gnu" | "bsd";
  /** Which of `PROGRAMS` are installed. */
  readonly programs: ReadonlySet<Program>;
  /** The folders of its PATH. */
  readonly path: readonly string[];
  /** Variables that are withheld from commands, since their names look like those of secrets. */
  readonly secrets: readonly string[];
}

/** Programs that are used if installed: those beyond POSIX, and those that a minimal system may lack. */
const PROGRAMS = [
  ...["setsid", "readlink", "realpath", "mktemp", "rg", "grep", "find", "awk", "perl", "gzip", "git", "bash", "tmux"],
  ...["ps", "sync"],
] as const;

export type Program = (typeof PROGRAMS)[number];

/** Requests the facts from a shell. @throws ToolFailure for an invalid answer; what `ask` throws. */
export async function askFacts(shell: Pick<Shell, "ask">, passEnv: readonly string[] = []): Promise<Facts> {
  const { out } = await shell.ask(`programs=${quoteWord(PROGRAMS.join(" "))}\n${FACTS}`);
  const fields = out.toString("utf8").split("\0");
  const said = new Map<string, string>();
  for (let index = 0; index + 1 < fields.length; index += 2) said.set(fields[index] ?? "", fields[index + 1] ?? "");
  const folder = said.get("folder") ?? "";
  if (!folder.startsWith("/") || said.get("system") === undefined) {
    throw new ToolFailure(
      `the remote shell does not answer like a POSIX shell: ${JSON.stringify(out.toString("utf8").slice(0, 300))}`,
    );
  }
  const home = said.get("home") ?? "";
  const stat = said.get("stat");
  if (stat !== "gnu" && stat !== "bsd") {
    throw new ToolFailure("expected the program stat on the remote host, found none", {
      hint: "Install it (coreutils or busybox).",
    });
  }
  const programs = new Set(PROGRAMS.filter((name) => said.has(`program ${name}`)));
  return {
    system: said.get("system") ?? "",
    machine: said.get("machine") ?? "",
    user: Number(said.get("user")),
    home: home.startsWith("/") ? home : "/",
    folder,
    temporary: said.get("temporary") ?? "/tmp",
    stat,
    programs,
    path: (said.get("path") ?? "").split(":").filter((each) => each.startsWith("/")),
    secrets: [...new Set((said.get("names") ?? "").split("\n"))].filter(
      (name) => isSecretName(name) && !passEnv.includes(name),
    ),
  };
}
