import type { CommandSpec } from "../spec.ts";
import { ARCHIVES } from "./archives.ts";
import { BUILD } from "./build.ts";
import { CONTAINERS } from "./containers.ts";
import { FILES } from "./files.ts";
import { GIT } from "./git.ts";
import { HTTP_CLIENTS } from "./http-clients.ts";
import { LOOK } from "./look.ts";
import { NODE_PACKAGES } from "./node-packages.ts";
import { NODE } from "./node.ts";
import { PEOPLE } from "./people.ts";
import { PYTHON } from "./python.ts";
import { RUST_GO } from "./rust-go.ts";
import { SEARCH } from "./search.ts";
import { SHELL } from "./shell.ts";
import { SYSTEM } from "./system.ts";
import { TEXT_PROGRAMS } from "./text-programs.ts";
import { WRAPPERS } from "./wrappers.ts";

/** Every command this policy knows, a list a family. A name stands in one entry only. */
export const FAMILIES: readonly (readonly CommandSpec[])[] = [
  ...[SHELL, WRAPPERS, SYSTEM, HTTP_CLIENTS, LOOK],
  ...[FILES, SEARCH, TEXT_PROGRAMS, GIT, NODE_PACKAGES, NODE, PYTHON, RUST_GO, BUILD, ARCHIVES, CONTAINERS, PEOPLE],
];
