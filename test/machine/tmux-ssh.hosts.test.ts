import { afterAll, describe, test } from "vitest";
import { ssh } from "../../src/machine/ssh/ssh.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import { backendSuite, terminalSuite } from "../suites/index.ts";
import { mustBeHere } from "../support/here.ts";
import { sshServer, sshdProblem } from "../support/sshd.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { smoke } from "./smoke.ts";
import { tmuxProblem } from "./tmux-server.ts";

const problem = tmuxProblem() ?? sshdProblem();
mustBeHere("tmux on a host over SSH", problem);

describe.skipIf(problem !== undefined)("tmux on a host over SSH", () => {
  const outputFolder = temporaryFolder();
  let started: ReturnType<typeof sshServer> | undefined;
  const open = async (session: string) => {
    const { target, configFile } = await (started ??= sshServer());
    return tmux(await ssh({ target, configFile, outputFolder }), { session });
  };

  backendSuite(
    { name: "tmux(ssh)", open: () => open("suite"), signals: "code", detached: true },
    smoke({ describe, test, afterAll }),
  );
  terminalSuite({ name: "the terminal of tmux(ssh)", open: () => open("terminal") }, { describe, test, afterAll });
});
