import { ripgrepPath } from "../../backends/local/ripgrep.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { Check } from "./check.ts";
import { firstLineOf, installCommand, onPath } from "./program.ts";

/** Checks ripgrep: the same binary that grep and find use. */
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

/** Checks bash, which runs commands. */
export const bash = programCheck({ name: "bash", required: true });

/** Checks git. */
export const git = programCheck({ name: "git" });

/** Checks tmux, in which commands run where people can watch them. */
export const tmux = programCheck({ name: "tmux", version: "-V", use: "run commands where you can watch with --tmux" });

interface ProgramCheck {
  /** The name of the program and of its package. */
  readonly name: string;
  readonly required?: boolean;
  /** The option that prints its version. */
  readonly version?: string;
  /** What it is used for, if that is not obvious. */
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
