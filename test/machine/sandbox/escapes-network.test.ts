import { mustBeHere } from "../../support/here.ts";
import { RUNNER } from "./escapes.ts";
import { tryNetworkEscapes } from "./escapes-network.ts";
import { noSandbox } from "./world.ts";

mustBeHere("the sandbox", noSandbox);
tryNetworkEscapes(RUNNER);
