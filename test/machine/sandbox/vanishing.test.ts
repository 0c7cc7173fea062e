// What a sandbox is set up from may disappear meanwhile: a socket of another program that exists only for a moment.
// Nothing has run then, so it is set up again.
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { type Server, createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { randomName } from "../../../src/core/util/identifier.ts";
import { mustBeHere } from "../../support/here.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";
import { bubblewrapProblem } from "./contained.ts";

const problem = bubblewrapProblem();
mustBeHere("the sandbox", problem);

test.skipIf(problem !== undefined)(
  "commands run while sockets appear and disappear around them",
  async () => {
    const folder = join(homedir(), `.handrail-test-${randomName(8)}`);
    mkdirSync(folder);
    const toolkit = await toolkitWith({ workDir: await workspace(), preset: "coding", sandbox: "on" });
    const bash = () => toolkit.call({ name: "bash", input: { command: "echo ran" } });
    const before = performance.now();
    await bash();
    const moment = Math.max(80, performance.now() - before);
    let isOver = false;
    const changing = (async () => {
      for (let count = 0; !isOver; count++) await briefly(join(folder, String(count % 5)), moment);
    })();
    try {
      for (let count = 0; count < 20; count++) {
        expect(await bash()).toMatchObject({
          status: "ok",
          data: { output: "ran\n" },
        });
      }
    } finally {
      isOver = true;
      await changing;
      await rm(folder, { recursive: true });
    }
  },
  60_000,
);

/** A server that listens for this many milliseconds: longer than the set-up of a sandbox. */
async function briefly(path: string, moment: number): Promise<void> {
  const server: Server = createServer();
  server.listen(path);
  await once(server, "listening");
  await new Promise((resolve) => setTimeout(resolve, moment));
  server.close();
  await once(server, "close");
}
