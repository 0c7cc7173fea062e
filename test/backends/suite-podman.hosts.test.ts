import { afterAll, describe, test } from "vitest";
import { container } from "../../src/backends/container/container.ts";
import { backendSuite } from "../../src/testing/index.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";

const problem = engineProblem("podman");
mustBeHere("podman", problem);

describe.skipIf(problem !== undefined).each([
  ["a system with bash and the programs of a busybox", "bash"],
  ["nothing but a busybox", "busybox"],
] as const)("a container of podman, in it %s", (_, image) => {
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
    { describe, test, afterAll },
  );
});
