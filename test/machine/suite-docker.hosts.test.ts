import { afterAll, describe, test } from "vitest";
import { container } from "../../src/machine/container/container.ts";
import { backendSuite } from "../suites/index.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";

const problem = engineProblem("docker");
mustBeHere("docker", problem);

describe.skipIf(problem !== undefined)("a container of docker", () => {
  const outputFolder = temporaryFolder();
  const started = sharedContainer("docker", { user: "dev" });

  backendSuite(
    {
      name: "docker",
      async open() {
        const { name } = await started();
        return container({ container: `docker:${name}`, outputFolder });
      },
      signals: "code",
      detached: true,
    },
    { describe, test, afterAll },
  );
});
