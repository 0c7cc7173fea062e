import { afterAll, describe, test } from "vitest";
import { container } from "../../src/machine/container/container.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import { backendSuite, terminalSuite } from "../suites/index.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { smoke } from "./smoke.ts";

const problem = engineProblem("docker");
mustBeHere("docker", problem);

describe.skipIf(problem !== undefined)("tmux in a container of docker", () => {
  const outputFolder = temporaryFolder();
  const started = sharedContainer("docker", { user: "dev" });
  const open = async (session: string) => {
    const { name } = await started();
    return tmux(await container({ container: `docker:${name}`, outputFolder }), { session });
  };

  backendSuite(
    { name: "tmux(docker)", open: () => open("suite"), signals: "code", detached: true },
    smoke({ describe, test, afterAll }),
  );
  terminalSuite({ name: "the terminal of tmux(docker)", open: () => open("terminal") }, { describe, test, afterAll });
});
