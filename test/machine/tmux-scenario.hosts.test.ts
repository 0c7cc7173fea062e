import { describe, expect, test } from "vitest";
import { container } from "../../src/machine/container/container.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { handsOn } from "./elsewhere.ts";
import { joinIn } from "./tmux-server.ts";

const problem = engineProblem("docker");
mustBeHere("docker", problem);

describe.skipIf(problem !== undefined)("an agent and a person in a terminal of a container", () => {
  test("a web server is started, watched by the person, asked for a page, and stopped by Ctrl-C", async () => {
    const { name } = await sharedContainer("docker", { user: "dev" })();
    const backend = await tmux(await container({ container: `docker:${name}`, outputFolder: temporaryFolder() }));
    const { call } = await handsOn(backend, {
      preset: "operator",
      policy: { autonomy: "full", blockHighRiskCommands: false },
    });
    expect(await call("run_shell", { command: "mkdir site; echo '<h1>It works</h1>' >site/index.html" })).toContain(
      "exit code: 0",
    );

    const { sees, leaves } = joinIn(backend);
    try {
      await sees("mkdir site");
      const serving = await call("run_shell", { command: "busybox httpd -f -v -p 8080 -h site", wait: false });
      const [, pane = ""] = /tmux pane (%\d+)/.exec(serving) ?? [];
      await sees("httpd -f -v -p 8080");

      const fetching = "n=0; until wget -qO- http://127.0.0.1:8080/ || [ $n -gt 50 ]; do n=$((n + 1)); sleep 0.1; done";
      expect(await call("run_shell", { command: fetching })).toContain("stdout:\n<h1>It works</h1>");
      await until("the server tells of it", async () => /200/.test(await call("capture-pane", { target: pane })));

      expect(await call("send-keys", { target: pane, keys: ["C-c"] })).toBe(`sent keys to tmux pane ${pane}`);
      await sees("^C");
      const refused = await call("run_shell", { command: "wget -qO- http://127.0.0.1:8080/ 2>&1; echo $?" });
      expect(refused).toMatch(/refused/);
    } finally {
      leaves();
    }
  });
});
