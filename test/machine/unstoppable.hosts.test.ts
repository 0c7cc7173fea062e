// A process that an ordinary user cannot end, because it has become root's (`sudo`), delays no call: it is reported as
// lost, and as possibly still running.
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ssh } from "../../src/machine/ssh/ssh.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import type { Backend, Exit } from "../../src/core/contract/backend.ts";
import { quoteWords } from "../../src/core/util/quote.ts";
import { becoming, becomingProblem } from "../support/becoming.ts";
import { mustBeHere } from "../support/here.ts";
import { sshServer, sshdProblem } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { SECOND_USER, openSite } from "./sandbox/escapes.ts";
import { within } from "./elsewhere.ts";
import { tmuxProblem } from "./tmux-server.ts";

const problem = becomingProblem();
mustBeHere("a program that becomes root", problem);

const LOST: Exit = { how: "lost", reason: expect.stringMatching(/^it could not be stopped/) as string };

/** Creates a folder to which any user can write a number. */
function notes(): string {
  const folder = temporaryFolder();
  chmodSync(folder, 0o777);
  return folder;
}

describe.skipIf(problem !== undefined)("a command that has become root's", () => {
  describe("on this machine", () => {
    test.each([
      ["as the command itself", "exec COMMAND"],
      ["as a child of it", "COMMAND; echo never"],
      ["in a pipe", "COMMAND | cat"],
    ])("is lost when its time is over: %s", async (_, script) => {
      const site = openSite(SECOND_USER, false);
      const one = becoming(site.root);
      const file = join(notes(), "number");
      const running = site.run(
        script.replace("COMMAND", () => quoteWords(one.argv(file))),
        { timeout: 1 },
      );
      try {
        const { status, text } = await within("its end", running);
        expect(status).toBe("failed");
        expect(text).toMatch(/the exit status of the command is unknown: it could not be stopped.* \(sudo\)/);
        expect((await site.run("echo next")).text).toBe("next\n");
        await within("closing, which waits for nobody", site.close());
      } finally {
        await one.end(file);
        await site.close();
      }
    });
  });

  test("a detached command on this machine is reported as still running", async () => {
    const site = openSite(SECOND_USER, false);
    const one = becoming(site.root);
    const file = join(notes(), "number");
    try {
      const { text } = await site.run(`exec ${quoteWords(one.argv(file))}`, {
        background: true,
        detached: true,
        timeout: undefined,
      });
      const [, id = ""] = /^Job (\S+) was started, detached/.exec(text) ?? [];
      await until("it has become root", () => existsSync(file));
      const cli = quoteWords([process.execPath, join(site.root, "library/dist/cli.js")]);
      expect(site.person(`${cli} jobs kill ${id}`)).toMatch(new RegExp(`${id} did not end: .*it could not be stopped`));
      expect(site.person(`${cli} jobs`)).toMatch(new RegExp(`${id}.*runn`));
    } finally {
      await one.end(file);
      await site.close();
    }
  });

  const sshProblem = sshdProblem();
  mustBeHere("what nothing can end over SSH", sshProblem);
  describe.skipIf(sshProblem !== undefined)("over SSH", () => {
    const opened = async () => {
      const { target, configFile, home } = await sshServer();
      const backend = await ssh({ target, configFile, outputFolder: temporaryFolder() });
      return { backend, one: becoming(home), file: join(notes(), "number") };
    };
    const works = async (backend: Backend) => {
      const next = await backend.spawn({ argv: ["true"] });
      expect(await within("the next command", next.exit)).toEqual({ how: "exited", code: 0 });
      await within("closing", backend.close());
    };

    test.each([
      ["a command", "call"],
      ["a job", "toolkit"],
    ] as const)("%s is lost when its time is over", async (_, lifetime) => {
      const { backend, one, file } = await opened();
      const child = await backend.spawn({ argv: one.argv(file), timeoutMs: 1_000, lifetime });
      try {
        expect(await within("its end", child.exit)).toEqual(LOST);
        await works(backend);
      } finally {
        await one.end(file);
      }
    });

    test("a detached command is reported as still running", async () => {
      const { backend, one, file } = await opened();
      const child = await backend.spawn({ argv: one.argv(file), lifetime: "detached", label: "becoming" });
      try {
        await within("the stop", child.kill());
        expect(await child.exit).toEqual(LOST);
        expect((await backend.detached?.list())?.map(({ ended }) => ended)).toEqual([undefined]);
        await works(backend);
      } finally {
        await one.end(file);
      }
    });

    test.skipIf(tmuxProblem() !== undefined)("a command in a pane is lost, and says which pane", async () => {
      const { backend: inner, one, file } = await opened();
      const backend = await tmux(inner);
      const child = await backend.spawn({ argv: one.argv(file), timeoutMs: 1_000 });
      try {
        const exit = await within("its end", child.exit);
        expect(exit).toEqual(LOST);
        expect(exit.how === "lost" && exit.reason).toMatch(/in pane %\d+$/);
        await works(backend);
      } finally {
        await one.end(file);
      }
    });
  });
});
