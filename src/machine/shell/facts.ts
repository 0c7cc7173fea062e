import { ToolFailure } from "../../core/contract/failure.ts";
import { isSecretName } from "../../core/output/mask-values.ts";
import { quoteWord } from "../../core/util/quote.ts";
import FACTS from "./facts.sh";
import type { Shell } from "./shell.ts";

/** Facts about a remote system, requested once. */
export interface Facts {
  /** As printed by `uname -s` and `uname -m`: "Linux", "x86_64". */
  readonly system: string;
  readonly machine: string;
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

/** Programs that are used if installed. */
const PROGRAMS = ["bash", "find", "grep", "gzip"] as const;

export type Program = (typeof PROGRAMS)[number];

/** Requests the facts from a shell. @throws ToolFailure for an invalid answer; what `ask` throws. */
export async function askFacts(shell: Pick<Shell, "ask">, passEnv: readonly string[] = []): Promise<Facts> {
  const { out } = await shell.ask(`programs=${quoteWord(PROGRAMS.join(" "))}\n${FACTS}`);
  const fields = out.toString("utf8").split("\0");
  const reported = new Map<string, string>();
  for (let index = 0; index + 1 < fields.length; index += 2) reported.set(fields[index] ?? "", fields[index + 1] ?? "");
  const folder = reported.get("folder") ?? "";
  if (!folder.startsWith("/") || reported.get("system") === undefined) {
    throw new ToolFailure(
      `the remote shell does not answer like a POSIX shell: ${JSON.stringify(out.toString("utf8").slice(0, 300))}`,
    );
  }
  const home = reported.get("home") ?? "";
  const stat = reported.get("stat");
  if (stat !== "gnu" && stat !== "bsd") {
    throw new ToolFailure("expected the program stat on the remote host, found none", {
      hint: "Install it (coreutils or busybox).",
    });
  }
  const programs = new Set(PROGRAMS.filter((name) => reported.has(`program ${name}`)));
  return {
    system: reported.get("system") ?? "",
    machine: reported.get("machine") ?? "",
    home: home.startsWith("/") ? home : "/",
    folder,
    temporary: reported.get("temporary") ?? "/tmp",
    stat,
    programs,
    path: (reported.get("path") ?? "").split(":").filter((each) => each.startsWith("/")),
    secrets: [...new Set((reported.get("names") ?? "").split("\n"))].filter(
      (name) => isSecretName(name) && !passEnv.includes(name),
    ),
  };
}
