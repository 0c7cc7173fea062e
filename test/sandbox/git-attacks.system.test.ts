import { mustBeHere } from "../support/here.ts";
import { tryGitAttacks } from "./git-attacks.ts";
import { noSandbox } from "./world.ts";

mustBeHere("the sandbox", noSandbox);
tryGitAttacks();
