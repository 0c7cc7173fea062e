import { helperCommand } from "../../backends/local/helper.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { Check } from "./check.ts";
import { firstLineOf, installCommand, onPath } from "./program.ts";

/** ripgrep, the very one that grep and find use. */
export const ripgrep: Check = {
  name: "ripgrep",
  required: true,
  fix: "npm install @vscode/ripgrep",
  async run(signal) {
    const found = await helperCommand("rg", [], []).catch((error: unknown) => {
      if (!(error instanceof ToolFailure)) throw error;
    });
    if (found === undefined) {
      return { status: "missing", detail: "neither in its package nor on the PATH", fix: installCommand("ripgrep") };
    }
    const [program] = found;
    return { status: "ok", detail: `${await firstLineOf([program, "--version"], signal)} (${program})` };
  },
};

/** What runs commands. */
export const bash = programCheck("bash", "bash", true);

/** What projects are kept with. */
export const git = programCheck("git", "git", false);

function programCheck(name: string, packageName: string, required: boolean): Check {
  return {
    name,
    required,
    fix: installCommand(packageName),
    async run(signal) {
      const program = onPath(name);
      if (program === undefined) {
        return { status: "missing", detail: "not on the PATH", fix: installCommand(packageName) };
      }
      return { status: "ok", detail: `${await firstLineOf([program, "--version"], signal)} (${program})` };
    },
  };
}
