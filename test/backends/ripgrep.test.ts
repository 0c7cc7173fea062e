import { execFile, execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/workspace.ts";

describe("the ripgrep binary", () => {
  const FIXTURE = fileURLToPath(new URL("../fixtures/backends/ripgrep.mjs", import.meta.url));
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

  test("is not that of a package whose binary is missing or broken", async () => {
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
    expect(await run({ path, install: install(`export const rgPath = ${JSON.stringify(rgPath)};`) })).toEqual(FOUND);
  });
});
