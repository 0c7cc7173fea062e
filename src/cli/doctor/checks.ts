import type { GlobalOptions } from "../options.ts";
import { approvals } from "./approvals.ts";
import type { Check } from "./check.ts";
import { configuration } from "./configuration.ts";
import { node } from "./node.ts";
import { pictures } from "./pictures.ts";
import { processes } from "./processes.ts";
import { bash, git, ripgrep } from "./programs.ts";
import { stateFolderCheck } from "./state-folder.ts";

/** What `handrail doctor` looks at, in the order it is shown. */
export const checks = (options: GlobalOptions): readonly Check[] => [
  node,
  ripgrep,
  bash,
  git,
  stateFolderCheck,
  configuration(options),
  processes,
  pictures,
  approvals,
];
