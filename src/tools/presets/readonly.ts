import type { Tool } from "../../contract/tool.ts";
import { find } from "../find.ts";
import { grep } from "../grep.ts";
import { ls } from "../ls.ts";
import { read } from "../read.ts";

/** Only looks (seed 004). */
export const readonly = (): readonly Tool[] => [read(), grep(), find(), ls()];
