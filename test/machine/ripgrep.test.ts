import { execFile, execFileSync } from "node:child_process";
import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/workspace.ts";

describe("the ripgrep binary", () => {
  const FIXTURE = fileURLToPath(new URL("../fixtures/backends/ripgrep.mjs", import.meta.url));
  const AT_WORK = fileURLToPath(new URL("../fixtures/backends/ripgrep-at-work.mjs", import.meta.url));
  const DIST = fileURLToPath(new URL("../../dist", import.meta.url));
  const MISSING = {
    name: "ToolFailure",
    message: "ripgrep is missing: its package has no binary for this system, and there is none on the PATH",
    hint: "Install the package @vscode/ripgrep with its optional dependencies, or ripgrep itself (apt install ripgrep, brew install ripgrep).",
  };

  /** Runs the built package from a separate folder, without packages installed next to it. */
  async function run({
    path,
    install,
    fixture = FIXTURE,
    words = () => [],
  }: {
    path: readonly string[];
    install?: (folder: string) => Promise<void>;
    fixture?: string;
    words?: (folder: string) => readonly string[];
  }): Promise<unknown> {
    const folder = temporaryFolder();
    cpSync(DIST, join(folder, "dist"), { recursive: true });
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    await install?.(folder);
    const state = temporaryFolder();
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [fixture, join(folder, "dist/index.js"), state, ...words(folder)],
      {
        env: { PATH: path.join(":"), HOME: state },
      },
    );
    return JSON.parse(stdout);
  }

  /** Creates a folder with the one program that the backend needs, and optionally with ripgrep. */
  async function programs(ripgrep?: "program" | "folder" | "not executable"): Promise<string> {
    const folder = temporaryFolder();
    const mkfifo = execFileSync("sh", ["-c", "command -v mkfifo"], { encoding: "utf8" }).trim();
    await symlink(mkfifo, join(folder, "mkfifo"));
    if (ripgrep === "program") await symlink(rgPath, join(folder, "rg"));
    if (ripgrep === "folder") await mkdir(join(folder, "rg"));
    if (ripgrep === "not executable") await writeFile(join(folder, "rg"), "#!/bin/sh\n");
    return folder;
  }

  const FOUND = { matches: 1 };

  test("is the one on the PATH if its package is missing", async () => {
    expect(await run({ path: [await programs(), await programs("program")] })).toEqual(FOUND);
  });

  test("is missing with neither, and the failure says what to install", async () => {
    expect(await run({ path: [await programs()] })).toEqual(MISSING);
  });

  test("is not a file that is no program, or that is in a relative folder of the PATH", async () => {
    const other = [await programs("folder"), await programs("not executable")];
    expect(await run({ path: [...other, "", ".", "bin", ...other] })).toEqual(MISSING);
    expect(await run({ path: [...other, await programs("program")] })).toEqual(FOUND);
  });

  /** Installs the package, and beside it the one that holds the binary of this system, if any. */
  const install = (binary?: (file: string) => void) => async (folder: string) => {
    const packages = join(folder, "node_modules/@vscode");
    const file = join(packages, `ripgrep-${process.platform}-${process.arch}/bin/rg`);
    await mkdir(join(packages, "ripgrep"), { recursive: true });
    await mkdir(dirname(file), { recursive: true });
    binary?.(file);
  };

  test("is not that of a package whose binary is missing or broken", async () => {
    const path = [await programs()];
    expect(await run({ path, install: install() })).toEqual(MISSING);
    expect(await run({ path, install: install((file) => writeFileSync(file, "no program")) })).toEqual(MISSING);
    expect(await run({ path, install: install((file) => symlinkSync("/no/such/rg", file)) })).toEqual(MISSING);
    expect(await run({ path, install: install((file) => symlinkSync(rgPath, file)) })).toEqual(FOUND);
  });

  test("starts in a workspace that Handrail is installed in, until it changes there", async () => {
    const file = `node_modules/@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`;
    const grep = async (...changed: readonly string[]) =>
      run({
        path: [await programs()],
        install: install((path) => cpSync(rgPath, path)),
        fixture: AT_WORK,
        words: (folder) => [folder, ...changed],
      });
    expect(await grep()).toBe("file:1: needle");
    expect(await grep(file)).toMatch(
      /ripgrep \(.*\/bin\/rg\) has changed since Handrail started, where tools can write/,
    );
  });
});
