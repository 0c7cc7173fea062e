import type { TargetKind } from "../../contract/target.ts";
import type { Check } from "./check.ts";
import { installCommand } from "./program.ts";

/** Returns a check for each kind of target that has a flag. It checks the programs that reach the target. */
export function targetPrograms(kinds: readonly TargetKind[]): readonly Check[] {
  return kinds.flatMap(({ commandLine }) => {
    if (commandLine === undefined) return [];
    const { program, use } = commandLine;
    const install = installCommand(commandLine.package);
    return {
      name: program,
      required: false,
      fix: install,
      async run() {
        const { works, detail, fix = install } = await commandLine.look();
        return works ? { status: "ok", detail: `${detail}: ${use}` } : { status: "missing", detail, fix };
      },
    } satisfies Check;
  });
}
