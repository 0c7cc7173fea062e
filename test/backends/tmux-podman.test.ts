import { afterAll, describe, test } from "vitest";
import { container } from "../../src/backends/container/container.ts";
import { tmux } from "../../src/backends/tmux/tmux.ts";
import { terminalSuite } from "../../src/testing/index.ts";
import { container as testContainer } from "../support/containers.ts";
import { engineProblem, podmanEngine } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";

const problem = engineProblem("podman");
mustBeHere("podman", problem);

describe.skipIf(problem !== undefined)("tmux in a container of podman", () => {
  const outputFolder = temporaryFolder();
  let started: ReturnType<typeof start> | undefined;
  const start = async () => {
    const engine = await podmanEngine();
    Object.assign(process.env, engine.env);
    return testContainer(engine, { user: "dev" });
  };

  terminalSuite(
    {
      name: "the terminal of tmux(podman)",
      async open() {
        const { name } = await (started ??= start());
        return tmux(await container({ container: `podman:${name}`, outputFolder }), { session: "terminal" });
      },
    },
    { describe, test, afterAll },
  );
});
