// The command that people are told to type really attaches to the terminal: over SSH with its own configuration, and in
// a container as the session's user.
import { describe, expect, test } from "vitest";
import { container } from "../../src/machine/container/container.ts";
import { ssh } from "../../src/machine/ssh/ssh.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { sshServer, sshdProblem } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { joinIn, sh, tmuxProblem } from "./tmux-server.ts";

const sshProblem = tmuxProblem() ?? sshdProblem();
mustBeHere("joining in over SSH", sshProblem);
const dockerProblem = engineProblem("docker");
mustBeHere("joining in in a container", dockerProblem);

/** A person types the command, and sees the terminal. */
async function joinsIn(backend: Backend): Promise<void> {
  await sh(backend, "echo seen-by-$((40 + 2))");
  const person = joinIn(backend);
  try {
    await person.sees("seen-by-42");
    person.types("echo typed-by-a-person\n");
    await until("it is typed", async () =>
      /^typed-by-a-person$/m.test((await backend.terminal?.capture())?.text ?? ""),
    );
  } finally {
    person.leaves();
    await backend.close();
  }
}

test.skipIf(sshProblem !== undefined)("over SSH with a configuration file", async () => {
  const { target, configFile } = await sshServer();
  const inner = await ssh({ target, configFile, outputFolder: temporaryFolder() });
  expect(inner.access?.options).toEqual(["--ssh", target]);
  await joinsIn(await tmux(inner));
});

describe.skipIf(dockerProblem !== undefined)("in a container", () => {
  test("as its own user", async () => {
    const { name } = await sharedContainer("docker", { user: "dev" })();
    const inner = await container({ container: `docker:${name}`, outputFolder: temporaryFolder() });
    expect(inner.access?.options).toEqual(["--container", `docker:${name}`]);
    await joinsIn(await tmux(inner));
  });
});
