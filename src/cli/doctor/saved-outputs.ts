import { stateFolder } from "../../config/state.ts";
import { DEFAULT_MAX_OUTPUT_BYTES } from "../../output/outputs.ts";
import { usedBytes } from "../../output/remove-old.ts";
import { formatSize } from "../../output/size.ts";
import { outputsFolder } from "../../config/state.ts";
import { quoteWord } from "../../util/quote.ts";
import type { GlobalOptions } from "../options.ts";
import type { Check } from "./check.ts";
import { settingsOf } from "./settings.ts";

/** Checks the size of the saved outputs against its limit. */
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
