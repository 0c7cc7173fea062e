// What the configuration of a new repository may contain, and the repositories that its index links to; both compared
// with git itself.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { settingsIn } from "../../../src/machine/git/config.ts";
import { DISK } from "../../../src/machine/git/disk.ts";
import { harmlessConfig } from "../../../src/machine/git/settings.ts";
import { gitlinksOf } from "../../../src/machine/git/index-file.ts";
import { obeyed } from "../../../src/machine/git/obeyed.ts";
import { cases } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const git = (folder: string, ...args: readonly string[]) =>
  execFileSync("git", ["-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], {
    encoding: "utf8",
    stdio: "pipe",
  });

/** Returns the keys that git finds in a configuration; none if it cannot read it. */
function keysOf(file: string): readonly string[] {
  try {
    return execFileSync("git", ["config", "--file", file, "--no-includes", "--name-only", "--list"], {
      encoding: "utf8",
      stdio: "pipe",
    })
      .split("\n")
      .filter(Boolean);
  } catch {
    return [];
  }
}

const LEADING =
  /^(core\.(fsmonitor|hookspath|sshcommand|pager|editor|worktree)|include|alias|filter|diff\..*\.(command|textconv)|remote\..*\.(uploadpack|vcs)|submodule\..*\.update)/;

describe("harmlessConfig", () => {
  test("does not change what git itself writes", () => {
    const folder = temporaryFolder();
    git(folder, "init", "-q", "one");
    git(folder, "clone", "-q", join(folder, "one"), "two");
    git(join(folder, "two"), "config", "branch.main.description", "two words; and # more");
    for (const name of ["one", "two"]) {
      const text = readFileSync(join(folder, name, ".git/config"), "utf8");
      expect(harmlessConfig(text)).toBe(text);
    }
  });

  test.each([
    [
      "[core]\n\tfsmonitor = touch x\n\tbare = false\n",
      "[core]\n# held back by Handrail's sandbox: \tfsmonitor = touch x\n\tbare = false\n",
    ],
    ["[CORE] HooksPath=h\n", "[CORE] \n# held back by Handrail's sandbox: HooksPath=h\n"],
    [
      "[alias]\n\v[branch]\\\nhooksPath\n",
      "[alias]\n# held back by Handrail's sandbox: \v[branch]\\\n# held back by Handrail's sandbox: hooksPath\n",
    ],
    ['[alias]\n\tst = "!touch x"\n', '[alias]\n# held back by Handrail\'s sandbox: \tst = "!touch x"\n'],
  ])("holds back what leads to a program: %j", (text, harmless) => {
    expect(harmlessConfig(text)).toBe(harmless);
  });

  test("for any input, git finds nothing in the result that leads to a program", () => {
    const file = join(temporaryFolder(), "config");
    const piece = fc.constantFrom(
      ...[
        "[core]",
        "[CORE]",
        "[ core ]",
        '[remote "x"]',
        '[remote "a]"]',
        '[remote "\\""]',
        "[branch]",
        "[core.x]",
        "[include]",
        "[alias]",
        '[filter "f"]',
        "[",
        "]",
        "fsmonitor",
        "hooksPath",
        "path",
        "url",
        "bare",
        "clean",
      ],
      ...[
        "=",
        " = ",
        "touch x",
        '"',
        "\\",
        "\\\\",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "#",
        ";",
        " # c \\",
        "\\\n",
        "\v",
        "\f",
        "\u00a0",
        "\ufeff",
        "\u0085",
      ],
    );
    const line = fc
      .tuple(
        fc.constantFrom("", "", "[core]", "[CORE]\n", '[remote "x"]\n', "[include] ", "[alias]\n"),
        fc.constantFrom("fsmonitor", "hooksPath", "path", "url", "bare"),
        fc.constantFrom("=", " = ", " =\\\n"),
        fc.constantFrom("touch x", '"touch x"', "a\\", "a # b \\", "false"),
        fc.constantFrom("\n", "\r\n", " ; c\n", "\\\n", ""),
      )
      .map((parts) => parts.join(""));
    let found = 0;
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, line), { maxLength: 24 }), (pieces) => {
        const text = pieces.join("");
        writeFileSync(file, text);
        found += keysOf(file).some((key) => LEADING.test(key)) ? 1 : 0;
        writeFileSync(file, harmlessConfig(text));
        expect(keysOf(file).filter((key) => LEADING.test(key))).toEqual([]);
      }),
      { numRuns: cases(40) },
    );
    expect(found).toBeGreaterThan(0); // something was found in what was written
  }, 30_000);
});

describe("what git obeys", () => {
  test("the settings that are read are those that git reads, for any configuration that git accepts", () => {
    const file = join(temporaryFolder(), "config");
    const piece = fc.constantFrom(
      ...["[a]", "[A.b]", '[a "b c"]', '[a "\\"\\\\"]', "[a ", "]", "key", "k-2", "=", " = ", "v", '"v w"', '"', "\\n"],
      ...["\\", "\\\n", "\\\r\n", "\n", "\n", "\r\n", "\r", "\t", " ", "#", ";", " # c \\\n", "\\\\", "\ufeff", "é"],
    );
    let found = 0;
    fc.assert(
      fc.property(fc.constantFrom("", "[a]\nkey = v\n"), fc.array(piece, { maxLength: 16 }), (start, pieces) => {
        const text = start + pieces.join("");
        writeFileSync(file, text);
        const listed = spawnSync("git", ["config", "--file", file, "--no-includes", "-z", "--list"], {
          encoding: "utf8",
        });
        if (listed.status !== 0) return;
        // Before 2.45, git makes each tab within a value a space.
        const known = listed.stdout
          .replace(/[\t\r]/g, " ")
          .split("\0")
          .filter(Boolean);
        found += known.length;
        const read = settingsIn(text).map(({ section, subsection, key, value }) => {
          const name = [
            ...(section === "" ? [] : [section]),
            ...(subsection === undefined ? [] : [subsection]),
            key,
          ].join(".");
          return (value === undefined ? name : `${name}\n${value}`).replace(/[\t\r]/g, " ");
        });
        expect(read).toEqual(known);
      }),
      {
        numRuns: cases(60),
        examples: [
          ["", ["v", " = ", "\\"]],
          ["", ["v", " = ", "v", "\t", "v"]],
        ],
      },
    );
    expect(found).toBeGreaterThan(0);
  }, 30_000);

  /** A repository whose settings lead to files of the workspace in every way. */
  const leading = (): string => {
    const folder = temporaryFolder();
    git(folder, "init", "-q", "-b", "main", ".");
    for (const [key, value] of [
      ["core.hooksPath", ".githooks"],
      ["core.sshCommand", "tools/ssh.sh -q"],
      ["core.fsmonitor", "tools/monitor"],
      ["core.pager", "less -F | tools/pager"],
      ["filter.x.clean", "python3 clean.py %f"],
      ["merge.x.driver", "sh -c 'tools/merge %A'"],
      ["diff.x.textconv", "./text.sh"],
      ["alias.x", "!f() { ./alias.sh; }; f"],
      ["credential.helper", "store --file=tools/keys"],
      ["gpg.program", "./gpg.sh"],
      ["include.path", "../shared"],
      ["includeIf.onbranch:main.path", "../of-branch"],
    ] as const)
      git(folder, "config", key, value);
    writeFileSync(join(folder, "shared"), '[core]\n\teditor = "./editor.sh" --wait\n[include]\n\tpath = deeper\n');
    writeFileSync(join(folder, "deeper"), "[sequence]\n\teditor = ./sequence.sh\n");
    return folder;
  };
  const LED = [
    ...[".githooks/pre-push", "tools/ssh.sh", "tools/monitor", "tools/pager", "clean.py", "tools/merge", "text.sh"],
    ...["alias.sh", "tools/keys", "gpg.sh", "shared", "of-branch", "editor.sh", "deeper", "sequence.sh"],
    ...[".git/config", ".git/hooks/pre-push", ".git/info/attributes"],
  ];

  test("one function finds every file and program that the configuration leads to", () => {
    const folder = leading();
    const { configs, hooks, named, isWhole } = obeyed(DISK, { gitFolder: join(folder, ".git") });
    const all = [...configs, ...named, join(hooks[0] ?? "", "pre-push"), join(hooks[1] ?? "", "pre-push")];
    expect(isWhole).toBe(true);
    expect(LED.slice(0, -1).filter((path) => !all.includes(join(folder, path)))).toEqual([]);
  });
});

describe("gitlinksOf", () => {
  test.each([
    ["version 2", ["-c", "index.version=2"], [], 20],
    ["version 4", ["-c", "index.version=4"], [], 20],
    ["SHA-256", [], ["--object-format=sha256"], 32],
    ["a split index", ["-c", "core.splitIndex=true"], [], 20],
    ["version 3", ["-c", "index.version=3"], [], 20],
  ] as const)("finds what git has of other repositories, in %s", (_, options, format, hash) => {
    const folder = temporaryFolder();
    git(folder, "init", "-q", ...format, ".");
    const others = ["sub", "a/b/c/sub", "a/b/other", "z\u00e9"];
    for (const other of others) {
      mkdirSync(join(folder, other), { recursive: true });
      git(join(folder, other), "init", "-q", ...format, ".");
      git(join(folder, other), "commit", "-q", "--allow-empty", "-m", "x");
    }
    for (let n = 0; n < 40; n++) writeFileSync(join(folder, `a/b/file-${"x".repeat(n)}`), String(n));
    git(folder, ...options, "add", "-A");
    writeFileSync(join(folder, "coming"), "");
    git(folder, ...options, "add", "-N", "coming"); // an extended entry
    const named = git(folder, "-c", "core.quotePath=false", "ls-files", "--stage")
      .split("\n")
      .flatMap((line) => /^160000 .*\t(.*)$/.exec(line)?.[1] ?? []);
    expect(named).toHaveLength(others.length);
    const files = readdirSync(join(folder, ".git")).filter((name) => /^(shared)?index/.test(name));
    const found = files.flatMap((name) => gitlinksOf(readFileSync(join(folder, ".git", name)), hash));
    expect([...new Set(found)].toSorted()).toEqual(named.toSorted());
  });

  test("ends for any bytes", () => {
    const header = Buffer.from("DIRC\0\0\0\u0004\0\0\0\u0009", "latin1");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => void gitlinksOf(Buffer.concat([header, bytes]))),
    );
    expect(gitlinksOf(Buffer.from("nothing of the kind"))).toEqual([]);
  });
});
