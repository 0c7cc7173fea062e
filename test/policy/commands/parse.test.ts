import { describe, expect, test } from "vitest";
import { expandBraces } from "../../../src/policy/commands/braces.ts";
import { MAX_SCRIPT_BYTES, parseShell } from "../../../src/policy/commands/parse.ts";
import type { CommandNode, Tree } from "../../../src/policy/commands/tree.ts";

const HOME = "/home/dev";

function commandOf(script: string): CommandNode {
  const { tree, errors } = parseShell(script, { home: HOME, cwd: "/srv/ws" });
  expect(errors).toEqual([]);
  if (tree.kind !== "command") throw new Error(`expected one command, got ${tree.kind}`);
  return tree;
}

/** What each word is when it runs; `undefined` where that is not known. */
const valuesOf = (script: string) => commandOf(script).words.map(({ value }) => value);

describe("words", () => {
  test.each([
    [`echo 'a b' "c d" e\\ f $'\\x41\\n'`, ["echo", "a b", "c d", "e f", "A\n"]],
    [`r"m" -r'f' x\\\ny`, ["rm", "-rf", "xy"]],
    ["ls ~ ~/x '~/x' \"~/x\" a~", ["ls", HOME, `${HOME}/x`, "~/x", "~/x", "a~"]],
    ["dd of=~/x", ["dd", `of=${HOME}/x`]],
    ['ls $HOME/x "${HOME}/y" $PWD', ["ls", `${HOME}/x`, `${HOME}/y`, "/srv/ws"]],
    ["{cat,/etc/shadow}", ["cat", "/etc/shadow"]],
    ["mkdir src/{api,web}/{a,b}", ["mkdir", "src/api/a", "src/api/b", "src/web/a", "src/web/b"]],
    ["echo {1..3} {a} {} a{b", ["echo", "1", "2", "3", "{a}", "{}", "a{b"]],
    ["cat <(ls)", ["cat", "/dev/fd/63"]],
  ])("%s is what the shell makes of it", (script, values) => {
    expect(valuesOf(script)).toEqual(values);
  });

  test.each([
    "$x",
    '"$x"',
    "$(ls)",
    "`ls`",
    "*.ts",
    "a?",
    "[ab]",
    "$((1+2))",
    "${x:-a}",
    "~other/x",
    "~+",
    '~"x"',
    "{a..z}",
    "{1..100000}",
    '{a,"b c"}',
    "@(a|b)",
  ])("%s is not known before it runs", (word) => {
    expect(
      commandOf(`echo ${word}`)
        .words.slice(1)
        .every(({ value }) => value === undefined),
    ).toBe(true);
  });

  test("a script that sets HOME or goes elsewhere makes `~` and $PWD unknown", () => {
    const values = (script: string) => {
      const { tree } = parseShell(script, { home: HOME, cwd: "/srv/ws" });
      return tree.kind === "sequence"
        ? tree.steps.map((step) => (step.kind === "command" ? step.words.at(-1)?.value : step))
        : tree;
    };
    expect(values("HOME=/x; ls ~")).toEqual([undefined, undefined]);
    expect(values("cd x; ls $PWD")).toEqual(["x", undefined]);
  });

  test("what begins an unknown word is known", () => {
    expect(commandOf("cat /etc/$x").words[1]).toMatchObject({ value: undefined, prefix: "/etc/", splits: true });
    expect(commandOf('cat "/etc/$x"').words[1]).toMatchObject({ prefix: "/etc/", splits: false, unknown: ["$x"] });
    expect(commandOf("ls src/*.t?").words[1]).toMatchObject({ prefix: "src/", glob: "src/*.t?" });
  });
});

describe("brace lists", () => {
  test("are bounded, and forms that are not worked out are said to be unknown", () => {
    expect(expandBraces("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}")).toHaveLength(64);
    expect(expandBraces("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}")).toBeUndefined();
    expect(expandBraces("{1..65}")).toBeUndefined();
    expect(expandBraces("{a..c}")).toBeUndefined();
    expect(expandBraces("{".repeat(100))).toBeUndefined();
    expect(expandBraces("a{b,c{d,e}}f")).toEqual(["abf", "acdf", "acef"]);
  });
});

describe("what cannot be read", () => {
  test.each([
    ["git log &&& rm x", /expected command/],
    ["echo 'a", /unterminated|quote/i],
    ["echo ${x", /unterminated/],
    ["echo $(ls", /./],
    ["if true; then ls", /./],
    ["ls )", /./],
    ["cat <<A\nx", /here-document/],
    ["echo $(if)", /./],
    ["a\rb", /0x0d/],
    ["a\0b", /0x00/],
    ["echo \x1b[2J", /0x1b/],
    [`echo ${"a".repeat(MAX_SCRIPT_BYTES)}`, /more than 16384 are not looked at; write long text to a file/],
  ])("%j is an error", (script, why) => {
    const { errors } = parseShell(script, { home: HOME });
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0]).toMatch(why);
  });

  test("says where", () => {
    expect(parseShell("ls\necho ${x", { home: HOME }).errors[0]).toMatch(/line 2, column 6/);
  });

  test("what comes before an error is seen all the same", () => {
    const { tree } = parseShell("rm -rf / ; echo ${x", { home: HOME });
    expect(JSON.stringify(tree)).toContain('"rm"');
  });
});

describe("the tree", () => {
  const kinds = (script: string): unknown => outline(parseShell(script, { home: HOME }).tree);

  test.each([
    ["a; b", ["sequence", ["a"], ["b"]]],
    ["a && b || c", ["sequence", ["and", ["a"], ["b"]], ["c"]]],
    ["a | b", ["pipeline", ["a"], ["b"]]],
    ["(a)", ["subshell", ["a"]]],
    ["a &", ["subshell", ["a"]]],
    ["{ a; b; }", ["sequence", ["a"], ["b"]]],
    ["if a; then b; elif c; then d; else e; fi", ["choice", ["a"], ["b"], ["c"], ["d"], ["e"]]],
    ["while a; do b; done", ["choice", ["a"], ["b"]]],
    ["for f in x; do a; done", ["choice", ["f="], ["a"]]],
    ["case x in y) a;; z) b;; esac", ["choice", "words", ["a"], ["b"]]],
    ["f() { a; }", ["function", ["a"]]],
    ["(( i++ ))", ["unclear"]],
    ["[[ -v x ]]", ["unclear", "words"]],
    ["[[ -f x ]]", "words"],
    ["coproc a", ["unclear", ["subshell", ["a"]]]],
  ])("%s is followed", (script, tree) => {
    expect(kinds(script)).toEqual(tree);
  });
});

function outline(tree: Tree): unknown {
  switch (tree.kind) {
    case "command":
      return [tree.words[0]?.value ?? `${tree.assignments[0]?.name ?? ""}=`];
    case "words":
      return "words";
    case "sequence":
    case "and":
    case "pipeline":
      return [tree.kind, ...tree.steps.map(outline)];
    case "choice":
      return ["choice", ...tree.parts.map(outline)];
    case "unclear":
      return ["unclear", ...tree.inside.map(outline)];
    default:
      return [tree.kind, outline(tree.body)];
  }
}
