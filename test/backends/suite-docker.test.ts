import { afterAll, describe, test } from "vitest";
import { container } from "../../src/backends/container/container.ts";
import { backendSuite } from "../../src/testing/index.ts";
import { container as testContainer } from "../support/containers.ts";
import { dockerEngine, engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";

const problem = engineProblem("docker");
mustBeHere("docker", problem);

describe.skipIf(problem !== undefined)("a container of docker", () => {
  const outputFolder = temporaryFolder();
  let started: ReturnType<typeof start> | undefined;
  const start = async () => {
    const engine = await dockerEngine();
    Object.assign(process.env, engine.env);
    return testContainer(engine, { user: "dev" });
  };

  backendSuite(
    {
      name: "docker",
      async open() {
        const { name } = await (started ??= start());
        return container({ container: name, engine: "docker", outputFolder });
      },
      signals: "code",
      detached: true,
    },
    { describe, test, afterAll },
  );
});
