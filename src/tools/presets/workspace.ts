import type { Tool } from "../../contract/tool.ts";
import { bash } from "../bash.ts";
import { edit } from "../edit.ts";
import { find } from "../find.ts";
import { grep } from "../grep.ts";
import { ls } from "../ls.ts";
import { read } from "../read.ts";
import { write } from "../write.ts";

/** Files, search and commands (seed 001). */
export const workspace = (): readonly Tool[] => [read(), write(), edit(), bash(), grep(), find(), ls()];
