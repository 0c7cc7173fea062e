import { mustBeHere } from "../../support/here.ts";
import { RUNNER } from "./escapes.ts";
import { tryFileEscapes } from "./escapes-files.ts";
import { noSandbox } from "./world.ts";

mustBeHere("the sandbox", noSandbox);
tryFileEscapes(RUNNER);
