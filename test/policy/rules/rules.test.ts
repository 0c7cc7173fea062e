import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Effect } from "../../../src/core/contract/effect.ts";
import { createRules } from "../../../src/policy/rules/rules.ts";
import { ruleWarnings } from "../../../src/policy/rules/warnings.ts";
import type { CommandRules } from "../../../src/policy/policy-settings.ts";

const BASE = { workDir: "/srv/ws", home: "/home/dev" };

/** Returns the verdict of the rules on a command with these words. */
function verdictOf(rules: CommandRules, command: string): string | undefined {
  return createRules(rules, BASE).command({ words: command.split(" "), text: command })?.verdict;
}

function effectVerdict(rules: CommandRules, effect: Effect, tool = "some"): string | undefined {
  return createRules(rules, BASE).effect(effect, { tool: { name: tool } as never })?.verdict;
}

const read = (path: string, real = path): Effect => ({ kind: "read", path, real });
const write = (path: string): Effect => ({ kind: "write", path, real: path });
const fetchOf = (url: string): Effect => ({ kind: "fetch", url, method: "GET" });

describe("a rule that allows commands", () => {
  test.each<[rule: string, matching: readonly string[], others: readonly string[]]>([
    ["npm test", ["npm test"], ["npm test --watch", "npm run test", "npm", "/tmp/npm test", "npm testing"]],
    ["npm run *", ["npm run", "npm run build", "npm run build --prod"], ["npm", "npm install", "npm runx"]],
    ["npm run build*", ["npm run build", "npm run build:all"], ["npm run build extra", "npm run lint"]],
    ["git log * main", ["git log --oneline main"], ["git log main", "git log a b main", "git push x main"]],
    ["docker", ["docker", "docker ps -a"], ["dockerd", "./docker ps"]],
    ["Bash(npm run test:*)", ["npm run test", "npm run test --watch"], ["npm run", "npm run test:unit", "npm test"]],
    ["Bash(git status)", ["git status"], ["git status --short", "git"]],
    ["Bash(ls)", ["ls"], ["ls -la"]],
    ["Bash(ls *)", ["ls", "ls -la"], ["lsof"]],
    ["npm run test:*", ["npm run test", "npm run test x"], ["npm run test:unit"]],
  ])("%s allows these commands and no others", (rule, matching, others) => {
    for (const command of matching)
      expect([command, verdictOf({ allow: [rule] }, command)]).toEqual([command, "allow"]);
    for (const command of others) {
      expect([command, verdictOf({ allow: [rule] }, command)]).toEqual([command, undefined]);
      expect([command, verdictOf({ only: [rule] }, command)]).toEqual([command, "deny"]);
    }
  });

  test("quotes in a rule and blanks in a word have the shell's meaning", () => {
    const rules = createRules({ allow: [`git commit -m "two words"`] }, BASE);
    expect(rules.command({ words: ["git", "commit", "-m", "two words"], text: "" })?.verdict).toBe("allow");
    expect(rules.command({ words: ["git", "commit", "-m", "two", "words"], text: "" })).toBeUndefined();
  });

  test("of the only-list refuses what is not on the list, and allows nothing by itself", () => {
    const rules = createRules({ only: ["git", "npm test"], allow: ["make"] }, BASE);
    expect(rules.command({ words: ["git", "status"], text: "git status" })).toBeUndefined();
    expect(rules.command({ words: ["make"], text: "make" })?.verdict).toBe("allow");
    expect(rules.command({ words: ["/usr/bin/docker", "ps"], text: "/usr/bin/docker ps" })).toEqual({
      verdict: "deny",
      rule: "only",
      reason: "Command not in allowlist: docker. policy.commands.only lists: git, npm test",
    });
  });

  test("of the only-list accepts commands alone", () => {
    expect(() => createRules({ only: ["Edit(src/**)"] }, BASE)).toThrow("expected a command");
  });
});

describe("a rule that asks or denies", () => {
  test.each<[rule: string, matching: readonly string[], others: readonly string[]]>([
    [
      "git push",
      ["git push", "git push --force", "/usr/bin/git push", "git -C sub push", "git --no-pager push"],
      ["git pull", "git log push"],
    ],
    ["rm", ["rm", "rm -rf x", "/bin/rm x"], ["rmdir x", "git rm x"]],
    ["Bash(curl:*)", ["curl https://example.org/"], ["curlie x"]],
    ["Bash", ["anything at all"], []],
    ["npm run deploy*", ["npm run deploy:production --yes"], ["npm run build"]],
  ])("%s finds these commands, however they are called", (rule, matching, others) => {
    for (const verdict of ["ask", "deny"] as const) {
      for (const command of matching)
        expect([command, verdictOf({ [verdict]: [rule] }, command)]).toEqual([command, verdict]);
      for (const command of others)
        expect([command, verdictOf({ [verdict]: [rule] }, command)]).toEqual([command, undefined]);
    }
  });

  test("precedes one that allows, and denying precedes asking, whatever their order and length", () => {
    const rules = { allow: ["git push origin main", "git *"], ask: ["git push"], deny: ["git push --force"] };
    expect(verdictOf(rules, "git push --force")).toBe("deny");
    expect(verdictOf(rules, "git push origin main")).toBe("ask");
    expect(verdictOf(rules, "git status")).toBe("allow");
  });
});

describe("rules about files, hosts and tools of others", () => {
  test.each<[string, Effect, boolean]>([
    ["Read(./secrets/**)", read("/srv/ws/secrets/key"), true],
    ["Read(./secrets/**)", read("/srv/ws/secrets"), true],
    ["Read(./secrets/**)", read("/srv/ws/src/secrets/key"), false],
    ["Read(./secrets/**)", write("/srv/ws/secrets/key"), false],
    ["Read(secrets/)", read("/srv/ws/secrets/key"), true],
    ["Read(.env)", read("/srv/ws/sub/.env"), true],
    ["Read(*.pem)", read("/srv/ws/a/b.pem"), true],
    ["Read(*.pem)", read("/srv/ws/a/b.pem.txt"), false],
    ["Read(src/**/*.key)", read("/srv/ws/src/a/b/x.key"), true],
    ["Read(src/**/*.key)", read("/srv/ws/src/x.key"), true],
    ["Read(src/*.key)", read("/srv/ws/src/a/x.key"), false],
    ["Read(//etc/**)", read("/etc/hosts"), true],
    ["Read(/etc/hosts)", read("/etc/hosts"), true],
    ["Read(~/notes/**)", read("/home/dev/notes/a"), true],
    ["Read", read("/anything"), true],
    ["Edit(src/**)", write("src/a.ts"), true],
    ["Edit(src/**)", write("/srv/ws/srcs/a.ts"), false],
    ["Write(a[1].ts)", write("/srv/ws/a[1].ts"), true],
    ["Write(a[1].ts)", write("/srv/ws/a1.ts"), false],
    ["WebFetch(domain:example.org)", fetchOf("https://example.org/x"), true],
    ["WebFetch(domain:example.org)", fetchOf("https://EXAMPLE.org./x"), true],
    ["WebFetch(domain:example.org)", fetchOf("https://example.org.evil.net/"), false],
    ["WebFetch(domain:*.example.org)", fetchOf("https://a.b.example.org/"), true],
    ["WebFetch(domain:*.example.org)", fetchOf("https://notexample.org/"), false],
    ["WebFetch", fetchOf("https://anything.net/"), true],
    ["mcp__github", { kind: "foreign", from: "mcp:github", tool: "get" }, true],
    ["mcp__github", { kind: "foreign", from: "mcp:github2", tool: "get" }, false],
    ["mcp__github__get_*", { kind: "foreign", from: "mcp:github", tool: "get_issue" }, true],
    ["mcp__github__get_*", { kind: "foreign", from: "mcp:github", tool: "delete" }, false],
    ["plugin__github", { kind: "foreign", from: "mcp:github", tool: "get" }, false],
    ["plugin__weather__get", { kind: "foreign", from: "plugin:weather", tool: "get" }, true],
  ])("%s and %j", (rule, effect, matches) => {
    const real =
      effect.kind === "write" && !effect.path.startsWith("/") ? { ...effect, real: `/srv/ws/${effect.path}` } : effect;
    expect(effectVerdict({ deny: [rule] }, real)).toBe(matches ? "deny" : undefined);
    expect(effectVerdict({ allow: [rule] }, real)).toBe(matches ? "allow" : undefined);
  });

  test("a tool named like another source's is allowed by nothing, and denied by its name", () => {
    const spoof: Effect = { kind: "foreign", from: "plugin:x", tool: "mcp__github__get" };
    expect(effectVerdict({ allow: ["mcp__github__*"] }, spoof, "mcp__github__get")).toBeUndefined();
    expect(effectVerdict({ deny: ["mcp__github__*"] }, spoof, "mcp__github__get")).toBe("deny");
  });

  test("a link allows nothing by its name alone, and hides nothing from a rule that denies", () => {
    const link = read("/srv/ws/src/link", "/srv/ws/secrets/key");
    expect(effectVerdict({ allow: ["Read(src/**)"] }, link)).toBeUndefined();
    expect(effectVerdict({ deny: ["Read(secrets/**)"] }, link)).toBe("deny");
    expect(effectVerdict({ deny: ["Read(src/**)"] }, link)).toBe("deny");
  });

  test("a subdomain is denied with its domain, but not allowed with it", () => {
    const effect = fetchOf("https://api.example.org/");
    expect(effectVerdict({ deny: ["WebFetch(domain:example.org)"] }, effect)).toBe("deny");
    expect(effectVerdict({ allow: ["WebFetch(domain:example.org)"] }, effect)).toBeUndefined();
  });
});

describe("when rules are loaded", () => {
  test.each([
    ["", "it is empty"],
    ["git * --force*x", '"*" may stand for a whole word or at the end of one, not as in "--force*x"'],
    ["*.ts", "may stand for a whole word or at the end of one"],
    [`echo "open`, "a quote in it is not closed"],
    ["Bash()", "its parentheses are empty"],
    ["Grep(src/**)", "there are no rules for Grep"],
    ["WebFetch(https://example.org)", "expected WebFetch(domain:HOST)"],
  ])("%j is refused with its place and what is wrong", (rule, problem) => {
    expect(() => createRules({ ask: ["ok", rule] }, BASE)).toThrow(TypeError);
    expect(() => createRules({ ask: ["ok", rule] }, BASE)).toThrow(`policy.commands.ask[1] ${JSON.stringify(rule)}: `);
    expect(() => createRules({ ask: [rule] }, BASE)).toThrow(problem);
  });

  test("their own examples are checked", () => {
    const good = {
      rule: "npm run *",
      match: ["npm run build"],
      not_match: ["npm install", "npm run build && rm -rf ."],
    };
    expect(ruleWarnings({ allow: [good] })).toEqual([]);
    expect(() => createRules({ allow: [{ ...good, match: ["npm install"] }] }, BASE)).toThrow(
      'policy.commands.allow[0] "npm run *": it does not match its own example "npm install"',
    );
    expect(() => createRules({ deny: [{ rule: "Read(*.pem)", not_match: ["a/b.pem"] }] }, BASE)).toThrow(
      'it matches "a/b.pem", which is in its not_match',
    );
  });

  test.each([
    "Bash(sh:*)",
    "python *",
    "env *",
    "env CI=1 *",
    "Bash(*)",
    "*",
    "git",
    "python -c *",
    "xargs rm *",
    "find . *",
    "npm*",
    "WebFetch",
    "Edit(//**)",
  ])("%s, allowed, is warned about: it allows more than it seems", (rule) => {
    const warnings = ruleWarnings({ allow: [rule] });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^policy\.commands\.allow ".*" allows (more than it seems|every)/);
    expect(ruleWarnings({ deny: [rule], ask: [rule] }).join()).not.toContain("allows");
  });

  test.each(["npm test", "npm run *", "git status *", "python manage.py test", "Edit(src/**)", "timeout 5 npm test"])(
    "%s is fine",
    (rule) => {
      expect(ruleWarnings({ allow: [rule] })).toEqual([]);
    },
  );

  test("one that can never match causes a warning", () => {
    expect(ruleWarnings({ allow: ["npm test && git push"] })[0]).toContain("can never match");
    expect(ruleWarnings({ allow: ["npm test | cat"] })[0]).toContain("can never match");
    expect(ruleWarnings({ allow: ["git push origin main"], deny: ["git push"] })).toEqual([
      'policy.commands.allow "git push origin main" can never match: the rule "git push" is applied before it',
    ]);
    expect(ruleWarnings({ ask: ["git push"], deny: ["git pull"] })).toEqual([]);
  });
});

test("any rule text is parsed or rejected with a sentence, and what allows also finds", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.array(fc.string()), (rule, words) => {
      const load = (verdict: "allow" | "deny") => {
        try {
          return createRules({ [verdict]: [rule] }, BASE);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          return undefined;
        }
      };
      const command = { words: ["x", ...words], text: "x" };
      if (load("allow")?.command(command)?.verdict === "allow") {
        expect(load("deny")?.command(command)?.verdict).toBe("deny");
      }
    }),
  );
});
