import { afterAll, describe, test } from "vitest";
import { backendSuite } from "../../src/testing/index.ts";
import { mustBeHere } from "../support/here.ts";
import { testServer, tmuxProblem } from "./tmux-server.ts";

mustBeHere("tmux", tmuxProblem());

describe.skipIf(tmuxProblem() !== undefined)("tmux", () => {
  const server = testServer();
  backendSuite(
    { name: "tmux(local)", open: () => server.open(), signals: "code", detached: true },
    { describe, test, afterAll },
  );
});
