import { mustBeHere } from "../../support/here.ts";
import { RUNNER } from "./escapes.ts";
import { tryLaterEscapes } from "./escapes-later.ts";
import { noSandbox } from "./world.ts";

mustBeHere("the sandbox", noSandbox);
tryLaterEscapes(RUNNER);
