// The session's /tmp and /var/tmp, as commands and file tools see them: through a toolkit, as a model would use it.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { asText } from "../../../src/core/call/result.ts";
import { randomName } from "../../../src/core/util/identifier.ts";
import type { Toolkit } from "../../../src/core/contract/toolkit.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { mustBeHere } from "../../support/here.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";
import { noSandbox, worldFolder } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

async function sandboxed(options: ToolkitOptions = {}) {
  const { workDir = worldFolder(), stateDir = worldFolder() } = options;
  const toolkit = await toolkitWith({ preset: "all", sandbox: "on", ...options, workDir, stateDir });
  const text = async (name: string, input: object) => asText(await toolkit.call({ name, input }));
  const bash = (command: string) => text("bash", { command });
  /** Runs a script like a program of the project, whatever the policy decides on names in it. */
  const script = async (...lines: readonly string[]) => {
    writeFileSync(join(workDir, "script.sh"), lines.join("\n"));
    expect(await bash("bash script.sh")).toBe("(no output)");
  };
  return { workDir, stateDir, toolkit, text, bash, script };
}

/** The folder that a session uses as /tmp on this machine: the one in the state folder that has this file. */
function privateTmp(stateDir: string, file: string): string {
  const sessions = join(stateDir, "sandbox/sessions");
  const found = readdirSync(sessions).find((id) => existsSync(join(sessions, id, "tmp", file)));
  if (found === undefined) throw new Error(`no session has ${file}`);
  return join(sessions, found, "tmp");
}

const judged = async ({ judge }: Toolkit, kind: "read" | "write", path: string) => {
  const { verdict, rule } = await judge([{ kind, path }]);
  return [verdict, rule];
};

describe.skipIf(noSandbox !== undefined)("in the sandbox there is one /tmp", () => {
  test.each(["/tmp", "/var/tmp"])("a command and file tools read in %s what the other wrote", async (folder) => {
    const { bash, text, toolkit } = await sandboxed();
    const name = randomName(8); // not a name in the machine's /tmp
    const [mine, theirs] = [`${folder}/${name}/mine`, `${folder}/${name}/theirs.txt`];
    expect(await bash(`mkdir ${folder}/${name} && echo of a command >${theirs}`)).toBe("(no output)");
    expect(await text("read", { path: theirs })).toBe("of a command\n");
    const [, said, place = ""] =
      /^([^]*)\n\[.* in the private \/tmp of this session, .* People find it at (.*)\]$/.exec(
        await text("write", { path: mine, content: "of a tool\n" }),
      ) ?? [];
    expect(said).toBe(`Created ${mine} (10B)`);
    expect(readFileSync(place, "utf8")).toBe("of a tool\n");
    expect(await bash(`cat ${mine}`)).toBe("of a tool\n");
    expect(await text("edit", { path: mine, old_text: "tool", new_text: "file tool" })).toContain(`Edited ${mine}`);
    expect(await bash(`cat ${mine}`)).toBe("of a file tool\n");
    expect(await text("ls", { path: `${folder}/${name}` })).toMatch(/mine\n.*theirs\.txt$/);
    expect(await text("grep", { pattern: "of a", path: folder })).toMatch(
      new RegExp(`${mine}:1: *of a file tool[^]*${theirs}:1: *of a command`),
    );
    expect(await text("find", { pattern: "*.txt", path: `${folder}/${name}` })).toMatch(/theirs\.txt/);
    expect(await text("grep", { pattern: "a tool", path: theirs })).toBe("No matches found.");
    expect(await text("read", { path: `${folder}/${name}/none` })).toMatch(`File not found: ${folder}/${name}/none`);
    expect(await text("read", { path: `${folder}/${name}/their.txt` })).toMatch(`Did you mean ${theirs}?`);
    expect(existsSync(`${folder}/${name}`)).toBe(false);
    expect(await judged(toolkit, "write", theirs)).toEqual(["allow", "temporary"]);
  });

  test("before any command has run, and after a detached job has", async () => {
    const { bash, text, toolkit } = await sandboxed({ approver: async () => ({ answer: "once" }) });
    expect(await text("write", { path: "/tmp/first", content: "1\n" })).toContain("Created /tmp/first (2B)");
    expect(await text("bash", { command: "cat /tmp/first >/tmp/copy", detached: true })).toMatch(/job/i);
    const [job] = await toolkit.jobs.list();
    await job?.process.exit;
    expect(await text("read", { path: "/tmp/copy" })).toMatch(/^1\n/); // the job has ended too
    expect(await bash("cat /tmp/copy")).toBe("1\n");
  });

  test("a link in it has the meaning it has for a command, and is judged as that", async () => {
    const { bash, script, toolkit, text, workDir, stateDir } = await sandboxed();
    const other = await sandboxed({ stateDir });
    await other.bash("echo swordfish >/tmp/other-secret");
    const theirs = privateTmp(stateDir, "other-secret");
    writeFileSync(join(workDir, "plain.txt"), "plain\n");
    writeFileSync(join(workDir, ".env"), "KEY=swordfish\n");
    await script(
      "cd /tmp; echo here >here; mkdir -p d; ln -s /etc/passwd passwd; ln -s .. up; ln -s /etc etc; ln -s here near",
      `ln -s ../here d/up; ln -s ${theirs} other; ln -s /var/tmp/x var; echo there >/var/tmp/x; ln -s loop loop`,
      `ln -s ${workDir} ws; ln -s ${workDir}/.env env; ln -s ../../../../tmp/../etc/passwd dots; ln -s /proc/self/root root`,
      `ln -s /tmp/here ${workDir}/in; ln -s /tmp/passwd ${workDir}/out; ln -s nothing/new gone`,
    );
    for (const [path, real, verdict, rule] of [
      ["/tmp/passwd", "/etc/passwd", "deny", "forbidden_paths"],
      ["/tmp/up/etc/passwd", "/etc/passwd", "deny", "forbidden_paths"],
      ["/tmp/etc/passwd", "/etc/passwd", "deny", "forbidden_paths"],
      ["/tmp/dots", "/etc/passwd", "deny", "forbidden_paths"],
      ["/tmp/root/etc/passwd", "/etc/passwd", "deny", "forbidden_paths"],
      ["/tmp/../etc/passwd", "/etc/passwd", "deny", "forbidden_paths"],
      ["out", "/etc/passwd", "deny", "forbidden_paths"],
      ["/tmp/other/other-secret", `${theirs}/other-secret`, "deny", "state"],
      [`${theirs}/other-secret`, `${theirs}/other-secret`, "deny", "state"],
      ["/tmp/env", `${workDir}/.env`, "ask", "sensitive_files"],
      ["/tmp/near", "/tmp/here", "allow", "temporary"],
      ["/tmp/d/up", "/tmp/here", "allow", "temporary"],
      ["/tmp/var", "/var/tmp/x", "allow", "temporary"],
      ["in", "/tmp/here", "allow", "temporary"],
      ["/tmp/gone", "/tmp/nothing/new", "allow", "temporary"],
      ["/tmp/ws/plain.txt", `${workDir}/plain.txt`, "allow", "workspace"],
    ] as const) {
      expect([path, await toolkit.backend.files.realPath(path)]).toEqual([path, real]);
      expect([path, ...(await judged(toolkit, "read", path))]).toEqual([path, verdict, rule]);
    }
    expect(await text("read", { path: "/tmp/passwd" })).toMatch(/blocked by security policy.*\/etc/);
    expect(await text("read", { path: "/tmp/other/other-secret" })).not.toContain("swordfish");
    expect(await text("read", { path: "in" })).toBe("here\n");
    expect(await text("read", { path: "/tmp/d/up" })).toBe("here\n");
    expect(await text("read", { path: "/tmp/ws/plain.txt" })).toBe("plain\n");
    expect(await text("read", { path: "/tmp/loop" })).toMatch(/The links form a circle/);
    expect(await text("write", { path: "/tmp/gone", content: "made\n" })).toMatch(/Created/);
    expect(await bash("cat /tmp/nothing/new")).toBe("made\n");
    // A home below /tmp has a folder of Handrail, which is left out.
    expect(await text("grep", { pattern: "root:|swordfish", path: "/tmp" })).toMatch(/^No matches found\./);
  });

  test("a home below /tmp is the home, and not a temporary folder of the session", async () => {
    const [home, beside] = [temporaryFolder(), temporaryFolder()];
    vi.stubEnv("HOME", home);
    const { bash, text, toolkit } = await sandboxed();
    expect(await text("write", { path: "~/notes.txt", content: "x" })).toMatch(/blocked by security policy/);
    expect(existsSync(join(home, "notes.txt"))).toBe(false);
    expect(await text("write", { path: join(beside, "notes.txt"), content: "private\n" })).toMatch(/Created/);
    expect(await bash(`cat ${beside}/notes.txt`)).toBe("private\n");
    const asks = (path: string) => toolkit.judge([{ kind: "exec", command: "true", within: { write: [path] } }]);
    expect([(await asks("~/elsewhere")).verdict, (await asks(beside)).verdict]).toEqual(["ask", "deny"]);
    vi.unstubAllEnvs();
  });

  test("for a command outside the sandbox a link has its meaning on the machine", async () => {
    const { script, text, toolkit, workDir } = await sandboxed({ policy: { workspaceOnly: false } });
    const machines = temporaryFolder();
    symlinkSync("/etc/passwd", join(machines, "file"));
    await script(`mkdir -p ${machines}; echo session >${machines}/file; ln -s ${machines}/file ${workDir}/link`);
    expect(await text("read", { path: "link" })).toBe("session\n");
    const { verdict, reason } = await toolkit.judge([{ kind: "exec", command: "cat link", within: "none" }]);
    expect([verdict, reason]).toEqual(["deny", expect.stringMatching(/\/etc/)]);
    // Nor does a folder that it asks to open count as the session's.
    const asks = await toolkit.judge([{ kind: "exec", command: "true", within: { write: [`${machines}/`] } }]);
    expect(asks.verdict).toBe("deny");
  });

  test("a link that is created after a path was judged is not followed", async () => {
    const { bash, toolkit, stateDir, workDir } = await sandboxed();
    await bash("echo fine >/tmp/file; mkdir /tmp/folder; echo fine >/tmp/folder/passwd");
    const { files } = toolkit.backend;
    const [file, inFolder] = [await files.realPath("/tmp/file"), await files.realPath("/tmp/folder/passwd")];
    const tmp = privateTmp(stateDir, "file");
    rmSync(join(tmp, "file"));
    symlinkSync("/etc/passwd", join(tmp, "file"));
    rmSync(join(tmp, "folder"), { recursive: true });
    symlinkSync("/etc", join(tmp, "folder"));
    writeFileSync(join(workDir, "victim"), "whole\n");
    const real = { real: true };
    for (const path of [file, inFolder]) {
      await expect(files.open(path, real)).rejects.toThrow(/replaced|changed|circle/);
      await expect(files.stat(path, real)).rejects.toThrow(/replaced|changed/);
      await expect(files.write(path, Buffer.from("x"), real)).rejects.toThrow(
        /replaced|changed|on the way|part of the path/,
      );
    }
    await expect(files.list("/tmp/folder", real)).rejects.toThrow(
      /not a folder|changed|circle|on the way|part of the path/i,
    );
    await expect(files.remove("/tmp")).rejects.toThrow("/tmp cannot be removed");
    expect(existsSync(tmp)).toBe(true);
  });

  test("a workspace in the machine's /tmp, and a folder next to it, are shown as they are", async () => {
    const root = temporaryFolder();
    const [workDir, shared, beside] = ["ws", "shared", "beside"].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [workDir, shared, beside]) {
      mkdirSync(folder);
      writeFileSync(join(folder, "file"), `in ${folder}\n`);
    }
    const { bash, text, toolkit } = await sandboxed({ workDir, policy: { allowedRoots: [shared] } });
    for (const folder of [workDir, shared]) {
      expect(await text("read", { path: `${folder}/file` })).toBe(`in ${folder}\n`);
      expect(await text("write", { path: `${folder}/new`, content: "new\n" })).toMatch(/Created/);
      expect(readFileSync(join(folder, "new"), "utf8")).toBe("new\n");
      expect(await bash(`cat ${folder}/new`)).toBe("new\n");
      expect(await text("grep", { pattern: "in ", path: folder })).toContain(`in ${folder}`);
    }
    expect(await judged(toolkit, "read", "file")).toEqual(["allow", "workspace"]);
    // Other paths in it are not the session's.
    expect(await text("read", { path: `${beside}/file` })).toMatch(/File not found/);
    expect(await bash(`cat ${beside}/file`)).toMatch(/No such file/);
    expect(await text("write", { path: `${beside}/file`, content: "x" })).toMatch(/Created/);
    expect(readFileSync(join(beside, "file"), "utf8")).toBe(`in ${beside}\n`);
    expect(await bash(`ln -s /tmp/elsewhere ${workDir}/link; echo session >/tmp/elsewhere`)).toBe("(no output)");
    expect(await text("read", { path: "link" })).toBe("session\n");
  });

  test("a person's forbidden paths stay closed, and without a sandbox nothing differs", async () => {
    const { script, toolkit, text } = await sandboxed({ policy: { forbiddenPaths: ["/tmp/private"] } });
    await script("mkdir /tmp/private; echo x >/tmp/private/file; ln -s private /tmp/way");
    expect(await judged(toolkit, "read", "/tmp/private/file")).toEqual(["deny", "forbidden_paths"]);
    expect(await judged(toolkit, "read", "/tmp/way/file")).toEqual(["deny", "forbidden_paths"]);
    expect(await text("grep", { pattern: "x", path: "/tmp" })).toMatch(/^No matches found[^]*Left out.*\/tmp\/private/);
    const workDir = worldFolder();
    const free = await toolkitWith({ workDir, preset: "all", sandbox: "off" });
    expect(await judged(free, "read", "/tmp/x")).toEqual(["deny", "forbidden_paths"]);
    const readonly = await sandboxed({ policy: { autonomy: "readonly" } });
    expect(await judged(readonly.toolkit, "read", "/tmp/x")).toEqual(["allow", "temporary"]);
    expect(await judged(readonly.toolkit, "write", "/tmp/x")).toEqual(["deny", "autonomy"]);
  });
});
