import { afterAll, describe, test } from "vitest";
import { backendSuite, terminalSuite } from "../suites/index.ts";
import { installedOf, mustBeHere } from "../support/here.ts";
import { testServer, tmuxProblem } from "./tmux-server.ts";

mustBeHere("tmux", tmuxProblem());

/** Shells that people use in their panes. */
const SHELLS = installedOf(["bash --norc", "zsh -f", "dash", "busybox sh"]);

describe.skipIf(tmuxProblem() !== undefined)("tmux on this machine", () => {
  const server = testServer();
  backendSuite(
    { name: "tmux(local)", open: () => server.open(), signals: "code", detached: true },
    { describe, test, afterAll },
  );
  for (const shell of SHELLS) {
    const session = shell.replaceAll(/\W/g, "-");
    terminalSuite(
      { name: `tmux(local), ${shell} in the pane`, open: () => server.open({ shell, session }) },
      { describe, test, afterAll },
    );
  }
});
