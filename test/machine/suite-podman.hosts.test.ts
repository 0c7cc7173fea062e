import { afterAll, describe, test } from "vitest";
import { container } from "../../src/machine/container/container.ts";
import { backendSuite } from "../suites/index.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { smoke } from "./smoke.ts";

const problem = engineProblem("podman");
mustBeHere("podman", problem);

describe.skipIf(problem !== undefined).each([
  // Docker's container has the same system and passes the whole suite.
  ["a system with bash and the programs of a busybox", "bash", smoke({ describe, test, afterAll })],
  ["nothing but a busybox", "busybox", { describe, test, afterAll }],
] as const)("a container of podman, in it %s", (_, image, runner) => {
  const outputFolder = temporaryFolder();
  const started = sharedContainer("podman", { image, user: "dev" });

  backendSuite(
    {
      name: `podman (${image})`,
      async open() {
        const { name } = await started();
        return container({ container: `podman:${name}`, outputFolder });
      },
      signals: "code",
      detached: true,
    },
    runner,
  );
});
