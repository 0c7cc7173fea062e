import { existsSync } from "node:fs";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { page, writtenOutside } from "../../src/cli/chat/away.ts";
import { sendNotice } from "../../src/serve/notify.ts";
import { keepProgramsOutOf } from "../../src/machine/programs/places.ts";
import { startChromium } from "../../src/tools/web/browser/chromium.ts";
import { quoteWords } from "../../src/core/util/quote.ts";
import { bubblewrapProblem } from "../machine/sandbox/contained.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type CommandLine, PROGRAM, commandLine, ioHere } from "./program.ts";

const PATH = process.env["PATH"] ?? "";
const PROGRAMS = [
  "git",
  "rg",
  "bash",
  "sh",
  "ssh",
  "docker",
  "podman",
  "tmux",
  "ps",
  "mkfifo",
  "cat",
  "dd",
  "ls",
  "wc",
  "sleep",
];

/** A project whose `node_modules/.bin` is first in PATH, as npm puts it. What is planted there leaves a mark. */
async function project() {
  const line = await commandLine({ "a.txt": "one\n" });
  const [bin, marks] = [join(line.folder, "node_modules/.bin"), temporaryFolder()];
  const planted = (name: string) => `#!/bin/sh\ntouch ${join(marks, name)}\n`;
  await mkdir(bin, { recursive: true });
  return {
    line,
    bin,
    planted,
    plant: async (names: readonly string[] = PROGRAMS) => {
      for (const name of names) await writeFile(join(bin, name), planted(name), { mode: 0o755 });
    },
    /** Runs it as a process of its own: what its PATH leads to is the point. */
    run: (args: readonly string[], path = `${bin}:${PATH}`) =>
      line.shell(`export PATH=${quoteWords([path])}; handrail ${quoteWords(args)}`),
    ran: () => PROGRAMS.filter((name) => existsSync(join(marks, name))),
  };
}

const bash = (command: string) => ["call", "bash", JSON.stringify({ command })];

test("a current folder that was removed is a sentence, not a stack", async () => {
  const line = await commandLine();
  const { stderr, code } = await line.shell(`cd ${quoteWords([temporaryFolder()])} && rmdir "$PWD" && handrail tools`);
  expect(stderr).toBe(
    "handrail: the current folder does not exist any more: it was removed. Change to another one: cd\n",
  );
  expect(code).toBe(1);
});

describe("what a tool wrote into node_modules/.bin, first in PATH, is not started outside the sandbox", () => {
  test.for([["--sandbox", "on"], []].map((options) => [options.join(" ") || "by default", options] as const))(
    "by undo after a command wrote git there, %s",
    async ([, options], { skip }) => {
      const problem = bubblewrapProblem();
      if (problem !== undefined) skip(problem);
      const { bin, planted, run, ran } = await project();
      const text = JSON.stringify(planted("git"));
      const wrote = await run([
        ...bash(`printf ${text} > node_modules/.bin/git; chmod +x node_modules/.bin/git`),
        ...options,
      ]);
      expect(wrote).toMatchObject({ code: 0, stderr: "" });
      expect(existsSync(join(bin, "git"))).toBe(true);
      expect((await run([...bash("echo two > a.txt"), ...options])).code).toBe(0);
      expect((await run(["undo", "--yes"])).stdout).toContain("restored");
      expect(ran()).toEqual([]);
    },
  );

  test("by doctor", async () => {
    const { plant, run, ran } = await project();
    await plant();
    expect((await run(["doctor"])).stdout).toMatch(/^ok +git +git version .*\/git\)$/m);
    expect(ran()).toEqual([]);
  });

  test("by commands and searches with --sandbox off", async () => {
    const { plant, run, ran } = await project();
    await plant();
    expect((await run([...bash("echo $((20 + 3))"), "--sandbox", "off", "--yes"])).stdout).toContain("23");
    expect(
      (await run(["call", "grep", `{"pattern":"one"}`, "--preset", "workspace", "--sandbox", "off"])).stdout,
    ).toContain("a.txt");
    expect(ran()).toEqual([]);
  });
});

describe("a program that is only where tools can write is refused with its name and the folder", () => {
  const only = (name: string, folder: string) => `${name} is only in ${folder}, where tools can write`;

  test("bash of a command with --sandbox off", async () => {
    const { bin, plant, run, ran } = await project();
    await plant(["bash"]);
    const { stdout, stderr } = await run([...bash("echo hi"), "--sandbox", "off", "--yes"], bin);
    expect(stdout + stderr).toContain(only("bash", bin));
    expect(ran()).toEqual([]);
  });

  test.for([
    ["git", /^missing +git +(.*)$/m],
    ["tmux", /^missing +tmux +(.*)$/m],
    ["ssh", /^missing +ssh +(.*)$/m],
    ["docker", /^missing +containers +(.*)$/m],
  ] as const)("%s in doctor", async ([name, row]) => {
    const { bin, plant, run, ran } = await project();
    await plant([name]);
    const { stdout } = await run(["doctor"], bin);
    expect(row.exec(stdout)?.[1]).toContain(only(name, bin));
    expect(ran()).toEqual([]);
  });

  describe("that a person's settings name:", () => {
    let end = () => {};

    afterEach(() => {
      end();
    });

    async function opened(
      name: string,
    ): Promise<{ readonly line: CommandLine; readonly file: string; ran(): readonly string[] }> {
      const { line, bin, plant, ran } = await project();
      await plant([name]);
      end = keepProgramsOutOf(() => [line.folder]);
      return { line, file: join(bin, name), ran };
    }

    test("the editor", async () => {
      const { line, file, ran } = await opened("git");
      const { io } = ioHere({ env: { ...process.env, VISUAL: `'${file}' --wait` } });
      await expect(writtenOutside(io, "text")).rejects.toThrow(only(file, line.folder));
      expect(ran()).toEqual([]);
    });

    test("the pager", async () => {
      const { file, ran } = await opened("git");
      const { io } = ioHere({ env: { ...process.env, PATH: join(file, ".."), PAGER: "git -R" } });
      await expect(page(io, "text")).rejects.toThrow(only("git", join(file, "..")));
      expect(ran()).toEqual([]);
    });

    test("the program that notifies", async () => {
      const { line, file, ran } = await opened("git");
      const failures: string[] = [];
      const notice = { id: "n", kind: "question", title: "t", text: "x" };
      await sendNotice(notice as never, { program: [file], onFailure: (text) => failures.push(text) });
      expect(failures.join()).toContain(only(file, line.folder));
      expect(ran()).toEqual([]);
    });

    test("the browser", async () => {
      const { line, file, ran } = await opened("git");
      await expect(startChromium({ executablePath: file }, [], temporaryFolder())).rejects.toThrow(
        `browser.executable_path: ${only(file, line.folder)}`,
      );
      expect(ran()).toEqual([]);
    });
  });
});

describe("the code of the running Handrail, in a workspace,", () => {
  test.each([
    ["that installed it", "node_modules/handrail"],
    ["that is its clone", "."],
  ])("%s, is changed neither by a command nor by a file tool; sources are", async (_, at) => {
    const problem = bubblewrapProblem();
    const line = await commandLine({ [join(at, "src/a.ts")]: "one\n" });
    const [from, to] = [dirname(dirname(PROGRAM)), join(line.folder, at)];
    for (const name of ["package.json", "dist/cli.js", "dist/spawner.js", "dist/bridge.js", "dist/chunks"])
      await cp(join(from, name), join(to, name), { recursive: true });
    await mkdir(join(to, "node_modules/@vscode"), { recursive: true });
    for (const name of ["libsql", "@vscode/ripgrep"])
      await symlink(join(from, "node_modules", name), join(to, "node_modules", name));
    const file = join(at, "dist/spawner.js");
    const before = await readFile(join(to, "dist/spawner.js"), "utf8");
    const run = (tool: string, input: object, ...options: readonly string[]) =>
      line.shell(
        quoteWords([process.execPath, join(to, "dist/cli.js"), "call", tool, JSON.stringify(input), ...options]),
      );

    const wrote = await run("write", { path: file, content: "changed" }, "--yes");
    expect(wrote.stdout).toContain("it holds the code of the running Handrail");
    const source = await run("write", { path: join(at, "src/b.ts"), content: "two" });
    expect(source).toMatchObject({ code: at === "." ? 0 : 1 });
    if (problem === undefined) {
      const command = `echo x >>${file}; mv ${at}/dist d; mv ${join(at, "..")}/* .; rm -rf ${at}/dist; echo x >>${at}/src/a.ts`;
      await run("bash", { command }, "--sandbox", "on");
    }
    expect(await readFile(join(to, "dist/spawner.js"), "utf8")).toBe(before);
  });
});
