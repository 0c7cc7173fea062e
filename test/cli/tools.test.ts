import { describe, expect, test } from "vitest";
import { definitions } from "../../src/core/call/definitions.ts";
import { toolset } from "../../src/core/call/toolset.ts";
import { chosenTools } from "../../src/tools/presets/choose.ts";
import { commandLine } from "./program.ts";

const { run, here } = await commandLine();

describe("handrail tools", () => {
  test("lists the tools of a coding agent for people: name, arguments, a sentence", async () => {
    const { code, stdout, stderr } = await run(["tools"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.split(" ")[0])).toEqual(["read", "bash", "edit", "write", "jobs"]);
    expect(lines[0]).toMatch(/^read {2,}path \(required\), offset, limit {2,}Read a text file.*\.$/);
    for (const line of lines) expect(line).toMatch(/\.$/);
  });

  test.for(["json", "openai", "openai-responses", "anthropic", "gemini", "mcp"] as const)(
    "prints the definitions for %s, and nothing else",
    async (format) => {
      for (const [sandbox, sandboxed] of [
        ["off", false],
        ["on", true],
      ] as const) {
        const { code, stdout, stderr } = await here([
          "tools",
          "--preset",
          "all",
          "--format",
          format,
          "--sandbox",
          sandbox,
        ]);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        expect(JSON.parse(stdout)).toEqual(definitions(toolset(chosenTools({ preset: "all" }, { sandboxed })), format));
        expect(stdout.includes('"sandbox"')).toBe(sandboxed);
      }
    },
  );

  test("prints words for people and an empty list for programs for the preset none", async () => {
    expect(await here(["tools", "--preset", "none"])).toMatchObject({ code: 0, stdout: "(no tools)\n" });
    for (const format of ["json", "openai", "openai-responses", "anthropic", "gemini", "mcp"]) {
      expect(await here(["tools", "--preset", "none", "--format", format])).toMatchObject({ code: 0, stdout: "[]\n" });
    }
  });
});

describe("help and version", () => {
  test("--version prints only the version, also after other words", async () => {
    const { version } = (await import("../../package.json", { with: { type: "json" } })).default;
    for (const args of [["--version"], ["-V"], ["--preset", "all", "--version"]]) {
      expect(await run(args)).toEqual({ code: 0, signal: null, stdout: `${version}\n`, stderr: "" });
    }
  });

  test("--help lists the commands, on stdout", async () => {
    const { code, stdout, stderr } = await run(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const word of [
      "tools",
      "call",
      "mcp",
      "policy",
      "--preset",
      "--work-dir",
      "--autonomy",
      "--yes",
      "Examples:",
    ]) {
      expect(stdout).toContain(word);
    }
    expect((await run(["-h"])).stdout).toBe(stdout);
    expect(await here(["call", "--help"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ {2}--json .*^ {2}--ssh <target> .*^ {2}--yes /ms),
      stderr: "",
    });
    expect(await here(["policy", "check", "--help"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("--batch"),
      stderr: "",
    });
  });

  test("no command at all shows the help as an error", async () => {
    const { code, stdout, stderr } = await here([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: handrail");
  });
});

const HELP = "`handrail --help` lists the commands, `handrail COMMAND --help` describes one.\n";

describe("wrong usage ends with exit code 2 and a sentence on stderr, nothing on stdout", () => {
  test.for([
    ["an unknown option", ["tools", "--colour"], `handrail: unknown option '--colour'\n${HELP}`],
    [
      "a mistyped option",
      ["tools", "--fromat", "json"],
      "handrail: unknown option '--fromat'\n(Did you mean --format?)\n",
    ],
    ["a mistyped command", ["tool"], "handrail: unknown command 'tool'\n(Did you mean tools?)\n"],
    [
      "a format that there is not",
      ["tools", "--format", "yaml"],
      "handrail: option '--format <format>' argument 'yaml' is invalid. Allowed choices are table, json, openai, openai-responses, anthropic, gemini, mcp.\n",
    ],
    [
      "an autonomy that there is not",
      ["call", "read", "--autonomy", "total"],
      "handrail: option '--autonomy <level>' argument 'total' is invalid. Allowed choices are readonly, supervised, full.\n",
    ],
    [
      "a preset that there is not",
      ["tools", "--preset", "toString"],
      /^handrail: option '--preset <name>' argument 'toString' is invalid\. Allowed choices are .*coding.*\.\n$/,
    ],
    [
      "an option without its value",
      ["tools", "--work-dir"],
      "handrail: option '--work-dir <folder>' argument missing\n",
    ],
    ["no tool's name", ["call"], `handrail: missing required argument 'name'\n${HELP}`],
    ["a command like no other", ["frobnicate"], `handrail: unknown command 'frobnicate'\n${HELP}`],
    [
      "something that jobs does not do",
      ["jobs", "frob"],
      'handrail: jobs: expected list, output ID, kill ID, open ID PORT or remove ID, got "frob"\n',
    ],
    [
      "something that threads does not do",
      ["threads", "shwo", "x"],
      'handrail: threads: expected list, show ID, follow ID or export ID, got "shwo"\n',
    ],
    [
      "something that mcp does not do",
      ["mcp", "lst"],
      'handrail: mcp: expected list, test NAME, install CLIENT OPTIONS or login NAME, got "lst"\n',
    ],
    [
      "something that plugin does not do",
      ["plugin", "tets"],
      'handrail: plugin: expected new NAME, test PATH ARGS or list, got "tets"\n',
    ],
    [
      "something that policy grants does not do",
      ["policy", "grants", "x"],
      'handrail: policy grants: expected list or revoke ID, got "x"\n',
    ],
    [
      "too many words",
      ["call", "read", "{}", "more"],
      /^handrail: too many arguments for 'call'\. Expected 2 arguments but got 3/,
    ],
    [
      "a work directory that is not there",
      ["call", "read", "{}", "--work-dir", "/no/such/folder"],
      "handrail: option '--work-dir <folder>' argument '/no/such/folder' is invalid: /no/such/folder does not exist.\n",
    ],
    [
      "a work directory that is not there, where nothing works in it",
      ["tools", "--work-dir", "nope"],
      /^handrail: option '--work-dir <folder>' argument 'nope' is invalid: \/.*\/nope does not exist\.\n$/,
    ],
    [
      "a work directory that is a file",
      ["call", "read", "{}", "--work-dir", "README.md"],
      /^handrail: option '--work-dir <folder>' argument 'README\.md' is invalid: \/.*\/README\.md is not a folder\.\n$/,
    ],
    [
      "a question to the policy without a subject",
      ["policy", "check"],
      "handrail: policy check: expected one of --command, --path, --url, --batch, --against\n",
    ],
    [
      "a question to the policy with two",
      ["policy", "check", "--path", "a", "--command", "b"],
      "handrail: policy check: expected one of --command, --path, --url, --batch, --against\n",
    ],
    [
      "a URL that is none",
      ["policy", "check", "--url", "nowhere"],
      "handrail: option '--url <url>' argument 'nowhere' is invalid. Expected a URL such as https://example.org/\n",
    ],
  ] as const)("%s", async ([, args, message]) => {
    const { code, stdout, stderr } = await here(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    if (typeof message === "string") expect(stderr).toBe(message);
    else expect(stderr).toMatch(message);
  });
});
