import { ToolFailure } from "../../contract/failure.ts";
import type { Exit } from "../../contract/backend.ts";
import { quoteWord } from "../../util/shell.ts";
import { LineLost, type Shell } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** The stdin of a job. */
export interface JobInput {
  /** Resolves when the job's pipe has taken it. @throws ToolFailure when the job has ended, its stdin has, or the connection was lost meanwhile. */
  write(text: string): Promise<void>;
  /** The job reads the end. Never rejects. */
  end(): Promise<void>;
}

const NOT_READ = "the process no longer reads its stdin";

/** Writes through a FIFO in the job's folder. What the job does not read waits in a shell of its own, which is ended with the job. */
export function inputOf({
  shells,
  folder,
  place,
  exit,
}: {
  readonly shells: Shells;
  readonly folder: string;
  readonly place: string;
  readonly exit: Promise<Exit>;
}): JobInput {
  const fifo = quoteWord(`${folder}/in`);
  let before: Promise<unknown> = Promise.resolve();
  let ended: Promise<void> | undefined;

  const writeNow = async (text: string): Promise<void> => {
    const bytes = Buffer.from(text, "utf8");
    if (bytes.length === 0) return;
    const shell = await shells.take();
    try {
      const status = await Promise.race([sent(shell, bytes), exit.then(() => "over" as const)]);
      if (status === 0) return;
      if (status === "over") shell.kill();
      throw new ToolFailure(`${NOT_READ}: it has ended`);
    } catch (error) {
      if (!(error instanceof LineLost)) throw error;
      throw new ToolFailure(
        `the connection to ${place} was lost: what was to be written may or may not have reached the process, or in part`,
        {
          cause: error,
        },
      );
    } finally {
      shells.giveBack(shell);
    }
  };
  /** Whatever becomes of the FIFO, all of the bytes are read: the shell would take the rest for a script. */
  const sent = async (shell: Shell, input: Uint8Array): Promise<number> => {
    const { status } = await shell.ask(
      `head -c ${input.length} | { hr_status=1\nset -- ${quoteWord(folder)}/exited-*\n` +
        `[ -e "$1" ] || { cat >${fifo}; hr_status=$?; } 2>/dev/null\ncat >/dev/null\nexit "$hr_status"; }`,
      { input },
    );
    return status;
  };

  return {
    write(text) {
      if (ended !== undefined) return Promise.reject(new ToolFailure(`${NOT_READ}: it was ended`));
      const writing = before.then(() => writeNow(text));
      before = writing.catch(() => undefined);
      return writing;
    },
    end() {
      ended ??= before.then(async () => {
        // Who holds it open for us lets it go.
        await shells
          .ask(`set -- ${quoteWord(folder)}/holder-*; kill "\${1##*/holder-}" 2>/dev/null`)
          .catch(() => undefined);
      });
      return ended;
    },
  };
}
