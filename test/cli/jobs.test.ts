import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive, until } from "../support/until.ts";
import { type CommandLine, commandLine } from "./program.ts";

/** Starts a detached command; resolves to its id. */
/** A process id inside a sandbox is invalid outside. */
const HERE = ["--sandbox", "off"];

async function detached({ here }: Pick<CommandLine, "here">, command: string): Promise<string> {
  const { code, stdout } = await here(["call", "bash", JSON.stringify({ command, detached: true }), "--yes", ...HERE]);
  expect(code).toBe(0);
  return /^Job (\w+) was started, detached/.exec(stdout)?.[1] ?? "";
}

describe("handrail call", () => {
  test("refuses a job that would end with it, and says what to do", async () => {
    const { here, folder } = await commandLine();
    const { code, stdout } = await here(["call", "bash", '{"command":"touch ran","background":true}', "--yes"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^Tool error: a job of this command would end with the one call that it makes\nStart it with "detached": true /,
    );
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });
});

describe("handrail jobs", () => {
  test("reports that there are none", async () => {
    const { here } = await commandLine();
    expect(await here(["jobs"])).toMatchObject({ code: 0, stdout: "(no detached jobs)\n" });
  });

  test("shows a command that outlived its session, its output, and how it ended", async () => {
    const cli = await commandLine();
    const { here, folder } = cli;
    const id = await detached(
      { here: (args) => cli.run(args) },
      "echo begun; until [ -e go ]; do sleep 0.02; done; echo done; exit 4",
    );
    expect((await here(["jobs"])).stdout).toMatch(
      new RegExp(`^${id}  running for \\d+ s, \\d+B of output  echo begun; until`),
    );
    await until("it has begun", async () => (await here(["jobs", "output", id])).stdout === "begun\n");
    const following = cli.startHere(["jobs", "output", id, "--follow"]);
    await until("what is there is shown", () => following.stdout() === "begun\n");
    await writeFile(join(folder, "go"), "");
    expect(await following.ended).toMatchObject({ code: 0, stdout: "begun\ndone\n" });
    await until("its end is told", async () =>
      (await here(["jobs", "list"])).stdout.startsWith(`${id}  Exit code 4, 11B`),
    );
    expect(await here(["jobs", "remove", id])).toMatchObject({ code: 0, stdout: `${id} is removed\n` });
    expect((await here(["jobs"])).stdout).toBe("(no detached jobs)\n");
  });

  test("stops a job with all its processes, and does not remove a running one", async () => {
    const cli = await commandLine();
    const id = await detached(cli, "setsid sleep 600 & echo $! >pid; sleep 600");
    const file = join(cli.folder, "pid");
    await until("its child runs", () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
    const pid = Number(readFileSync(file, "utf8"));
    expect(await cli.here(["jobs", "remove", id])).toMatchObject({
      code: 2,
      stderr: `handrail: ${id} still runs. Stop it first.\n`,
    });
    expect(await isAlive(pid)).toBe(true);
    expect(await cli.here(["jobs", "kill", id])).toMatchObject({ code: 0, stdout: `${id} has ended\n` });
    await until("its child has ended too", async () => !(await isAlive(pid)));
    expect((await cli.here(["jobs"])).stdout).toMatch(new RegExp(`^${id}  Killed by SIGTERM`));
  });

  test("an unknown id is reported, with the known ones", async () => {
    const cli = await commandLine();
    expect(await cli.here(["jobs", "kill", "nosuchid"])).toMatchObject({
      code: 2,
      stderr: "handrail: there is no job nosuchid. There are no detached ones.\n",
    });
    const id = await detached(cli, "true");
    expect((await cli.here(["jobs", "output", "nosuchid"])).stderr).toBe(
      `handrail: there is no job nosuchid. Detached: ${id}.\n`,
    );
  });
});
