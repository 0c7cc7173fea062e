import { mustBeHere } from "../../support/here.ts";
import { RUNNER } from "./escapes.ts";
import { tryProcessEscapes } from "./escapes-processes.ts";
import { noSandbox } from "./world.ts";

mustBeHere("the sandbox", noSandbox);
tryProcessEscapes(RUNNER);
