import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { type Repair, failingTest, repairsOf } from "./demo-repair.ts";

/** A call that the demo model made, and what the tool returned. */
interface Done {
  readonly name: string;
  readonly input: { readonly [key: string]: unknown };
  readonly output: string;
  readonly failed: boolean;
}

/** The next step of the model: a call, or only text. */
interface Step {
  readonly say: string;
  readonly call?: { readonly name: string; readonly input: { readonly [key: string]: unknown } };
}

const INTRODUCTION =
  "I am the demo model: a short script that comes with Handrail, not a language model. I use the real tools: " +
  "I look for a failing test of JavaScript here, read what it tests, and try to repair that.\n\n";

/** The maximum number of repairs. More would be guessing. */
const MOST_REPAIRS = 8;

/**
 * A scripted model that needs no key. It decides from the results of tools: it lists the folder, runs the tests, reads
 * the failing test and the tested source, edits it, and runs the tests again, until they pass or it has no more
 * repairs.
 */
export function demoModel(): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    provider: "demo",
    modelId: "demo",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the demo model only streams")),
    async doStream(options) {
      const parts = partsOf(nextStep(options), JSON.stringify(options.prompt).length);
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

function partsOf({ say, call }: Step, promptLength: number): readonly LanguageModelV3StreamPart[] {
  const input = JSON.stringify(call?.input ?? {});
  const tokens = (length: number) => Math.ceil(length / 4);
  const output = tokens(say.length + input.length);
  return [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "text" },
    ...(say.match(/\S+\s*/g) ?? []).map((delta) => ({ type: "text-delta", id: "text", delta }) as const),
    { type: "text-end", id: "text" },
    ...(call === undefined
      ? []
      : [{ type: "tool-call", toolCallId: `demo-${promptLength}`, toolName: call.name, input } as const]),
    {
      type: "finish",
      finishReason: { unified: call === undefined ? "stop" : "tool-calls", raw: undefined },
      usage: {
        inputTokens: { total: tokens(promptLength), noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: output, text: output, reasoning: undefined },
      },
    },
  ];
}

function nextStep({ prompt, tools = [] }: LanguageModelV3CallOptions): Step {
  const offered = tools.map(({ name }) => name);
  const missing = ["bash", "read", "edit"].filter((name) => !offered.includes(name));
  if (missing.length > 0) {
    return { say: `${INTRODUCTION}I need the tools bash, read and edit; ${missing.join(", ")} is not offered here.` };
  }
  if (isAskedToEnd(prompt)) return { say: "I stop here, at the limit of this turn. My work is not done." };
  const done = callsSince(prompt);
  const last = done.at(-1);
  if (last === undefined) return { say: `${INTRODUCTION}First I look at the folder.`, call: bash("ls") };
  const names = done[0]?.output === "(no output)" ? "" : (done[0]?.output ?? "");
  const listed = names.split("\n").flatMap((line) => line.trim() || []);
  const command = testCommand(listed, done);
  if (command === undefined) return withoutTests(listed, done);
  if (typeof command !== "string") return command;
  const runs = done.filter(({ input }) => input["command"] === command);
  const run = runs.at(-1);
  if (run === undefined) return { say: `I run the tests: ${command}.`, call: bash(command) };
  if (run.failed) return { say: `The tests could not be run: ${firstLine(run.output)}` };
  return afterTests(command, runs, done, workDirIn(prompt));
}

/** Returns true when the agent has reached a limit and asks for a last message. */
function isAskedToEnd(prompt: LanguageModelV3CallOptions["prompt"]): boolean {
  const last = prompt.at(-1);
  if (last?.role !== "user") return false;
  return last.content.some((part) => part.type === "text" && part.text.includes("Call no more tools."));
}

/** Reads the working directory from the instructions. */
function workDirIn(prompt: LanguageModelV3CallOptions["prompt"]): string {
  const [system] = prompt;
  const instructions = system?.role === "system" ? system.content : "";
  return /^- Working directory: (.+)$/m.exec(instructions)?.[1] ?? "/";
}

/** Returns the command that runs the tests; a step if a file must be read first; `undefined` if it finds no tests. */
function testCommand(listed: readonly string[], done: readonly Done[]): string | Step | undefined {
  if (listed.includes("package.json")) {
    const read = done.find(({ input }) => input["path"] === "package.json");
    if (read === undefined)
      return { say: "There is a package.json: I look how it runs tests.", call: file("package.json") };
    if (/"test"\s*:/.test(read.output)) return "npm test";
  }
  const hasTests = listed.some((name) => /\.test\.[cm]?js$/.test(name) || name === "test");
  return hasTests ? "node --test" : undefined;
}

function withoutTests(listed: readonly string[], done: readonly Done[]): Step {
  const readme = listed.find((name) => /^readme/i.test(name));
  const read = readme === undefined ? undefined : done.find(({ input }) => input["path"] === readme);
  if (readme !== undefined && read === undefined) {
    return { say: "There are no tests that I know how to run. I read what this is.", call: file(readme) };
  }
  const about = read === undefined ? "" : ` ${readme} begins: ${firstLine(read.output)}`;
  const shown = listed.length === 0 ? "is empty" : `has ${listed.length} entries: ${listed.slice(0, 10).join(", ")}`;
  return { say: `This folder ${shown}.${about} There are no tests that I know how to run.` };
}

function afterTests(command: string, runs: readonly Done[], done: readonly Done[], workDir: string): Step {
  const { output = "" } = runs.at(-1) ?? {};
  const edits = done.filter(({ name, failed }) => name === "edit" && !failed);
  const refused = done.find(({ name, failed }) => name === "edit" && failed);
  if (refused !== undefined) return { say: `The file could not be edited: ${firstLine(refused.output)}` };
  const passes = !/^Exit code: \d+/m.test(output);
  if (passes && edits.length === 0) return { say: "All tests pass. There is nothing to repair." };
  const failure = failingTest(runs[0]?.output ?? "", workDir);
  if (failure === undefined) return { say: `A test fails, and I cannot tell where:\n${lastLines(output)}` };
  const test = done.find(({ input }) => input["path"] === failure.file);
  if (test === undefined) {
    return { say: `A test fails: ${failure.what}. I read ${failure.file}.`, call: file(failure.file) };
  }
  if (edits.length >= runs.length) return { say: "I run the tests again.", call: bash(command) };
  const source = repairsOf(failure, test.output, (path) => done.find(({ input }) => input["path"] === path)?.output);
  if (source === undefined) return { say: `I cannot tell what ${failure.file} tests on line ${failure.line}.` };
  if (source.repairs === undefined) {
    return { say: `It tests ${source.name} of ${source.path}. I read that.`, call: file(source.path) };
  }
  if (passes) {
    const what = source.repairs[edits.length - 1]?.what ?? "the source";
    return { say: `All tests pass now. In ${source.path} I changed ${what}, in ${source.name}.` };
  }
  const repair = source.repairs.slice(0, MOST_REPAIRS)[edits.length];
  if (repair === undefined) return { say: `I know no more repairs for ${source.name} in ${source.path}.` };
  return tryRepair(source.path, source.name, repair, edits);
}

/** Applies a repair. The same edit replaces the previous attempt, if any. */
function tryRepair(path: string, name: string, repair: Repair, edits: readonly Done[]): Step {
  const before = edits.at(-1)?.input;
  const edit = { path, old_text: before === undefined ? repair.before : before["new_text"], new_text: repair.after };
  const again = before === undefined ? "" : "That was not it. ";
  return { say: `${again}In ${name} I change ${repair.what}.`, call: { name: "edit", input: edit } };
}

/** Returns the calls since the last message of the user, with their results. */
function callsSince(prompt: LanguageModelV3CallOptions["prompt"]): readonly Done[] {
  const since = prompt.slice(prompt.findLastIndex(({ role }) => role === "user") + 1);
  const results = new Map<string, { readonly output: string; readonly failed: boolean }>();
  for (const message of since) {
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      const { output } = part;
      if (output.type !== "text" && output.type !== "error-text") continue;
      results.set(part.toolCallId, { output: output.value, failed: output.type !== "text" });
    }
  }
  return since.flatMap((message) => {
    if (message.role !== "assistant") return [];
    return message.content.flatMap((part): readonly Done[] => {
      if (part.type !== "tool-call") return [];
      const result = results.get(part.toolCallId) ?? { output: "", failed: true };
      return [{ name: part.toolName, input: part.input as Done["input"], ...result }];
    });
  });
}

function bash(command: string): NonNullable<Step["call"]> {
  return { name: "bash", input: { command } };
}

function file(path: string): NonNullable<Step["call"]> {
  return { name: "read", input: { path } };
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}

function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-5).join("\n");
}
