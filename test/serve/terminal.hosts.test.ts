import { expect, test } from "vitest";
import { mustBeHere, programProblem } from "../support/here.ts";
import { eventsOf, receive, served } from "./served.ts";

const problem = programProblem("tmux");
mustBeHere("tmux", problem);

test.skipIf(problem !== undefined)("a person watches the terminal and types into it, as a recorded call", async () => {
  const api = await served({ terminal: true });
  await api.toolkit.call({ name: "bash", input: { command: "true" } });
  const screens = await api.ask("GET", "/api/terminal");
  const typed = api.json<{ call: string }>("POST", "/api/terminal/keys", {
    ...{ thread: "typed", text: "echo $((40 + 2))", keys: ["Enter"] },
  });
  const shown = await receive(screens, ({ data }) => /^42$/m.test(String(data["text"])));
  expect(shown.length).toBeGreaterThan(0);
  const { call } = await typed;
  expect((await eventsOf(api, call))[0]).toMatchObject({ thread: "typed", name: "send-keys" });
});

test("without a terminal the answer says how to get one", async () => {
  const api = await served();
  const answer = await api.ask("POST", "/api/terminal/keys", { thread: "typed", text: "ls" });
  expect([answer.status, await answer.json()]).toMatchObject([404, { detail: expect.stringContaining("--tmux") }]);
});
