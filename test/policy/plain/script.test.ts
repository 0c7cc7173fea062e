// Which scripts are plain, and why others are not.
import { describe, expect, test } from "vitest";
import { readPlainScript } from "../../../src/policy/plain/script.ts";

/** Returns the words of each command with its redirections, and what is between commands. */
function read(text: string): unknown {
  const script = readPlainScript(text);
  if (typeof script === "string") return script;
  const { cd, commands, separators } = script;
  const parts = commands.flatMap(({ words, redirections }, index) => [
    [...words.map(({ value }) => value), ...redirections],
    ...(separators[index] === undefined ? [] : [separators[index]]),
  ]);
  return cd === undefined ? parts : [{ cd }, ...parts];
}

describe("a plain script is parsed to its words", () => {
  test.each<[string, unknown]>([
    ["ls", [["ls"]]],
    ["  ls\t-la  src ", [["ls", "-la", "src"]]],
    ["ls;", [["ls"]]],
    ["ls ;\n", [["ls"]]],
    ["ls\n\n", [["ls"]]],
    ["a&&b||c;d|e\nf", [["a"], "&&", ["b"], "||", ["c"], ";", ["d"], "|", ["e"], ";", ["f"]]],
    ["a |\n\n b &&\n\tc", [["a"], "|", ["b"], "&&", ["c"]]],
    ["a 'b c' \"d e\" f'g'\"h\"", [["a", "b c", "d e", "fgh"]]],
    [`a '' "" ''""`, [["a", "", "", ""]]],
    [`a '$(x)\`"\\!' "it's #1; & | < > ( ) { } [ ] * ? ~"`, [["a", '$(x)`"\\!', "it's #1; & | < > ( ) { } [ ] * ? ~"]]],
    ["a _-./,:@%+=0 HEAD~1 HEAD^ a..b --x=y", [["a", "_-./,:@%+=0", "HEAD~1", "HEAD^", "a..b", "--x=y"]]],
    ["cat docs/说明.md é e\u0301 '😀\u00a0'", [["cat", "docs/说明.md", "é", "e\u0301", "😀\u00a0"]]],
    ["test ! -f x", [["test", "!", "-f", "x"]]],
    ["2 a", [["2", "a"]]],
    ["a then if '{' in", [["a", "then", "if", "{", "in"]]],
    ["a 2>/dev/null", [["a", "2>/dev/null"]]],
    [
      "a > /dev/null 2>&1; </dev/null b 2>\t/dev/null >&2|c",
      [["a", ">/dev/null", "2>&1"], ";", ["b", "</dev/null", "2>/dev/null", ">&2"], "|", ["c"]],
    ],
    ["a 2 >/dev/null", [["a", "2", ">/dev/null"]]],
    ["./run.sh x && bin/tool", [["./run.sh", "x"], "&&", ["bin/tool"]]],
    ["cd src && ls", [{ cd: "src" }, ["ls"]]],
    ["cd 'my src' &&\n ls | wc", [{ cd: "my src" }, ["ls"], "|", ["wc"]]],
    ["cd ../x && a || b", [{ cd: "../x" }, ["a"], "||", ["b"]]],
  ])("%j", (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  test("unquoted wildcards have their positions, and quoted ones are letters", () => {
    const script = readPlainScript(`ls a'*'*.? "*"`);
    expect(script).toMatchObject({
      commands: [{ words: [{ value: "ls" }, { value: "a**.?", wildcards: [2, 4] }, { value: "*" }] }],
    });
  });

  test("a command is kept as written", () => {
    expect(readPlainScript(" a  'b' 2>/dev/null | c;")).toMatchObject({
      commands: [{ text: "a  'b' 2>/dev/null" }, { text: "c" }],
    });
  });
});

describe("any other script is not plain, and the reason names the place", () => {
  const AT = (column: number, line = 1) => `at line ${line}, column ${column}`;
  test.each<[string, string]>([
    ["", `a command is missing ${AT(1)}`],
    ["\nls", `a command is missing ${AT(1)}`],
    ["; ls", `a command is missing ${AT(1)}`],
    ["ls && ", `a command is missing ${AT(7)}`],
    ["ls |\n", `a command is missing ${AT(1, 2)}`],
    ["ls ;; ls", `a command is missing ${AT(5)}`],
    ["ls\n; ls", `a command is missing ${AT(1, 2)}`],
    ["ls && && ls", `a command is missing ${AT(7)}`],
    ["2>/dev/null", `a command is missing ${AT(12)}`],
    ["ls; >/dev/null", `a command is missing ${AT(15)}`],
    ["ls &", `"&" ${AT(4)}`],
    ["ls |& wc", `"&" ${AT(5)}`],
    ["ls &&& wc", `"&" ${AT(6)}`],
    ["ls $HOME", `"$" ${AT(4)}`],
    ["ls\n'a' b;\necho \"$x\"", `the first word ${AT(1, 2)} is not the name of a program`],
    ['echo a\necho "b $x"', `"$" ${AT(9, 2)}`],
    ["echo `id`", `"\`" ${AT(6)}`],
    ['echo "a\\b"', `"\\\\" ${AT(8)}`],
    ['echo "a!b"', `"!" ${AT(8)}`],
    ["echo a!", `"!" ${AT(7)}`],
    ["! ls", `the first word ${AT(1)} is not the name of a program`],
    ["echo !x", `"!" ${AT(6)}`],
    ["echo a\\ b", `"\\\\" ${AT(7)}`],
    ["echo #x", `"#" ${AT(6)}`],
    ["ls foo#bar", `"#" ${AT(7)}`],
    ["echo {a,b}", `"{" ${AT(6)}`],
    ["ls [ab]", `"[" ${AT(4)}`],
    ["(ls)", `"(" ${AT(1)}`],
    ["ls ~", `"~" ${AT(4)}`],
    ["ls ''~", `"~" ${AT(6)}`],
    ["ls a=~/x", `"~" ${AT(6)}`],
    ["ls 'a:'~", `"~" ${AT(8)}`],
    ["ls ^a", `"^" ${AT(4)}`],
    ["ls 'a", `a quote that does not end, ${AT(4)}`],
    ['ls "a', `a quote that does not end, ${AT(4)}`],
    ["ls 'a\nb'", `U+000A ${AT(6)}`],
    ["ls 'a\tb'", `U+0009 ${AT(6)}`],
    ["ls 'a\u202eb'", `U+202E ${AT(6)}`],
    ["ls a\u200bb", `U+200B ${AT(5)}`],
    ["ls 'a\u2028b'", `U+2028 ${AT(6)}`],
    ["ls 'a\ud800b'", `U+D800 ${AT(6)}`],
    ["ls\u00a0-la", `U+00A0 ${AT(3)}`],
    ["ls\r\nid", `U+000D ${AT(3)}`],
    ["ls a\0b", `U+0000 ${AT(5)}`],
    ["ls > out", `">" ${AT(4)}`],
    ["ls>/dev/null", `">" ${AT(3)}`],
    ["ls a2>/dev/null", `">" ${AT(6)}`],
    ["ls 'a'2>&1", `">" ${AT(8)}`],
    ["ls >/dev/nullx", `">" ${AT(4)}`],
    ["ls >  /dev/null", `">" ${AT(4)}`],
    ["ls >'/dev/null'", `">" ${AT(4)}`],
    ["ls >>/dev/null", `">" ${AT(4)}`],
    ["ls &>/dev/null", `"&" ${AT(4)}`],
    ["ls 2>&1x", `">" ${AT(5)}`],
    ["ls 2>&-", `">" ${AT(5)}`],
    ["cat <<x", `"<" ${AT(5)}`],
    ["cat < a", `"<" ${AT(5)}`],
    ["A=1 ls", `the first word ${AT(1)} is not the name of a program`],
    ["'ls'", `the first word ${AT(1)} is not the name of a program`],
    ["l* x", `the first word ${AT(1)} is not the name of a program`],
    ["%1", `the first word ${AT(1)} is not the name of a program`],
    ["if true", `"if" ${AT(1)} is a command of the shell itself`],
    ["ls && time ls", `"time" ${AT(7)} is a command of the shell itself`],
    [". x", `"." ${AT(1)} is a command of the shell itself`],
    ["ls && cd x", `"cd" ${AT(7)} is not at the start of the script`],
    ["cd x", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    ["cd x; ls", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    ["cd x || ls", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    ["cd && ls", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    ["cd - && ls", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    ["cd -P x && ls", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    ["cd '' && ls", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    ["cd x* && ls", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    ["cd x 2>/dev/null && ls", '"cd" is understood only as `cd FOLDER &&` at the start of the script'],
    [`ls ${"é".repeat(8 * 1_024)}`, "it is longer than 16 KiB"],
    [Array.from({ length: 51 }, () => "ls").join(";"), "it has more than 50 commands"],
    [`ls ${"a ".repeat(1_000)}`, "it has more than 1000 words"],
  ])("%j", (text, expected) => {
    expect(read(text)).toBe(expected);
  });
});
