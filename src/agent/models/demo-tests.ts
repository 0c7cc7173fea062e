import { type Call, type Conversation, type Done, type Step, exitCodeOf, firstLine } from "./demo-conversation.ts";
import { failingTest, repairsOf } from "./demo-repair.ts";

/** The maximum number of repairs. More would be guessing. */
const MOST_REPAIRS = 8;

/** Notices that tools add to a cut or decoded text. Writing such a text as a whole would lose something of the file. */
const NOT_EXACT = /\[(Showing|Line|Decoded) .*\]$|\.\.\.\[truncated\]$/;

const PYTHON_TEST = /^(test_.*|.*_test)\.py$/;

/**
 * Returns the next reply: lists the folder, runs the tests, reads the failing test and the tested source, edits it, and
 * runs the tests again, until they pass or no repair is left. Then it restores the source.
 *
 * @param offer what else the model can do, for folders in which no test fails
 */
export function repairStep({ rounds, can, workDir, mustEnd }: Conversation, offer: string): Step {
  const done = rounds.flat();
  const calling = (say: string, call: Call | undefined): Step =>
    call === undefined ? { say: `${say} I have no tool for that here.` } : { say, calls: [call] };
  const [listing] = done;
  if (listing === undefined) return calling("First I look at the folder.", can.list());
  if (listing.failed) return { say: `The folder could not be listed: ${firstLine(listing.output)}` };
  const listed = namesIn(listing.output);
  const isOf = (one: Call | undefined, other: Call) =>
    one?.name === other.name && JSON.stringify(one.input) === JSON.stringify(other.input);
  const resultOf = (call: Call | undefined) => done.find((each) => isOf(call, each));
  const reading = (path: string) => resultOf(can.read(path));
  const edits = done.filter(({ input, failed }) => !failed && ("old_text" in input || "content" in input));
  const guessed = edits.at(-1)?.input["path"] as string | undefined;

  const command = testCommand(listed, reading);
  if (typeof command === "object") return calling(command.say, can.read(command.path));
  const run = command === undefined ? undefined : can.run(command);
  const runs = done.filter((each) => isOf(run, each));
  const last = runs.at(-1);
  const passes = last !== undefined && exitCodeOf(last) === 0 && edits.length < runs.length;
  if (mustEnd) {
    const left = guessed === undefined || passes ? "" : ` A guess may be left in ${guessed}: undo restores it.`;
    return { say: `I stop here, at the limit of this turn. My work is not done.${left}` };
  }
  if (command === undefined || run === undefined) {
    const readme = listed.find((name) => /^readme/i.test(name));
    const why =
      command === undefined ? "There are no tests that I know how to run." : "I have no tool that runs tests.";
    const about = readme === undefined ? undefined : reading(readme);
    if (readme !== undefined && about === undefined) return calling(`${why} I read what this is.`, can.read(readme));
    const begins = about === undefined ? "" : ` ${readme} begins: ${firstLine(about.output)}`;
    const shown = listed.length === 0 ? "is empty" : `has ${listed.length} entries: ${listed.slice(0, 10).join(", ")}`;
    return { say: `This folder ${shown}.${begins} ${why}${offer}` };
  }
  if (last === undefined) return calling(`I run the tests: ${command}.`, run);
  if (passes && edits.length === 0) return { say: `All tests pass. There is nothing to repair.${offer}` };
  const hasRun = exitCodeOf(last) !== undefined;
  if (!hasRun && edits.length === 0) return { say: `The tests could not be run: ${firstLine(last.output)}` };
  const failure = failingTest(runs[0]?.output ?? "", workDir);
  if (failure === undefined) return { say: `A test fails, and I cannot tell where:\n${lastLines(last.output)}` };
  const test = reading(failure.file);
  if (test === undefined)
    return calling(`A test fails: ${failure.what}. I read ${failure.file}.`, can.read(failure.file));
  const found = repairsOf(failure, test.output, (path) => reading(path)?.output);
  if (found === undefined) return { say: `I cannot tell what ${failure.file} tests on line ${failure.line}.` };
  const { name, path, repairs } = found;
  const what = PYTHON_TEST.test(failure.file) ? `A test fails: ${failure.what}. ` : ""; // this file was read before
  if (repairs === undefined) return calling(`${what}It tests ${name} of ${path}. I read that.`, can.read(path));
  const source = reading(path);
  if (source === undefined || source.failed)
    return { say: `${path} could not be read: ${firstLine(source?.output ?? "")}` };

  const guesses = repairs.slice(0, MOST_REPAIRS);
  const original = guesses[0]?.before ?? "";
  const current = guesses[edits.length - 1]?.after ?? original; // each edit replaces the edit before
  const change = (to: string) =>
    can.change(
      path,
      source.output.replace(original, () => current),
      current,
      to,
    );
  const resultsIn = ({ input }: Call) => input["new_text"] ?? input["content"];
  const restores = (call: Call | undefined) =>
    call !== undefined && [original, source.output].includes(String(resultsIn(call)));
  const latest = done.at(-1);
  const refused = latest?.failed === true && resultsIn(latest) !== undefined ? latest : undefined;
  const why = refusal(refused, hasRun ? undefined : last) ?? `I know no more repairs for ${name} in ${path}.`;
  if (restores(edits.at(-1))) return { say: `${why} I have taken my last guess back: ${path} is as it was.${offer}` };
  const guess = guesses[edits.length];
  if (passes) {
    return { say: `All tests pass now. In ${path} I changed ${guesses[edits.length - 1]?.what}, in ${name}.` };
  }
  if (hasRun && refused === undefined) {
    if (edits.length === runs.length) return calling("I run the tests again.", run);
    const again = edits.length === 0 ? "" : "That was not it. ";
    const call = guess && change(guess.after);
    if (call !== undefined && "content" in call.input && NOT_EXACT.test(source.output)) {
      return {
        say: `${path} is not shown exactly, so I do not write it as a whole. --preset coding has a tool that edits.`,
      };
    }
    if (guess !== undefined) return calling(`${again}In ${name} I change ${guess.what}.`, call);
  }
  if (edits.length === 0) return { say: why };
  if (restores(refused)) return { say: `${why} My last guess is still in ${path}: undo restores it.` };
  return calling(`${hasRun ? "That was not it. " : ""}${why} I take my last guess back.`, change(original));
}

function refusal(edit: Done | undefined, run: Done | undefined): string | undefined {
  if (edit !== undefined) return `The file could not be edited: ${firstLine(edit.output)}`;
  return run === undefined ? undefined : `The tests could not be run: ${firstLine(run.output)}`;
}

/** Returns the names in a listing, without what tools write around it. */
function namesIn(listing: string): readonly string[] {
  const names = listing.split("\n").map((line) =>
    line
      .replace(/^[\d-]{10} [\d:]{5} +\S+ {2}/, "")
      .trim()
      .replace(/\/$/, ""),
  );
  return names.filter((name) => name !== "" && !/^(exit code: \d+|stdout:|stderr:|\(.*\)|\[.*\])$/.test(name));
}

/** Returns the command that runs the tests, or a file to read first; `undefined` if there are no tests. */
function testCommand(
  listed: readonly string[],
  reading: (path: string) => Done | undefined,
): string | { readonly say: string; readonly path: string } | undefined {
  if (listed.includes("package.json")) {
    const read = reading("package.json");
    if (read === undefined) return { say: "There is a package.json: I look how it runs tests.", path: "package.json" };
    if (/"test"\s*:/.test(read.output)) return "npm test";
  }
  // Without bytecode: Python takes old bytecode for current if the file was changed within the same second.
  const pytest = "python3 -B -m pytest -q --tb=native -p no:cacheprovider";
  const python = listed.find((name) => PYTHON_TEST.test(name));
  if (python !== undefined) {
    const read = reading(python);
    if (read === undefined) return { say: "There are tests of Python. I look how they are written.", path: python };
    return /^(import|from) unittest\b/m.test(read.output) ? "python3 -B -m unittest" : pytest;
  }
  if (listed.some((name) => /\.test\.[cm]?js$/.test(name) || name === "test")) return "node --test";
  const isPython = listed.some((name) =>
    /^(pyproject\.toml|setup\.(py|cfg)|pytest\.ini|conftest\.py|.*\.py)$/.test(name),
  );
  return isPython && listed.includes("tests") ? pytest : undefined;
}

function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-5).join("\n");
}
