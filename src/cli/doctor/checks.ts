import type { GlobalOptions } from "../options.ts";
import type { Check } from "./check.ts";
import { machine } from "./machine.ts";
import { settings } from "./settings.ts";
import { state } from "./state.ts";
import { work } from "./work.ts";

/** The checks of `handrail doctor`, in display order. */
export const checks = (options: GlobalOptions): readonly Check[] => [
  ...machine(options),
  ...state(options),
  ...settings(options),
  ...work(options),
];
