import type { Tool } from "../../contract/tool.ts";
import { bash } from "../bash.ts";
import { edit } from "../edit.ts";
import { read } from "../read.ts";
import { write } from "../write.ts";

/** What a coding agent needs (seed 004). The default. */
export const coding = (): readonly Tool[] => [read(), bash(), edit(), write()];
