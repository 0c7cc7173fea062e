// Tries every escape as an ordinary user if the tests run as root. The other files of this name try them as the user
// who runs the tests.
import { describe } from "vitest";
import { mustBeHere, secondUserProblem } from "../../support/here.ts";
import { SECOND_USER } from "./escapes.ts";
import { tryFileEscapes } from "./escapes-files.ts";
import { tryLaterEscapes } from "./escapes-later.ts";
import { tryNetworkEscapes } from "./escapes-network.ts";
import { tryProcessEscapes } from "./escapes-processes.ts";
import { noSandbox } from "./world.ts";

const problem = noSandbox ?? secondUserProblem();
mustBeHere("the sandbox for a second user", problem);

describe.skipIf(problem !== undefined)("out of the sandbox", () => {
  tryFileEscapes(SECOND_USER);
  tryLaterEscapes(SECOND_USER);
  tryNetworkEscapes(SECOND_USER);
  tryProcessEscapes(SECOND_USER);
});
