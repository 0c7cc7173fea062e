import { TARGETS } from "../../backends/targets.ts";
import type { GlobalOptions } from "../options.ts";
import { approvals } from "./approvals.ts";
import type { Check } from "./check.ts";
import { commands } from "./commands.ts";
import { configuration } from "./configuration.ts";
import { database } from "./database.ts";
import { models } from "./models.ts";
import { node } from "./node.ts";
import { pictures } from "./pictures.ts";
import { placeOfWork } from "./place.ts";
import { processes } from "./processes.ts";
import { bash, git, ripgrep, tmux } from "./programs.ts";
import { savedOutputs } from "./saved-outputs.ts";
import { sandboxed } from "./sandbox.ts";
import { stateFolderCheck } from "./state-folder.ts";
import { targetPrograms } from "./targets.ts";
import { undo } from "./undo.ts";

/** The checks of `handrail doctor`, in display order. */
export const checks = (options: GlobalOptions): readonly Check[] => [
  node,
  ripgrep,
  bash,
  git,
  commands,
  processes,
  sandboxed,
  ...targetPrograms([...TARGETS, ...(options.targets ?? [])]),
  tmux,
  stateFolderCheck,
  savedOutputs(options),
  database(options),
  undo(options),
  configuration(options),
  pictures,
  models(options),
  approvals,
  placeOfWork(options),
];
