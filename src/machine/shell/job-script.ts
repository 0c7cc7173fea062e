import type { JobCommand } from "../../core/contract/job.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { KEPT_OF_END, KEPT_OF_START } from "../../core/output/kept.ts";
import { quoteWord } from "../../core/util/quote.ts";
import { type ContainedScript, commandFunctions, startFailure, unreadyFailure } from "./command-script.ts";
import JOB_BEGIN from "./job-begin.sh";
import JOB from "./job.sh";
import PROCESSES from "./processes.sh";
import SPOOL from "../process/spool.sh";
import READY from "./ready.sh";
import type { Shells } from "./shells.ts";

export interface StartOptions {
  /** The job's folder; it is created. */
  readonly folder: string;
  /** Added to the environment of the process and its children. */
  readonly mark: string;
  /** A real path. */
  readonly cwd: string;
  /** Written to `job` in the folder, for later sessions. */
  readonly plan: string;
  readonly contained?: ContainedScript | undefined;
}

/**
 * Starts a job. A shell on the remote host, in its own session, watches it, so it needs no connection. The job's folder
 * contains `out`, its output (the beginning and the end of a long one, or what the disk takes), `in`, its stdin, and its
 * notes (`JobNotes`). Resolves to its PID.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function startInFolder(
  shells: Pick<Shells, "askAside">,
  command: JobCommand,
  { folder, mark, cwd, plan, contained }: StartOptions,
): Promise<number> {
  const program = contained?.program ?? command.argv[0];
  const at = quoteWord(folder);
  const stdin = command.stdin === "pipe" ? "pipe" : "closed";
  const functions = `${JOB}\n${commandFunctions(command, {
    cwd,
    mark,
    contained,
    before: `${quoteWord(JOB_BEGIN)} sh ${at} "$hr_me"`,
    input: stdin === "pipe" ? `<${at}/in` : "</dev/null",
  })}`;
  const watch = `${READY}\n${PROCESSES}\n${SPOOL}\n${functions}\nhr_watch ${at} ${stdin} ${KEPT_OF_START} ${KEPT_OF_END}; exit`;
  const script = `${functions}\nhr_job ${at} ${stdin} ${quoteWord(plan)} ${quoteWord(watch)}`;

  const { out } = await shells.askAside(script, { again: false, doing: `starting ${program}` });
  const report = out.toString("utf8");
  const space = report.indexOf(" ");
  const rest = report.slice(space + 1);
  switch (report.slice(0, space)) {
    case "started":
      return Number.parseInt(rest, 10);
    case "unready":
      throw unreadyFailure(Number(rest), program, cwd);
    case "unmade":
      throw new ToolFailure(`cannot start ${program}: its folder could not be created: ${rest.trim()}`, {
        ...(/mkfifo: .*not found/.test(rest) && { hint: "Install the program mkfifo (coreutils) on the target." }),
      });
    default:
      throw startFailure(rest, program);
  }
}
