import { findConfig } from "../../config/find.ts";
import { ConfigError } from "../../config/problem.ts";
import { readSettings } from "../../config/read-settings.ts";
import { stateFolder } from "../../config/state.ts";
import { createTrust } from "../../config/trust.ts";
import { ruleWarnings } from "../../policy/rules/warnings.ts";
import { quoteWord } from "../../util/quote.ts";
import { plural } from "../../util/text.ts";
import type { GlobalOptions } from "../options.ts";
import { loadedSettings } from "../settings.ts";
import type { Check } from "./check.ts";

/** Checks which files configure Handrail, and whether they and the options are valid. */
export function configuration(options: GlobalOptions): Check {
  const { config } = options;
  const workDir = options.target === undefined ? options.workDir : undefined;
  return {
    name: "configuration",
    required: true,
    fix: "handrail tools",
    async run() {
      const files = findConfig({
        ...(config !== undefined && { named: config }),
        ...(workDir !== undefined && { from: workDir }),
      });
      const names = Object.values(files);
      try {
        const { project } = await readSettings(files, { trust: createTrust(stateFolder()) });
        const { settings } = await loadedSettings(options);
        if (names.length === 0) return { status: "ok", detail: "no file; the defaults apply" };
        const waits = project !== undefined && project.asks.length > 0 && project.standing !== "trusted";
        const untrusted = waits ? `; some settings have no effect (see: handrail trust)` : "";
        const warnings = ruleWarnings(settings.policy.commands);
        return { status: "ok", detail: [`${names.join(", ")}${untrusted}`, ...warnings].join("\n") };
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        const [first] = error.problems;
        const where = first?.place === undefined ? "" : `+${first.place.line} `;
        return {
          status: "broken",
          detail: `${plural(error.problems.length, "problem")}\n${error.message.split("\n").slice(1).join("\n")}`,
          fix: `\${EDITOR:-vi} ${where}${quoteWord(first?.file ?? "")}`,
        };
      }
    },
  };
}
