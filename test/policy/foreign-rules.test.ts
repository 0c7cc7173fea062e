import { describe, expect, test } from "vitest";
import type { Verdict } from "../../src/contract/decision.ts";
import { codexRules, geminiRules, importRules } from "../../src/policy/import-rules.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

/** A rule of the other agent: the words that a command begins with, and the verdict. */
type Prefix = readonly [words: string, verdict: Verdict];
/** A command, what the other agent decides, and where we decide otherwise, what and why. */
type Row = readonly [command: string, theirs: Verdict, ours?: Verdict, why?: string];

const OUTSIDE = "a path outside the workspace is refused, not asked about";
const LOOKS = "a command that only looks at the workspace needs no rule";
const EXPANDED = "what a substitution prints is asked about, also where each command is allowed";
const BACKGROUND = "a command in the background is asked about";

const CODEX = { allow: "allow", ask: "prompt", deny: "forbidden" };
const GEMINI = { allow: "allow", ask: "ask_user", deny: "deny" };

const codex = (rules: readonly Prefix[]) =>
  codexRules(
    rules
      .map(([words, verdict]) => `prefix_rule(pattern = ${patternOf(words)}, decision = "${CODEX[verdict]}")`)
      .join("\n"),
  );
/** `git|hg status` is one of two words, then a word. */
const patternOf = (words: string) =>
  JSON.stringify(words.split(" ").map((word) => (word.includes("|") ? word.split("|") : word)));
const gemini = (rules: readonly Prefix[]) =>
  geminiRules(
    rules
      .map(
        ([words, verdict]) =>
          `[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "${words}"\ndecision = "${GEMINI[verdict]}"\npriority = 100\n`,
      )
      .join("\n"),
  );

/**
 * From the examples and tests of codex's exec policy (github.com/openai/codex, codex-rs/execpolicy) with commands
 * without a rule asked about.
 */
const OF_CODEX: readonly (readonly [readonly Prefix[], readonly Row[]])[] = [
  [
    [["git reset --hard", "deny"]],
    [
      ["git reset --hard", "deny"],
      ["git reset --keep", "ask"],
      ["git reset --merge", "ask"],
    ],
  ],
  [
    [["ls", "allow"]],
    [
      ["ls", "allow"],
      ["ls -l", "allow"],
      ["ls -a .", "allow"],
    ],
  ],
  [
    [["cat", "allow"]],
    [
      ["cat file.txt", "allow"],
      ["cat -n README.md", "allow"],
    ],
  ],
  [
    [["cp", "ask"]],
    [
      ["cp foo bar", "ask"],
      ["cp -r src dest", "ask"],
    ],
  ],
  [
    [["head", "allow"]],
    [
      ["head README.md", "allow"],
      ["head -n 5 CHANGELOG.md", "allow"],
      ["hea -n 1,5p CHANGELOG.md", "ask"],
    ],
  ],
  [
    [["printenv", "allow"]],
    [
      ["printenv", "allow"],
      ["printenv PATH", "allow"],
      ["print -0", "ask"],
    ],
  ],
  [[["pwd", "allow"]], [["pwd", "allow"]]],
  [
    [["which", "allow"]],
    [
      ["which python3", "allow"],
      ["which -a python3", "allow"],
    ],
  ],
  [[["rm", "deny"]], [["rm -rf /some/important/folder", "deny"]]],
  [[["ls -l", "ask"]], [["ls -l some/folder", "ask"]]],
  [
    [
      ["git", "ask"],
      ["git commit", "deny"],
    ],
    [
      ["git status", "ask"],
      ["git commit -m hi", "deny"],
    ],
  ],
  [
    [["bash|sh -c|-l", "allow"]],
    [
      ["bash -c echo hi", "allow"],
      ["sh -l echo hi", "allow"],
    ],
  ],
  [
    [["npm i|install --legacy-peer-deps|--no-save", "allow"]],
    [
      ["npm i --legacy-peer-deps", "allow"],
      ["npm install --no-save leftpad", "allow"],
    ],
  ],
  [
    [["git status", "allow"]],
    [
      ["git status", "allow"],
      ["git --config color.status=always status", "ask"],
    ],
  ],
];

/** From the tests of gemini's policy engine (github.com/google-gemini/gemini-cli, packages/core/src/policy). */
const OF_GEMINI: typeof OF_CODEX = [
  [
    [["git log", "allow"]],
    [
      ["git log", "allow"],
      ["git log --oneline", "allow"],
      ["git logout", "ask"],
      ["git log && rm -rf /", "ask", "deny", OUTSIDE],
      ["git log; rm -rf /", "ask", "deny", OUTSIDE],
      ["git log || rm -rf /", "ask", "deny", OUTSIDE],
      ["git log &&& rm -rf /", "ask", "deny", OUTSIDE],
      ["diff <(git log) <(rm -rf /)", "ask", "deny", OUTSIDE],
      ["tee >(rm -rf /)", "ask", "deny", OUTSIDE],
      ["git log | rm -rf /", "ask", "deny", OUTSIDE],
      ["git log --format=$(rm -rf /)", "ask", "deny", OUTSIDE],
      ["git log && echo $(git log | rm -rf /)", "ask", "deny", OUTSIDE],
      ["git log > /tmp/test", "ask", "deny", OUTSIDE],
      ["git log @(Get-Process)", "ask"],
    ],
  ],
  [
    [["echo", "allow"]],
    [
      ["echo $(rm -rf /)", "ask", "deny", OUTSIDE],
      ["echo `rm -rf /`", "ask", "deny", OUTSIDE],
      ["echo hi && ls", "ask", "allow", LOOKS],
      ["echo hi; ls", "ask", "allow", LOOKS],
      ['echo hi | grep "hi"', "ask", "allow", LOOKS],
      ["echo hi & ls", "ask"],
      ["echo $(cat $(ls))", "ask"],
      ["echo hi > /tmp/test", "ask", "deny", OUTSIDE],
    ],
  ],
  [
    [
      ["echo", "allow"],
      ["git", "allow"],
    ],
    [
      ["echo $(git log)", "allow", "ask", EXPANDED],
      ["git log && echo $(git log)", "allow", "ask", EXPANDED],
    ],
  ],
  [[["false", "allow"]], [["false || ls", "ask", "allow", LOOKS]]],
  [
    [
      ["echo", "allow"],
      ["ls", "allow"],
      ["cat", "allow"],
      ["grep", "allow"],
    ],
    [
      ["echo hi && ls", "allow"],
      ['echo hi | grep "hi"', "allow"],
      ["echo hi & ls", "allow", "ask", BACKGROUND],
      ["echo $(cat $(ls))", "allow", "ask", EXPANDED],
    ],
  ],
  [[["git push", "deny"]], [['git commit -m "msg" && git push', "deny"]]],
  [[["git status", "allow"]], [["git status && unknown_command", "ask"]]],
  [[["another_unknown_command", "ask"]], [["unknown_command_1 && another_unknown_command", "ask"]]],
  [
    [
      ["known_ask_command_1", "ask"],
      ["known_ask_command_2", "ask"],
    ],
    [["known_ask_command_1 && known_ask_command_2", "ask"]],
  ],
];

describe.each([
  ["codex", codex, OF_CODEX],
  ["gemini", gemini, OF_GEMINI],
] as const)("the published rules and examples of %s", (_, read, cases) => {
  test.for(cases)("decide here as there, or it is said why: %j", async ([rules, rows]) => {
    const { rules: commands, left } = importRules(read(rules));
    expect(left).toEqual([]);
    const workDir = await workspace({ "file.txt": "", "README.md": "", "CHANGELOG.md": "", "src/a": "" });
    const toolkit = await toolkitWith({ workDir, policy: { commands } });
    const decided = await Promise.all(
      rows.map(async ([command, theirs, , why]): Promise<Row> => {
        const { verdict } = await toolkit.judge([{ kind: "exec", command }]);
        if (verdict === theirs) return [command, theirs];
        return why === undefined ? [command, theirs, verdict] : [command, theirs, verdict, why];
      }),
    );
    expect(decided).toEqual(rows);
  });
});
