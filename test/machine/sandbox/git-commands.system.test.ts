// All porcelain commands, not the first of each outcome.
import "./git-commands.test.ts";
