import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { loadsCode, programEnvironment } from "../../../src/machine/programs/environment.ts";
import { keepProgramsOutOf } from "../../../src/machine/programs/places.ts";
import { findProgram, programPath } from "../../../src/machine/programs/programs.ts";
import { runProgram } from "../../../src/machine/programs/start.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A workspace, and a folder outside. */
function places() {
  const [workspace, outside] = [temporaryFolder(), temporaryFolder()];
  ends.push(keepProgramsOutOf(() => [workspace]));
  return { workspace, outside };
}

async function program(file: string, text = "#!/bin/sh\necho $0 $*\n"): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { mode: 0o755 });
  return file;
}

describe("a program is found where no tool can write", () => {
  test("and not in the workspace, in a node_modules or in a relative folder, whatever comes first in PATH", async () => {
    const { workspace, outside } = places();
    const packages = temporaryFolder();
    await program(join(workspace, "bin/tool"));
    await program(join(packages, "node_modules/.bin/tool"));
    const own = await program(join(outside, "tool"));
    const path = ["bin", "", ".", join(workspace, "bin"), join(packages, "node_modules/.bin"), outside].join(":");
    expect(findProgram("tool", { path })).toEqual({ path: own, real: own });
    expect(programPath({ path })).toBe(outside);
  });

  test("and one that is only where tools can write is refused with its name and that folder", async () => {
    const { workspace } = places();
    await program(join(workspace, "node_modules/.bin/tool"));
    const folder = join(workspace, "node_modules/.bin");
    expect(() => findProgram("tool", { path: folder })).toThrow(
      `tool is only in ${folder}, where tools can write, so Handrail does not start it. Install it in a folder outside`,
    );
    expect(() => findProgram(join(folder, "tool"))).toThrow(`is only in ${workspace}, where tools can write`);
  });

  test.for([
    ["a link to a program of the workspace", "link"],
    ["a link to a folder of the workspace", "folder/tool"],
  ])("and not through %s", async ([, found = ""]) => {
    const { workspace, outside } = places();
    const target = await program(join(workspace, "sub/tool"));
    await symlink(target, join(outside, "link"));
    await symlink(dirname(target), join(outside, "folder"));
    expect(() => findProgram(join(outside, found))).toThrow("where tools can write");
  });

  test("and is missing under its name if it is nowhere", () => {
    expect(() => findProgram("no-such-program")).toThrow("there is no program no-such-program on the PATH");
  });

  test("and a file that was opened for writing is no program", async () => {
    const outside = temporaryFolder();
    const file = await program(join(outside, "tool"));
    ends.push(keepProgramsOutOf(() => [file]));
    expect(() => findProgram("tool", { path: outside })).toThrow(`tool is only in ${outside}`);
  });

  test("and the system's programs are found if the workspace is the whole machine", () => {
    ends.push(keepProgramsOutOf(() => ["/"]));
    expect(findProgram("sh", { systemFirst: true }).path).toMatch(/^(\/usr)?\/bin\/sh$/);
  });
});

describe("a program starts", () => {
  test("by its real path in the folder that is named, with a PATH without folders of tools", async () => {
    const { workspace, outside } = places();
    const real = await program(join(outside, "real/tool"), '#!/bin/sh\necho "$0 $PWD $PATH"\n');
    await symlink(real, join(outside, "tool"));
    const path = [workspace, outside, "/usr/bin", "/bin"].join(":");
    const { stdout } = await runProgram(["tool"], { cwd: "/", path, isBare: true });
    expect(stdout.toString()).toBe(`${real} / ${outside}:/usr/bin:/bin\n`);
  });

  test("without the variables that load code into it, unless they are named", () => {
    const from = { HOME: "/home/ada", PATH: "/usr/bin", NODE_OPTIONS: "--import=./x.mjs", GIT_SSH_COMMAND: "./x" };
    expect(programEnvironment({}, from)).toEqual({ HOME: "/home/ada", PATH: "/usr/bin" });
    expect(programEnvironment({ NODE_OPTIONS: "--no-warnings" }, from)).toMatchObject({
      NODE_OPTIONS: "--no-warnings",
    });
  });

  const LOADED =
    "NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONHOME PYTHONSTARTUP BASH_ENV ENV LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT GIT_DIR " +
    "GIT_EXEC_PATH GIT_SSH GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND " +
    "GIT_TEMPLATE_DIR GIT_ASKPASS PERL5LIB PERL5OPT RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH " +
    "MAKEFILES GOFLAGS RUSTC_WRAPPER LUA_INIT DOTNET_STARTUP_HOOKS BUN_OPTIONS DYLD_INSERT_LIBRARIES LESSOPEN " +
    "npm_config_node_options npm_config_script_shell SSH_ASKPASS VIMINIT OPENSSL_CONF GCONV_PATH BASH_FUNC_ls%%";

  test.for(LOADED.split(" "))("without %s", (name) => {
    expect(loadsCode(name)).toBe(true);
  });

  test.for([
    "HOME",
    "LANG",
    "TERM",
    "SSH_AUTH_SOCK",
    "GIT_AUTHOR_NAME",
    "EDITOR",
    "DOCKER_HOST",
    "HTTPS_PROXY",
    "NODE_ENV",
  ])("with %s", (name) => {
    expect(loadsCode(name)).toBe(false);
  });
});
