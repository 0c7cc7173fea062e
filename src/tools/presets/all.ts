import type { Tool } from "../../contract/tool.ts";
import { bash } from "../bash.ts";
import { edit } from "../edit.ts";
import { find } from "../find.ts";
import { grep } from "../grep.ts";
import { ls } from "../ls.ts";
import { read } from "../read.ts";
import { time } from "../time.ts";
import { write } from "../write.ts";

/** Every tool once. */
export const all = (): readonly Tool[] => [read(), write(), edit(), bash(), grep(), find(), ls(), time()];
