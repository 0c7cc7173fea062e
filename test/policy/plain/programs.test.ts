// The list of programs that only look: accepted commands of each, and rejected ones.
import { describe, expect, test } from "vitest";
import { readByList } from "../../../src/policy/plain/programs.ts";
import { readPlainScript } from "../../../src/policy/plain/script.ts";
import { CASES } from "./cases.ts";

function read(text: string) {
  const script = readPlainScript(text);
  if (typeof script === "string") return script;
  const [command] = script.commands;
  const reading = readByList(command!.words);
  if (typeof reading === "string") return reading;
  return { ...reading, paths: reading.paths.map((index) => command!.words[index]!.value) };
}

describe.each(CASES.map((each) => [(each[0][0] ?? each[1][0] ?? "").split(" ")[0], ...each] as const))(
  "%s",
  (_, accepted, refused) => {
    const all = [...accepted.map((command) => ["", command]), ...refused.map((command) => ["not ", command])];
    test.each(all)("is %saccepted: %s", (not, command) => {
      expect(read(command ?? "")).toBeTypeOf(not === "" ? "object" : "string");
    });
  },
);

describe("the parts of a command that are judged as paths", () => {
  test.each<[string, readonly string[]]>([
    ["cat -n a -- -b", ["a", "-b"]],
    ["ls a -l b", ["a", "b", "-l"]],
    ["grep foo a b", ["a", "b"]],
    ["grep -e foo a b", ["a", "b"]],
    ["grep foo a -e b", ["foo", "a", "-e", "b"]],
    ["grep foo a -A 3", ["a", "-A", "3"]],
    ["rg foo a", ["a"]],
    ["rg --files a", ["a"]],
    ["sed -n 5p a", ["a"]],
    ["jq .x a b", ["a", "b"]],
    ["find a b -name c", ["a", "b"]],
    ["test -f a", ["a"]],
    ["echo a /etc/passwd", []],
    ["tr a b", []],
    ["git log -n 3 main -- a", ["main", "a"]],
    ["git diff a --stat", ["a", "--stat"]],
    ["sort -k 2 -t , a", ["a"]],
  ])("%s", (command, paths) => {
    expect(read(command)).toMatchObject({ paths });
  });

  test.each<[string, object]>([
    ["grep -r foo", { isRecursive: true, looksBelow: true, keepsOut: "grep" }],
    ["grep foo -r", { isRecursive: true, looksBelow: true, keepsOut: "grep" }],
    ["grep foo a", { isRecursive: false, looksBelow: false }],
    ["rg foo src", { isRecursive: true, looksBelow: false, keepsOut: "rg" }],
    ["ls -R", { isRecursive: true, looksBelow: true }],
    ["find -name x", { isRecursive: true, looksBelow: true }],
    ["tree", { isRecursive: true, looksBelow: true }],
    ["du src", { isRecursive: true, looksBelow: false }],
    ["diff a b", { onlyFiles: true }],
  ])("%s looks at more than its operands", (command, reading) => {
    expect(read(command)).toMatchObject(reading);
  });
});
