import { chmodSync, copyFileSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { installed, programProblem, secondUserProblem } from "./here.ts";
import { until } from "./until.ts";

/** A program that becomes root as `sudo` does, so that the ordinary user who started it cannot end it. */
export interface Becoming {
  /** Writes its process id to the file, and sleeps. */
  argv(file: string): readonly [program: string, ...args: string[]];
  /** Waits for a process id in the file, and kills that process. */
  end(file: string): Promise<void>;
}

/** Returns why there can be none; `undefined` if there can. */
export function becomingProblem(): string | undefined {
  return secondUserProblem() ?? programProblem("perl");
}

/** Creates the program in a folder. The file system must support setuid (no `nosuid`). */
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
