import { mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CommandLine, PROGRAM, type Run, commandLine } from "./program.ts";
import { requireProgram } from "../support/here.ts";

const ASKS = "policy:\n  env: { pass: [TOKEN] }\n  forbidden_paths: ['/${WHERE}']\n";
const RUN = `TOKEN=s3cret handrail call bash '{"command":"echo [$TOKEN]"}' --yes`;

describe("handrail trust", () => {
  test("shows what the file asks for, asks a person, and from then on the file has it", async () => {
    const line = await commandLine({ "handrail.yaml": ASKS });
    const before = await commandOf(line);
    expect(before).toMatchObject({
      code: 0,
      stdout: "[]\n",
      stderr:
        "handrail: handrail.yaml is not trusted, so these settings have no effect: policy.forbidden_paths[0], policy.env.pass. See: handrail trust\n",
    });

    const terminal = line.terminal("handrail trust");
    await terminal.shows("[y/N] ");
    expect(terminal.screen()).toContain("handrail.yaml asks for settings that need your trust:\n");
    expect(terminal.screen()).toContain("line 2: policy.env.pass: commands get TOKEN from your environment\n");
    expect(terminal.screen()).toContain(
      "line 3: policy.forbidden_paths[0]: this value gets WHERE of your environment\n",
    );
    terminal.type("y\r");
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain("handrail.yaml is trusted until it changes.");

    expect(await commandOf(line)).toMatchObject({ code: 0, stdout: "[s3cret]\n", stderr: "" });
    const folder = join(line.stateHome, "handrail/trusted");
    for (const name of await readdir(folder)) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect((await line.here(["trust"])).stdout).toMatch(/handrail\.yaml is trusted already\.\n$/);
  });

  test("a project's module brings its tools when it is trusted; when it changes, it must be trusted again", async () => {
    const tool = (sky: string) =>
      `export default { name: "weather", description: "Tells the weather.", input: { type: "object" }, run: async () => "${sky}" };`;
    const line = await commandLine({
      "handrail.yaml": "tools: { modules: [./tools/weather.mjs], preset: mine }\ntoolsets: { mine: [weather, read] }\n",
      "tools/weather.mjs": tool("sunny"),
    });
    const weather = () => line.here(["call", "weather", "{}"]);
    expect(await weather()).toMatchObject({ code: 1, stderr: expect.stringContaining("its project is not trusted") });
    const trust = async () => {
      const terminal = line.terminal("handrail trust");
      await terminal.shows("[y/N] ");
      terminal.type("y\r");
      expect(await terminal.ended).toBe(0);
      return terminal.screen();
    };
    expect(await trust()).toMatch(
      /tools\.modules: code runs in Handrail's own process[^]*module:weather runs .*weather\.mjs/,
    );
    expect(await weather()).toMatchObject({ code: 0, stdout: "sunny\n" });
    const listed = JSON.parse((await line.here(["tools", "--format", "json"])).stdout) as { readonly name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(["weather", "read"]);
    await writeFile(join(line.folder, "tools/weather.mjs"), tool("stolen"));
    const changed = await weather();
    expect(changed).toMatchObject({ code: 1, stderr: expect.stringContaining("has changed since you trusted it") });
    expect(changed.stdout).not.toContain("stolen");
    await trust();
    expect((await weather()).stdout).toBe("stolen\n");
  });

  test.for(["\r", "\x04"])("changes nothing when the answer is %j", async (answer) => {
    const line = await commandLine({ "handrail.yaml": ASKS });
    const terminal = line.terminal("handrail trust --yes");
    await terminal.shows("[y/N] ");
    terminal.type(answer);
    expect(await terminal.ended).toBe(1);
    expect(terminal.screen()).toContain("handrail.yaml is not trusted: this has no effect.");
    expect((await commandOf(line)).stdout).toBe("[]\n");
  });

  test("is stopped by Ctrl-C, and leaves a working terminal", async () => {
    const line = await commandLine({ "handrail.yaml": ASKS });
    const terminal = line.terminal(
      "stty > before.txt; handrail trust; echo ended $?; stty > after.txt; cmp before.txt after.txt",
    );
    await terminal.shows("[y/N] ");
    terminal.type("\x03");
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain("ended 1");
    expect(await line.here(["trust", "--list"])).toMatchObject({ stdout: "No file is trusted.\n" });
  });

  test("without a terminal shows it too, and says that only a person can answer, with or without --yes", async () => {
    const line = await commandLine({ "handrail.yaml": ASKS });
    for (const args of [["trust"], ["trust", "--yes"]]) {
      const { code, stdout, stderr } = await line.here(args, {}, { input: "y\n" });
      expect(code).toBe(1);
      expect(stdout).toContain("line 2: policy.env.pass: commands get TOKEN from your environment\n");
      expect(stderr).toBe(
        "handrail: only a person can answer this: run handrail trust in a terminal (--yes does not count)\n",
      );
    }
    expect(await line.here(["trust", "--list"])).toMatchObject({ stdout: "No file is trusted.\n" });
  });

  test("ends with the first change of the file, which is reported", async () => {
    const line = await trusting({ "handrail.yaml": ASKS });
    await writeFile(join(line.folder, "handrail.yaml"), `${ASKS}# changed\n`);
    const { stdout, stderr } = await commandOf(line);
    expect(stdout).toBe("[]\n");
    expect(stderr).toMatch(
      /^handrail: handrail\.yaml has changed since you trusted it, so these settings have no effect: /,
    );
    expect((await line.here(["trust", "--list"])).stdout).toContain(`changed  ${line.folder}/handrail.yaml\n`);
  });

  test("does not extend to a link to the trusted file in another project", async () => {
    const line = await trusting({ "handrail.yaml": ASKS });
    await mkdir(join(line.folder, "other"));
    await symlink("../handrail.yaml", join(line.folder, "other/handrail.yaml"));
    const linked = await line.shell(`cd other && ${RUN}`);
    expect(linked).toMatchObject({ code: 0, stdout: "[]\n" });
    expect(linked.stderr).toContain("not read, because it links to");
    expect(await commandOf(line)).toMatchObject({ stdout: "[s3cret]\n" });
  });

  test("is listed and revoked", async () => {
    const line = await trusting({ "handrail.yaml": ASKS });
    const path = `${line.folder}/handrail.yaml`;
    expect(await line.here(["trust", "--list"])).toMatchObject({ code: 0, stdout: `trusted  ${path}\n` });
    expect(await line.here(["trust", "--revoke"])).toMatchObject({
      code: 0,
      stdout: `${path} is not trusted any more.\n`,
    });
    expect(await line.here(["trust", "--revoke", path])).toMatchObject({
      code: 0,
      stdout: `${path} was not trusted.\n`,
    });
    expect((await commandOf(line)).stdout).toBe("[]\n");
  });

  test("has nothing to do if nothing asks for it", async () => {
    const line = await commandLine({
      "a/handrail.yaml": "store: sqlite\n",
      "b/handrail.yaml": "policy: { autonomy: readonly }\n",
    });
    expect(await line.here(["trust"])).toMatchObject({
      code: 0,
      stdout: "There is no handrail.yaml or .mcp.json here or above: nothing to trust.\n",
    });
    expect(await line.here(["trust", "b/handrail.yaml"])).toMatchObject({
      code: 0,
      stdout: `${line.folder}/b/handrail.yaml asks for nothing that needs trust.\n`,
    });
    const { code, stderr } = await line.here(["trust", "a/handrail.yaml"]);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("a/handrail.yaml:1:8: store: a project cannot set this."),
    });
  });

  test("is for a project's file only", async () => {
    const { here } = await commandLine({ "agent.yaml": ASKS });
    expect(await here(["trust", "agent.yaml"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("needs no trust"),
    });
    expect(await here(["trust", "--list", "--revoke"])).toMatchObject({ code: 2, stdout: "" });
  });

  test("shows names of the file visibly, so that none can act on the terminal", async () => {
    const line = await commandLine({ "\x1b[2Jx/handrail.yaml": ASKS });
    const { stdout } = await line.shell("cd *x && handrail trust");
    expect(stdout).toContain("\\x1b[2Jx/handrail.yaml asks for");
    expect(stdout).not.toContain("\x1b");
  });
});

describe("commands for people", () => {
  const PROCESS_TREE = process.platform === "linux";
  const FROM_ANCESTORS: [string, string][] = [
    ["env -i $h trust; true", "trust"],
    ["exec env -i $h trust", "trust"],
  ];

  test.each<[string, string]>([
    ["$h trust", "trust"],
    ["$h policy grants", "policy grants list"],
    ["$h policy grants revoke --all", "policy grants revoke"],
    ['(sleep 1; echo y) | script -qec "$h trust" /dev/null', "trust"],
    ["setsid -w $h trust", "trust"],
    // Only its ancestors show who started it.
    ...(PROCESS_TREE ? FROM_ANCESTORS : []),
  ])("are refused to a command that Handrail started: %s", async (command, name) => {
    if (command.includes("script ")) requireProgram("script");
    const line = await commandLine({ "handrail.yaml": ASKS });
    const script = `h='${process.execPath} ${PROGRAM}'; ${command} 2>&1`;
    const { stdout } = await line.here([
      ...["call", "bash", JSON.stringify({ command: script })],
      ...["--sandbox", "off", "--autonomy", "full", "--yes"],
    ]);
    expect(stdout).toContain(
      `handrail: \`handrail ${name}\` is for people, but a model's command started this process. Run it in your own terminal.`,
    );
    expect((await line.here(["trust", "--list"])).stdout).toBe(`written  ${line.folder}\nNo file is trusted.\n`);
  });

  test("exit with 2 in a model's command, and everybody can read their help", async () => {
    const { here, shell } = await commandLine();
    expect(await shell("HANDRAIL_PROCESS=x handrail policy grants")).toMatchObject({ code: 2, stdout: "" });
    expect(await here(["trust", "--help"], { HANDRAIL_PROCESS: "x" })).toMatchObject({ code: 0, stderr: "" });
  });
});

/** Runs the same command as `RUN`, within this process. */
function commandOf(line: CommandLine): Promise<Run> {
  return line.here(["call", "bash", '{"command":"echo [$TOKEN]"}', "--yes"], { TOKEN: "s3cret" });
}

async function trusting(files: { readonly [path: string]: string }): Promise<CommandLine> {
  const line = await commandLine(files);
  const terminal = line.terminal("handrail trust");
  await terminal.shows("[y/N] ");
  terminal.type("yes\r");
  expect(await terminal.ended).toBe(0);
  return line;
}
