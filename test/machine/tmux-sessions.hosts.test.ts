// An sshd limits sessions per connection (MaxSessions). A shared terminal holds some permanently, and each command
// takes one, or two with stdin.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ssh } from "../../src/machine/ssh/ssh.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import type { Backend, Exit } from "../../src/core/contract/backend.ts";
import { mustBeHere } from "../support/here.ts";
import { type SshServer, sshServer, sshdProblem } from "../support/sshd.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { within } from "./elsewhere.ts";
import { textOf, tmuxProblem } from "./tmux-server.ts";

const problem = tmuxProblem() ?? sshdProblem();
mustBeHere("tmux on a host over SSH that grants few sessions", problem);

/** The maximum duration of everything that a test starts at once, in milliseconds. */
const BOUND_MS = 60_000;

/** Opens a terminal on the host, and closes it after the work in any case. */
async function onTerminal<T>({ target, configFile }: SshServer, work: (backend: Backend) => Promise<T>): Promise<T> {
  const backend = await tmux(await ssh({ target, configFile, outputFolder: temporaryFolder() }));
  try {
    return await work(backend);
  } finally {
    await within("closing", backend.close());
  }
}

/** Output of a command that copies its stdin. */
async function copied(backend: Backend, text: string): Promise<string> {
  const process = await backend.spawn({ argv: ["cat"], stdin: "pipe" });
  await process.write(text);
  await process.endInput();
  return `${await textOf(await over(process))} ${JSON.stringify(await process.exit)}`;
}

async function over<T extends { readonly exit: Promise<Exit> }>(process: T): Promise<T> {
  await process.exit;
  return process;
}

const EXITED = JSON.stringify({ how: "exited", code: 0 });

describe.skipIf(problem !== undefined)("a shared terminal on a host that grants few sessions", () => {
  test.each([10, 4, 2])(
    "MaxSessions %i: concurrent commands with and without stdin have their own complete output",
    async (most) => {
      const server = await sshServer({ config: [`MaxSessions ${most}`] });
      await onTerminal(server, async (backend) => {
        const numbers = Array.from({ length: 5 }, (_, index) => index);
        const all = await within(
          "all of them",
          Promise.all(
            numbers.flatMap((number) => [
              backend
                .spawn({ argv: ["sh", "-c", `seq 2000; echo ${number}`] })
                .then(over)
                .then(textOf),
              copied(backend, `for ${number}\n`),
            ]),
          ),
          BOUND_MS,
        );
        const counted = Array.from({ length: 2_000 }, (_, index) => `${index + 1}\n`).join("");
        expect(all).toEqual(numbers.flatMap((number) => [`${counted}${number}\n`, `for ${number}\n ${EXITED}`]));
      });
    },
    2 * BOUND_MS,
  );

  test(
    "jobs that wait for input hold two sessions each, and another command starts all the same",
    async () => {
      const server = await sshServer({ config: ["MaxSessions 4"] });
      await onTerminal(server, async (backend) => {
        const jobs = await within(
          "starting",
          Promise.all(
            Array.from({ length: 9 }, () => backend.spawn({ argv: ["cat"], stdin: "pipe", lifetime: "toolkit" })),
          ),
          BOUND_MS,
        );
        const beside = await within("a command beside them", backend.spawn({ argv: ["echo", "beside"] }), BOUND_MS);
        expect(await textOf(await over(beside))).toBe("beside\n");
        for (const [index, job] of jobs.entries()) {
          await job.write(`job ${index}\n`);
          await job.endInput();
        }
        const texts = await within("their ends", Promise.all(jobs.map(over)), BOUND_MS);
        expect(await Promise.all(texts.map(textOf))).toEqual(jobs.map((_, index) => `job ${index}\n`));
      });
    },
    4 * BOUND_MS,
  );

  test(
    "when the host accepts no further connections, commands wait or report why they cannot start",
    async () => {
      const server = await sshServer({ config: ["MaxSessions 5"] });
      await onTerminal(server, async (backend) => {
        const first = await backend.spawn({ argv: ["echo", "first"] });
        expect(await textOf(await over(first))).toBe("first\n");
        writeFileSync(join(server.home, ".ssh", "authorized_keys"), "");
        const texts = await within(
          "commands that take turns",
          Promise.all(
            Array.from({ length: 6 }, async (_, index) =>
              textOf(await over(await backend.spawn({ argv: ["echo", `${index}`] }))),
            ),
          ),
          BOUND_MS,
        );
        expect(texts).toEqual(["0\n", "1\n", "2\n", "3\n", "4\n", "5\n"]);
        // Each has one session and waits for another: one must give up.
        const fed = await within(
          "commands that hold each other up",
          Promise.allSettled(Array.from({ length: 4 }, (_, index) => copied(backend, `${index}`))),
          2 * BOUND_MS,
        );
        for (const [index, each] of fed.entries()) {
          if (each.status === "fulfilled") expect(each.value).toBe(`${index} ${EXITED}`);
          else
            expect(String(each.reason)).toMatch(
              /handrail-test-host takes no more work: \d+ commands .*; handrail-test-host denied the login/,
            );
        }
        expect(await textOf(await over(await backend.spawn({ argv: ["echo", "last"] })))).toBe("last\n");
      });
    },
    5 * BOUND_MS,
  );
});
