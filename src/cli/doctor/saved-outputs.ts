import { stateFolder } from "../../config/state.ts";
import { DEFAULT_MAX_OUTPUT_BYTES } from "../../output/outputs.ts";
import { usedBytes } from "../../output/remove-old.ts";
import { formatSize } from "../../output/size.ts";
import { outputsFolder } from "../../toolkit.ts";
import { quoteWord } from "../../util/shell.ts";
import type { GlobalOptions } from "../options.ts";
import type { Check } from "./check.ts";
import { settingsOf } from "./settings.ts";

/** How much the saved outputs take, and how much they may. */
export function savedOutputs(options: GlobalOptions): Check {
  const folder = outputsFolder(stateFolder());
  return {
    name: "saved outputs",
    required: false,
    fix: `du -sh ${quoteWord(folder)}`,
    async run() {
      const { state } = await settingsOf(options);
      const { saved, live } = await usedBytes(folder);
      const most = formatSize(state.outputs ?? DEFAULT_MAX_OUTPUT_BYTES);
      const running = live === 0 ? "" : `, and ${formatSize(live)} of commands and jobs whose session still runs`;
      return { status: "ok", detail: `${folder}: ${formatSize(saved)} of at most ${most}${running}` };
    },
  };
}
