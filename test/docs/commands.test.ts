// Every command line of `handrail` in the docs, in blocks and in sentences, is one that the program takes.
import { CommanderError } from "commander";
import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { program } from "../../src/cli/program.ts";
import { ioHere } from "../cli/program.ts";
import { findCommands } from "../../src/policy/commands/find-commands.ts";
import { PAGES, blocksIn } from "./pages.ts";

/** What stands in the docs for a value, where the program checks the value. */
const VALUES: { readonly [placeholder: string]: string } = {
  N: "1",
  PORT: "4747",
  "[HOST:]PORT": "4747",
  SECONDS: "1",
  DOLLARS: "1",
  CLIENT: "opencode",
  PROVIDER: "openai",
  "TOOL=N": "bash=1",
};

test("the command lines of all blocks and sentences have commands, arguments and flags that exist", () => {
  const faults = [...linesOfBlocks(), ...linesOfSentences()].flatMap(({ at, script }) =>
    commandLines(script).flatMap((words) => {
      const fault = faultOf(words);
      return fault === undefined ? [] : [`${at}: handrail ${words.join(" ")}: ${fault}`];
    }),
  );
  expect(faults).toEqual([]);
});

test("the page about the command line has a line for every command", () => {
  const page = PAGES.get("docs/command-line.md") ?? "";
  expect(Object.keys(COMMANDS).filter((name) => !page.includes(`handrail ${name}`))).toEqual([]);
});

test("a misspelled flag, an unknown command and an unknown choice are found", () => {
  expect(faultOf(["chat", "--modle", "demo"])).toContain("--modle");
  expect(faultOf(["jobs", "outptu", "job-1"])).toBeDefined();
  expect(faultOf(["threads", "export", "ID", "--format", "pdf"])).toContain("pdf");
});

interface Line {
  readonly at: string;
  readonly script: string;
}

function linesOfBlocks(): readonly Line[] {
  return [
    ...blocksIn("sh").map(({ at, code }) => ({ at, script: code })),
    ...blocksIn("console").flatMap(({ at, code }) =>
      [...code.matchAll(/^\$ (.*)$/gm)].map(([, script = ""]) => ({ at, script })),
    ),
  ];
}

/** Inline code that begins with `handrail `. Alternatives (`a|b`) and what may be omitted (`[ID]`) are written out. */
function linesOfSentences(): readonly Line[] {
  return [...PAGES].flatMap(([page, text]) =>
    [...text.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`(handrail [^`]+)`/g)].map(({ 1: code = "" }) => {
      const line = code.replaceAll("\\|", "|").replaceAll(/\s+/g, " ");
      return { at: page, script: line.replaceAll(/\[(-*[\w. ]+)\]/g, "$1").replaceAll(/(\w)\|[\w|]+/g, "$1") };
    }),
  );
}

/** Returns the words behind `handrail` of each command of a script that starts it. */
function commandLines(script: string): readonly (readonly string[])[] {
  return findCommands(script, { home: "/home/me" })
    .commands.map(({ words }) => words.map(({ value, text }) => value ?? text))
    .filter(([name]) => name === "handrail")
    .map(([, ...words]) => words.filter((word) => !/^(…|\.\.\.)/.test(word)).map((word) => VALUES[word] ?? word));
}

/** Returns what is wrong with the words, as the program itself parses them. It is not run. `--` ends its own words. */
function faultOf(words: readonly string[]): string | undefined {
  let command = program(ioHere());
  let rest = words.slice(0, words.includes("--") ? words.indexOf("--") : undefined);
  try {
    for (;;) {
      command.configureOutput({ outputError: () => {} });
      const { operands, unknown } = command.parseOptions(rest);
      const next = command.commands.find((each) => each.name() === operands[0]);
      const fallback =
        next ?? (unknown.length > 0 ? command.commands.find((each) => each.name() === "list") : undefined);
      rest = [...operands.slice(next === undefined ? 0 : 1), ...unknown];
      if (fallback === undefined) return problemOf(command.registeredArguments, command.commands.length, rest);
      command = fallback;
    }
  } catch (error) {
    if (error instanceof CommanderError) return error.message;
    throw error;
  }
}

function problemOf(
  expected: readonly { readonly required: boolean; readonly variadic: boolean; readonly argChoices?: string[] }[],
  commands: number,
  words: readonly string[],
): string | undefined {
  const flag = words.find((word) => /^-\w|^--\w/.test(word));
  if (flag !== undefined) return `there is no ${flag}`;
  const most = expected.some(({ variadic }) => variadic) ? Infinity : expected.length;
  if (words.length > most) return commands > 0 ? `there is no ${words[0]}` : `too many arguments`;
  const wrong = words.find(
    (word, index) => /^[a-z]/.test(word) && expected[index]?.argChoices?.includes(word) === false,
  );
  return wrong === undefined ? undefined : `${wrong} is not a choice`;
}
