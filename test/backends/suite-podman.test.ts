import { afterAll, describe, test } from "vitest";
import { container } from "../../src/backends/container/container.ts";
import { backendSuite } from "../../src/testing/index.ts";
import { container as testContainer } from "../support/containers.ts";
import { engineProblem, podmanEngine } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";

const problem = engineProblem("podman");
mustBeHere("podman", problem);

describe.skipIf(problem !== undefined).each([
  ["a system with bash and the programs of a busybox", "bash"],
  ["nothing but a busybox", "busybox"],
] as const)("a container of podman, in it %s", (_, image) => {
  const outputFolder = temporaryFolder();
  let started: ReturnType<typeof start> | undefined;
  const start = async () => {
    const engine = await podmanEngine();
    Object.assign(process.env, engine.env);
    return testContainer(engine, { image, user: "dev" });
  };

  backendSuite(
    {
      name: `podman (${image})`,
      async open() {
        const { name } = await (started ??= start());
        return container({ container: `podman:${name}`, outputFolder });
      },
      signals: "code",
      detached: true,
    },
    { describe, test, afterAll },
  );
});
