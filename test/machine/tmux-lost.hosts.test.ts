import { describe, expect, test } from "vitest";
import { ssh } from "../../src/machine/ssh/ssh.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import { mustBeHere } from "../support/here.ts";
import { sshServer, sshdProblem } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { within } from "./elsewhere.ts";
import { sh, textOf, tmuxProblem } from "./tmux-server.ts";

const problem = tmuxProblem() ?? sshdProblem();
mustBeHere("tmux on a host over SSH", problem);

describe.skipIf(problem !== undefined)("a terminal on a host to which the connection is lost", () => {
  test("the session survives and is found again; the call is reported as lost, the next one works", async () => {
    const server = await sshServer();
    const inner = await ssh({
      target: server.target,
      configFile: server.configFile,
      outputFolder: temporaryFolder(),
    });
    const backend = await tmux(inner);
    expect(await sh(backend, "echo before")).toBe("before\n (0)");
    const script = 'echo ready; read -r answer; echo "$answer" >"$HOME/answered"; sleep 1000';
    const process = await backend.spawn({ argv: ["sh", "-c", script], stdin: "terminal" });
    await process.output.grown(0);
    const pane = process.place?.replace("pane ", "") ?? "";

    await server.killConnections();
    const exit = await within("the loss is told", process.exit);
    expect(exit.how).toBe("lost");
    expect(exit.how === "lost" && exit.reason).toContain(`it may continue in pane ${pane}`);
    expect(await textOf(process)).toBe("ready\n");

    const next = await within("the next command", backend.spawn({ argv: ["echo", "after"] }));
    expect(await next.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(next)).toBe("after\n");
    expect(backend.notices?.().join("\n")).toMatch(/connection .* lost/);
    expect(next.place).not.toBe(process.place);

    // It still waits in its pane, where people can continue with it.
    const seen = await backend.terminal?.capture({ target: pane });
    expect(seen?.text).toMatch(/ready$/m);
    await backend.terminal?.sendKeys({ target: pane, text: "still here", enter: true });
    await until("it has been answered", async () =>
      (await server.exec('cat "$HOME/answered"')).stdout.toString().includes("still here"),
    );
    await backend.terminal?.sendKeys({ target: pane, keys: ["C-c"] });
    await backend.close();

    const later = await tmux(
      await ssh({ target: server.target, configFile: server.configFile, outputFolder: temporaryFolder() }),
    );
    const again = await later.spawn({ argv: ["true"] });
    expect([process.place, next.place]).toContain(again.place);
    await again.exit;
    await later.close();
  });
});
