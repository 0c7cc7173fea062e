import { ripgrepPath } from "../../backends/local/ripgrep.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { Check } from "./check.ts";
import { firstLineOf, installCommand, onPath } from "./program.ts";

/** ripgrep, the very one that grep and find use. */
export const ripgrep: Check = {
  name: "ripgrep",
  required: true,
  fix: "npm install @vscode/ripgrep",
  async run(signal) {
    const program = await ripgrepPath().catch((error: unknown) => {
      if (!(error instanceof ToolFailure)) throw error;
    });
    if (program === undefined) {
      return { status: "missing", detail: "neither in its package nor on the PATH", fix: installCommand("ripgrep") };
    }
    return { status: "ok", detail: `${await firstLineOf([program, "--version"], signal)} (${program})` };
  },
};

/** What runs commands. */
export const bash = programCheck({ name: "bash", required: true });

/** What projects are kept with. */
export const git = programCheck({ name: "git" });

/** What commands are run in where people watch. */
export const tmux = programCheck({ name: "tmux", version: "-V", use: "run commands where you can watch with --tmux" });

interface ProgramCheck {
  /** Of the program and of its package. */
  readonly name: string;
  readonly required?: boolean;
  /** The option that asks for its version. */
  readonly version?: string;
  /** What it is good for, where that is not plain. */
  readonly use?: string;
}

function programCheck({ name, required = false, version = "--version", use }: ProgramCheck): Check {
  return {
    name,
    required,
    fix: installCommand(name),
    async run(signal) {
      const program = onPath(name);
      if (program === undefined) return { status: "missing", detail: "not on the PATH", fix: installCommand(name) };
      const found = `${await firstLineOf([program, version], signal)} (${program})`;
      return { status: "ok", detail: use === undefined ? found : `${found}: ${use}` };
    },
  };
}
