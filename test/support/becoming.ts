import { chmodSync, copyFileSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { installed, programProblem, secondUserProblem } from "./here.ts";
import { until } from "./until.ts";

/** A program that becomes root as `sudo` does, so that an ordinary user who has started it cannot end it. */
export interface Becoming {
  /** Writes its number into the file, and sleeps. */
  argv(file: string): readonly [program: string, ...args: string[]];
  /** Waits for the number in the file, and kills that process. */
  end(file: string): Promise<void>;
}

/** Why there can be none; `undefined`: there can. */
export function becomingProblem(): string | undefined {
  return secondUserProblem() ?? programProblem("perl");
}

/** Makes one in a folder. The file system there must heed the bit (no `nosuid`). */
export function becoming(folder: string): Becoming {
  const program = join(folder, "becoming");
  copyFileSync(realpathSync(installed("perl") ?? "perl"), program);
  chmodSync(program, 0o4755);
  return {
    argv: (file) => [program, "-e", `$< = $> = 0; open F, ">", "${file}"; print F "$$\\n"; close F; sleep 600`],
    async end(file) {
      const number = () => {
        try {
          return Number(readFileSync(file, "utf8"));
        } catch {
          return 0;
        }
      };
      await until("it has become root", () => number() > 0);
      process.kill(number(), "SIGKILL");
    },
  };
}
