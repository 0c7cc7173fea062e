import { afterAll, describe, test } from "vitest";
import { container } from "../../src/machine/container/container.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import { terminalSuite } from "../suites/index.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";

const problem = engineProblem("podman");
mustBeHere("podman", problem);

describe.skipIf(problem !== undefined)("tmux in a container of podman", () => {
  const outputFolder = temporaryFolder();
  const started = sharedContainer("podman", { user: "dev" });

  terminalSuite(
    {
      name: "the terminal of tmux(podman)",
      async open() {
        const { name } = await started();
        return tmux(await container({ container: `podman:${name}`, outputFolder }), { session: "terminal" });
      },
    },
    { describe, test, afterAll },
  );
});
