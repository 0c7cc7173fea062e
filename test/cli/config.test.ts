import { copyFile, mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/workspace.ts";
import { type CommandLine, commandLine } from "./program.ts";

describe("handrail.yaml", () => {
  test("chooses the tools, omits some and sets their options", async () => {
    const line = await commandLine({
      "handrail.yaml":
        "tools: { preset: mine, disable: [ls], options: { grep: { max_results: 2 } } }\ntoolsets: { mine: [grep, ls, read] }\n",
      "many.txt": "word\n".repeat(9),
    });
    expect(names(await line.here(["tools"]))).toEqual(["grep", "read"]);
    const { stdout } = await line.here(["call", "grep", '{"pattern":"word","path":"many.txt"}']);
    expect(stdout).toContain("Stopped at 2 matches");
    expect(
      (await line.here(["call", "grep", '{"pattern":"word","path":"many.txt","max_results":3}'])).stdout,
    ).toContain("Stopped at 3");
  });

  test("limits how much of a result is shown, and how many matches", async () => {
    const line = await commandLine({
      "handrail.yaml":
        "tools: { preset: readonly, options: { read: { limit: { lines: 2 } }, find: { max_results: 1 } } }\n",
      "long.txt": "a\nb\nc\nd\n",
    });
    expect((await line.here(["call", "read", '{"path":"long.txt"}'])).stdout).toMatch(
      /^a\nb\n\n?\[Showing lines 1-2 of 4/,
    );
    expect((await line.here(["call", "find", '{"type":"file"}'])).stdout).toMatch(/Showing 1 of \d/);
  });

  test("sets the working directory, relative to its own folder, also from a folder below", async () => {
    const line = await commandLine({
      "handrail.yaml": "tools: { work_dir: sub }\n",
      "sub/here.txt": "found\n",
      "deep/er/x": "",
    });
    expect(await line.here(["call", "read", '{"path":"here.txt"}'], {}, { cwd: "deep/er" })).toMatchObject({
      code: 0,
      stdout: "found\n",
    });
  });

  test("tightens the policy", async () => {
    const line = await commandLine({
      "handrail.yaml": "policy: { autonomy: readonly, forbidden_paths: [secret] }\n",
      "secret/a.txt": "x",
    });
    expect(verdict(await line.here(["policy", "check", "--sandbox", "off", "--command", "touch new.txt"]))).toBe(
      "deny",
    );
    expect(verdict(await line.here(["policy", "check", "--path", "secret/a.txt"]))).toBe("deny");
    expect(verdict(await line.here(["policy", "check", "--path", "README.md"]))).toBe("allow");
  });

  test("is searched for from --work-dir", async () => {
    const line = await commandLine({ "sub/handrail.yaml": "tools: { preset: readonly }\n" });
    expect(names(await line.here(["tools"]))).toContain("bash");
    expect(names(await line.here(["tools", "--work-dir", "sub"]))).toEqual(["read", "grep", "find", "ls"]);
  });

  test("is overridden by flags", async () => {
    const line = await commandLine({
      "handrail.yaml":
        "tools: { preset: none, work_dir: sub }\npolicy: { autonomy: readonly }\ntoolsets: { mine: [ls] }\n",
      "sub/x": "",
    });
    expect(names(await line.here(["tools", "--preset", "readonly"]))).toEqual(["read", "grep", "find", "ls"]);
    expect(names(await line.here(["tools", "--preset", "mine"]))).toEqual(["ls"]);
    expect(verdict(await line.here(["policy", "check", "--command", "ls", "--autonomy", "full"]))).toBe("allow");
    expect(
      (await line.here(["call", "read", '{"path":"README.md"}', "--preset", "coding", "--work-dir", "."])).code,
    ).toBe(0);
  });

  test("if invalid, is reported by every command that uses it, with all problems", async () => {
    const line = await commandLine({ "handrail.yaml": "policy:\n  autonomi: full\nstroe: x\n" });
    for (const args of [["tools"], ["policy", "check", "--path", "."]]) {
      const { code, stderr } = await line.here(args);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr:
          'handrail: handrail.yaml:2:3: policy.autonomi: unknown key. Did you mean "autonomy"?\n' +
          'handrail: handrail.yaml:3:1: stroe: unknown key. Did you mean "store"?\n' +
          "handrail: handrail.yaml: 2 problems. Wrong entries of a list have no effect, a wrong value of the policy " +
          "counts as the strictest one; otherwise your own settings apply, and what was and is valid in this file\n",
      });
    }
    for (const args of [["--help"], ["--version"]]) expect((await line.here(args)).code).toBe(0);
  });

  test("that is a link to a secret shows nothing of it, nor does a copy of it", async () => {
    const line = await commandLine();
    const secret = join(temporaryFolder(), "id_ed25519");
    await writeFile(secret, "-----BEGIN OPENSSH PRIVATE KEY-----\nswordfish\n-----END OPENSSH PRIVATE KEY-----\n");
    const file = join(line.folder, "handrail.yaml");
    for (const [make, said] of [
      [() => symlink(secret, file), `handrail.yaml: not read, because it links to ${secret}, which is outside`],
      [() => copyFile(secret, file), "handrail.yaml:1:1: expected a map of tools, "],
    ] as const) {
      await make();
      for (const args of [["call", "read", '{"path":"a"}'], ["doctor"], ["mcp"], ["trust"]]) {
        const { stdout, stderr } = await line.here(args);
        expect(stdout + stderr).toContain(said);
        expect(stdout + stderr).not.toMatch(/swordfish|PRIVATE/);
      }
      await rm(file);
    }
  });

  test("that is a FIFO does not block", async () => {
    const line = await commandLine();
    const { code, stderr } = await line.shell("mkfifo handrail.yaml; handrail tools");
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(
        "handrail: handrail.yaml: this is a pipe, a socket or a device, expected a regular file\n",
      ),
    });
  });

  test("can only be written by a model after a person was asked", async () => {
    const line = await commandLine();
    expect(verdict(await line.here(["policy", "check", "--path", "handrail.yaml", "--op", "write"]))).toBe("ask");
  });
});

describe("the user's config.yaml", () => {
  test("applies everywhere, and may loosen the policy", async () => {
    const line = await withUserFile("policy: { autonomy: full, env: { pass: [TOKEN] } }\ntools: { preset: all }\n");
    expect(names(await line.here(["tools"]))).toContain("time");
    const ran = await line.here(["call", "bash", '{"command":"echo $TOKEN"}'], { TOKEN: "s3cret" });
    expect(ran).toMatchObject({ code: 0, stdout: "s3cret\n", stderr: "" });
  });

  test("does not pass variables to commands that it does not list", async () => {
    const line = await withUserFile("policy: { autonomy: full }\n");
    const ran = await line.here(["call", "bash", '{"command":"echo [$TOKEN]"}'], { TOKEN: "s3cret" });
    expect(ran).toMatchObject({ stdout: "[]\n" });
  });
});

describe("--config FILE", () => {
  test("is read instead of the project's file, and may loosen the policy", async () => {
    const line = await commandLine({
      "handrail.yaml": "tools: { preset: none }\n",
      "my/agent.yaml": "tools: { preset: readonly, work_dir: .. }\npolicy: { autonomy: full, workspace_only: false }\n",
    });
    expect(names(await line.here(["tools", "--config", "my/agent.yaml"]))).toEqual(["read", "grep", "find", "ls"]);
    expect(names(await line.here(["--config", "my/agent.yaml", "tools"]))).toHaveLength(4);
    expect(verdict(await line.here(["policy", "check", "--command", "ls", "--config", "my/agent.yaml"]))).toBe("allow");
  });

  test("cannot be changed or read by tools", async () => {
    const line = await commandLine({ "agent.yaml": "policy: { autonomy: full }\n" });
    for (const op of ["read", "write"]) {
      expect(
        verdict(await line.here(["policy", "check", "--path", "agent.yaml", "--op", op, "--config", "agent.yaml"])),
      ).toBe("deny");
    }
  });

  test("that does not exist is an error", async () => {
    const { here } = await commandLine();
    expect(await here(["tools", "--config", "none.yaml"])).toMatchObject({
      code: 2,
      stderr: "handrail: the configuration is not valid:\nnone.yaml: cannot be read: there is no such file\n",
    });
  });
});

describe("a start without any file", () => {
  test("loads neither YAML nor the validation of configurations", async () => {
    const line = await commandLine();
    for (const words of ["--version", "--help"]) {
      expect((await loaded(line, words)).filter((chunk) => /config|yaml|tools/.test(chunk))).toEqual([]);
    }
    const without = await loaded(line);
    expect(without).toContain("cli-commands-tools.js");
    await writeFile(join(line.folder, "handrail.yaml"), "tools: { preset: coding }\n");
    const more = (await loaded(line)).filter((chunk) => !without.includes(chunk));
    expect(more).toContain("app-config-read-settings.js");
    expect(more.some((chunk) => chunk.includes("yaml"))).toBe(true);
  });
});

/** Returns the chunks that a start loads, from Node's coverage. */
async function loaded(line: CommandLine, words = "tools"): Promise<readonly string[]> {
  const folder = temporaryFolder();
  await line.shell(`NODE_V8_COVERAGE=${folder} handrail ${words}`);
  const [report] = await readdir(folder);
  const { result } = JSON.parse(await readFile(join(folder, report ?? ""), "utf8")) as { result: { url: string }[] };
  return result.filter(({ url }) => url.includes("/dist/")).map(({ url }) => basename(url));
}

async function withUserFile(text: string): Promise<CommandLine> {
  const line = await commandLine();
  await mkdir(join(line.configHome, "handrail"));
  await writeFile(join(line.configHome, "handrail/config.yaml"), text);
  return line;
}

function names({ stdout }: { stdout: string }): readonly string[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" ")[0] ?? "");
}

function verdict({ stdout }: { stdout: string }): unknown {
  return (JSON.parse(stdout) as { verdict: unknown }).verdict;
}
