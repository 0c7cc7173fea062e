import { describe, expect, test } from "vitest";
import {
  type ForeignRule,
  claudeRules,
  codexRules,
  geminiRules,
  geminiSettings,
  importRules,
  opencodeRules,
} from "../../src/policy/import-rules.ts";

/** The rules by verdict, and why the others are not imported. */
function imported(given: readonly ForeignRule[]) {
  const { rules, left } = importRules(given);
  const texts = Object.entries(rules).flatMap(([verdict, all]) => all.map(({ rule }) => `${verdict} ${rule}`));
  return { rules: texts, left: left.map(({ verdict, written, why }) => `${verdict} ${written}: ${why}`) };
}
const claude = (permissions: object, isProject = true) => imported(claudeRules({ permissions }, isProject));

describe("rules of other agents", () => {
  test("of Claude Code are ours; a path with one slash is of the project", () => {
    const permissions = {
      allow: ["Bash(npm run test:*)", "Read(/src/**)", "WebFetch(domain:example.com)", "mcp__github"],
      ask: ["Bash(git push:*)"],
      deny: ["Read(./secrets/**)", "Edit(//etc/**)"],
    };
    expect(claude(permissions)).toEqual({
      rules: [
        "allow Bash(npm run test:*)",
        "allow Read(./src/**)",
        "allow WebFetch(domain:example.com)",
        "allow mcp__github",
        "ask Bash(git push:*)",
        "deny Read(./secrets/**)",
        "deny Edit(//etc/**)",
      ],
      left: [],
    });
    expect(claude({ allow: ["Read(/src/**)"] }, false).left).toEqual([
      "allow Read(/src/**): the folder it is relative to is not known",
    ]);
  });

  test("that restrict and have no counterpart take those with them that allow the same kind of thing", () => {
    expect(claude({ allow: ["Bash(git:*)", "Read(a)"], deny: ["Bash(git * main)"] })).toMatchObject({
      rules: ["allow Read(a)"],
      left: [
        expect.stringMatching(/^deny Bash\(git \* main\): a \* in the middle/),
        'allow Bash(git:*): "Bash(git * main)" restricts it and has no counterpart',
      ],
    });
    expect(claude({ allow: ["Bash(ls)", "Read(a)"], deny: ["Unheard(of)"] }).rules).toEqual([]);
  });

  test("of codex are prefixes, one for each choice of words, with their examples", () => {
    const source =
      'prefix_rule( # which\n  pattern = ["gh", ["pr", \'issue\'], "view"], decision = "prompt",\n' +
      '  match = ["gh pr view 1", ["gh", "issue", "view", "2"]], not_match = ["gh pr list", "gh --repo x pr view 1"],\n)\n' +
      'network_rule(host = "example.org", protocol = "https", decision = "allow")\n';
    expect(importRules(codexRules(source))).toMatchObject({
      rules: {
        ask: [
          { rule: "Bash(gh pr view:*)", match: ["gh pr view 1"], not_match: ["gh pr list"] },
          { rule: "Bash(gh issue view:*)", match: ["gh issue view 2"] },
        ],
      },
      left: [{ why: "there is no counterpart of network_rule" }],
    });
    expect(imported(codexRules('prefix_rule(pattern = ["echo", "a b"])')).rules).toEqual([]);
    expect(() => codexRules("x = 1\nfoo")).toThrow(/^line 1: expected a call/);
  });

  test("of gemini are prefixes and tools of servers, from policies and settings", () => {
    const source =
      '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = ["git status", "npm test"] # both\ndecision = "allow"\n' +
      'priority = 100\n\n[[rule]]\nmcpName = "gh"\ntoolName = "list"\ndecision = "ask_user"\n' +
      '[[rule]]\ntoolName = "write_file"\ndecision = "deny"\n';
    expect(imported(geminiRules(source))).toEqual({
      rules: ["allow Bash(git status:*)", "allow Bash(npm test:*)", "ask mcp__gh__list", "deny Edit"],
      left: [],
    });
    const more = '[[rule]]\ntoolName = "run_shell_command"\ncommandRegex = "git push.*"\ndecision = "deny"\n';
    expect(imported(geminiRules(source + more)).rules).toEqual(["ask mcp__gh__list", "deny Edit"]);
    const tools = { allowed: ["run_shell_command(git log)"], exclude: ["run_shell_command(rm)", "web_fetch"] };
    expect(imported(geminiSettings({ tools })).rules).toEqual([
      "allow Bash(git log:*)",
      "deny Bash(rm:*)",
      "deny WebFetch",
    ]);
  });

  test("of opencode count by strictness, not by order", () => {
    const bash = { "*": "ask", "git status *": "allow", "rm *": "deny" };
    expect(imported(opencodeRules({ permission: { bash, read: { "src/*.ts": "deny" } } }))).toEqual({
      rules: ["ask Bash", "deny Bash(rm:*)", "deny Read(src/**/*.ts)"],
      left: ['allow bash git status *: allow: the rule "*" would win here: the strictest counts'],
    });
    const { "*": _, ...named } = bash;
    expect(imported(opencodeRules({ permission: { bash: named } })).rules).toEqual([
      "allow Bash(git status:*)",
      "deny Bash(rm:*)",
    ]);
  });
});
