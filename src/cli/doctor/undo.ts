import { resolve } from "node:path";
import { stateFolder } from "../../config/state.ts";
import { formatSize } from "../../output/size.ts";
import { undoFolder } from "../../config/state.ts";
import { readLog } from "../../undo/log.ts";
import { DEFAULT_MAX_UNDO_BYTES, storeOf } from "../../undo/store.ts";
import type { GlobalOptions } from "../options.ts";
import type { Check } from "./check.ts";
import { settingsOf } from "./settings.ts";

/** Checks whether changes of tools in this folder can be undone, and how much space that takes. */
export function undo(options: GlobalOptions): Check {
  return {
    name: "undo",
    required: false,
    fix: "see docs/undo.md",
    async run() {
      const settings = await settingsOf(options);
      if (settings.undo === "off") return { status: "ok", detail: "off in the configuration" };
      if (options.target !== undefined) return { status: "ok", detail: "off: it keeps files of this machine only" };
      const workDir = resolve(options.workDir ?? settings.tools.workDir ?? ".");
      const { path } = await storeOf({ folder: undoFolder(stateFolder()), workDir }, { make: false });
      const { bytes } = await readLog(path);
      const most = formatSize(settings.state.undo ?? DEFAULT_MAX_UNDO_BYTES);
      return { status: "ok", detail: `${workDir}: ${formatSize(bytes)} of at most ${most} in ${path}` };
    },
  };
}
