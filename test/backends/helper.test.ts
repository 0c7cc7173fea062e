import { execFile, execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { local } from "../../src/backends/local/backend.ts";
import type { Backend, Process } from "../../src/contract/backend.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder, workspace } from "../support/workspace.ts";

const backends: Backend[] = [];

afterEach(() => vi.unstubAllEnvs());
afterAll(() => Promise.all(backends.map((backend) => backend.close())));

async function backendOn(files: { readonly [path: string]: string } = {}): Promise<Backend> {
  const workDir = await workspace(files);
  const backend = await local({ workDir, home: temporaryFolder(), outputFolder: temporaryFolder() });
  backends.push(backend);
  return backend;
}

async function written({ exit, output, errors }: Process) {
  const how = await exit;
  const text = async (log: typeof output | undefined) => Buffer.from((await log?.read(0, 10_000)) ?? []).toString();
  return { how, output: await text(output), errors: await text(errors) };
}

describe("a helper", () => {
  test("ripgrep searches the paths it is given, whatever they are called; what it complains about is apart", async () => {
    const { workDir, helper } = await backendOn({ "-e": "needle\n", "--": "needle\n", "a.txt": "none\n" });
    const paths = ["-e", "--", "a.txt", "missing"].map((name) => join(workDir, name));
    const child = await helper("rg", ["--no-config", "--sort=path", "--count", "needle"], { paths });
    expect(await written(child)).toEqual({
      how: { how: "exited", code: 2 },
      output: `${workDir}/-e:1\n${workDir}/--:1\n`,
      errors: expect.stringMatching(/^rg: .*\/missing: .*No such file or directory/),
    });
  });

  test("a relative path is one too, and never an option", async () => {
    const { helper } = await backendOn({ "--files": "needle\n" });
    expect(await written(await helper("rg", ["--no-config", "needle"], { paths: ["--files"] }))).toMatchObject({
      output: "needle\n",
      errors: "",
    });
  });

  test("without paths ripgrep reads its stdin, not the folder it stands in", async () => {
    const { helper } = await backendOn({ "a.txt": "needle in a file\n" });
    const child = await helper("rg", ["--no-config", "--line-number", "needle"], { paths: [] });
    await child.write("hay\nneedle in stdin\n");
    await child.write("more");
    await child.endInput();
    expect(await written(child)).toEqual({
      how: { how: "exited", code: 0 },
      output: "2:needle in stdin\n",
      errors: "",
    });
  });

  test("with paths its stdin is closed", async () => {
    const { workDir, helper } = await backendOn();
    const child = await helper("rg", ["--no-config", "--files"], { paths: [workDir] });
    await expect(child.write("x")).rejects.toThrow("this process has no stdin");
  });

  test("find walks the paths it is given", async () => {
    const { workDir, helper } = await backendOn({ "a/b.txt": "", "c.txt": "" });
    const child = await helper("find", ["-name", "*.txt", "-print0"], { paths: [join(workDir, "a")] });
    expect(await written(child)).toEqual({
      how: { how: "exited", code: 0 },
      output: `${workDir}/a/b.txt\0`,
      errors: "",
    });
  });

  test.skipIf(process.platform !== "linux")(
    "of our environment it gets nothing but a usual PATH and the home (skipped but on Linux: looks in /proc)",
    async () => {
      vi.stubEnv("RIPGREP_CONFIG_PATH", "/tmp/config");
      vi.stubEnv("MY_API_KEY", "secret");
      vi.stubEnv("LD_PRELOAD", "");
      const { home, workDir, helper } = await backendOn();
      const child = await helper("rg", ["--no-config", "x"], { paths: [] });
      const environment = await readFile(`/proc/${child.id}/environ`, "utf8");
      // … and what keeps programs from asking or paging.
      const calm = /^(GIT_PAGER|MANPAGER|PAGER)=cat$|^GIT_TERMINAL_PROMPT=0$/;
      const left = environment.split("\0").filter((variable) => variable !== "" && !calm.test(variable));
      expect(left.toSorted()).toEqual([
        `HOME=${home}`,
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      ]);
      expect(execFileSync("readlink", [`/proc/${child.id}/cwd`], { encoding: "utf8" }).trim()).toBe(workDir);
      await child.kill();
    },
  );

  test("a signal ends it, and closing the backend too", async () => {
    const backend = await backendOn();
    const stop = new AbortController();
    const first = await backend.helper("rg", ["x"], { paths: [], signal: stop.signal });
    const second = await backend.helper("rg", ["x"], { paths: [] });
    stop.abort();
    expect(await first.exit).toEqual({ how: "aborted" });
    expect(await isAlive(Number(first.id))).toBe(false);
    expect(await isAlive(Number(second.id))).toBe(true);
    await backend.close();
    await until("the second has ended", async () => !(await isAlive(Number(second.id))));
    await expect(backend.helper("rg", ["x"], { paths: [] })).rejects.toThrow("the backend is closed");
  });

  test("one that was stopped before it began is not started", async () => {
    const { helper } = await backendOn();
    await expect(helper("rg", ["x"], { paths: [], signal: AbortSignal.abort() })).rejects.toThrow(
      "was stopped before it was started",
    );
  });
});

describe("where ripgrep comes from", () => {
  const FIXTURE = fileURLToPath(new URL("../fixtures/backends/helper.mjs", import.meta.url));
  const DIST = fileURLToPath(new URL("../../dist", import.meta.url));
  const MISSING = {
    name: "ToolFailure",
    message: "ripgrep is missing: its package has no binary for this system, and there is none on the PATH",
    hint: "Install the package @vscode/ripgrep with its optional dependencies, or ripgrep itself (apt install ripgrep, brew install ripgrep).",
  };

  /** Runs the built package from a folder of its own, where nothing is installed beside it. */
  async function run({
    path,
    install,
  }: {
    path: readonly string[];
    install?: (folder: string) => Promise<void>;
  }): Promise<unknown> {
    const folder = temporaryFolder();
    cpSync(DIST, join(folder, "dist"), { recursive: true });
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    await install?.(folder);
    const state = temporaryFolder();
    const { stdout } = await promisify(execFile)(process.execPath, [FIXTURE, join(folder, "dist/index.js"), state], {
      env: { PATH: path.join(":"), HOME: state },
    });
    return JSON.parse(stdout);
  }

  /** A folder with the one program that the backend needs, and with ripgrep by that name if asked for. */
  async function programs(ripgrep?: "program" | "folder" | "not executable"): Promise<string> {
    const folder = temporaryFolder();
    const mkfifo = execFileSync("sh", ["-c", "command -v mkfifo"], { encoding: "utf8" }).trim();
    await symlink(mkfifo, join(folder, "mkfifo"));
    if (ripgrep === "program") await symlink(rgPath, join(folder, "rg"));
    if (ripgrep === "folder") await mkdir(join(folder, "rg"));
    if (ripgrep === "not executable") await writeFile(join(folder, "rg"), "#!/bin/sh\n");
    return folder;
  }

  const VERSION = { version: expect.stringMatching(/^ripgrep \d+/) };

  test("without its package it is the one on the PATH", async () => {
    expect(await run({ path: [await programs(), await programs("program")] })).toEqual(VERSION);
  });

  test("with neither, the failure says what to install", async () => {
    expect(await run({ path: [await programs()] })).toEqual(MISSING);
  });

  test("what is no program, or lies in a relative folder of the PATH, is passed over", async () => {
    const other = [await programs("folder"), await programs("not executable")];
    expect(await run({ path: [...other, "", ".", "bin", ...other] })).toEqual(MISSING);
    expect(await run({ path: [...other, await programs("program")] })).toEqual(VERSION);
  });

  test("a package whose binary is missing or broken counts as none", async () => {
    const install = (code: string) => async (folder: string) => {
      const at = join(folder, "node_modules/@vscode/ripgrep/index.js");
      await mkdir(dirname(at), { recursive: true });
      await writeFile(
        join(dirname(at), "package.json"),
        '{"name":"@vscode/ripgrep","type":"module","main":"index.js"}',
      );
      await writeFile(at, code);
    };
    const broken = join(temporaryFolder(), "rg");
    await writeFile(broken, "no program");
    await chmod(broken, 0o644);
    const path = [await programs()];
    expect(await run({ path, install: install('throw new Error("no binary for this system");') })).toEqual(MISSING);
    expect(await run({ path, install: install(`export const rgPath = ${JSON.stringify(broken)};`) })).toEqual(MISSING);
    expect(await run({ path, install: install('export const rgPath = "/no/such/rg";') })).toEqual(MISSING);
    expect(await run({ path, install: install(`export const rgPath = ${JSON.stringify(rgPath)};`) })).toEqual(VERSION);
  });
});
