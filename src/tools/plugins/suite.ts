import { tmpdir } from "node:os";
import { local } from "../../machine/local/backend.ts";
import type { Backend, Process } from "../../core/contract/backend.ts";
import { foreignTool } from "../../core/call/foreign-tool.ts";
import { requireValidSchemas } from "../../core/call/schema-fault.ts";
import { validate } from "../../core/call/validate.ts";
import { type PluginConnection, type PluginResult, connect } from "./connection.ts";
import { isRecord } from "../../core/util/record.ts";
import { pause } from "../../core/util/abort.ts";
import { type CasesOf, type TestRunner, registerCases } from "../../core/util/test-cases.ts";

export interface PluginSuiteOptions {
  /** The prefix of the titles. */
  readonly name: string;
  /** The program: a path, or a name to look up on the PATH. */
  readonly path: string;
  readonly args?: readonly string[];
  /** Variables that are added to the clean environment of commands. */
  readonly env?: { readonly [name: string]: string };
  /** The folder in which it starts. Default: the current folder. */
  readonly workDir?: string;
  /** Calls that must succeed, several times each, by tool. Default: the `examples` in the tools' schemas. */
  readonly calls?: { readonly [tool: string]: readonly object[] };
  /** How long the plugin may take to name its tools, and for each call, in milliseconds. Default 30,000. */
  readonly withinMs?: number;
  /** Titles of tests to skip, each with its reason, which is shown. */
  readonly skip?: { readonly [title: string]: string };
}

/** How long a plugin may take to exit after its stdin has ended, in milliseconds. */
const END_MS = 3_000;

/** A running plugin. */
interface Started extends PluginConnection {
  readonly process: Process;
  /** Faults in the plugin's messages. */
  readonly faults: readonly string[];
  /** Returns how often the plugin has named its tools again. */
  readonly named: () => number;
  perform(name: string, params: object, signal?: AbortSignal): Promise<PluginResult>;
}

/**
 * Tests a plugin against the protocol of docs/plugins.md. Calls its tools only with the examples in its schemas, or
 * those in `calls`.
 *
 * @throws Error at once when `skip` names an unknown test.
 */
export function pluginSuite(options: PluginSuiteOptions, runner: TestRunner): void {
  const { name, path, args = [], env = {}, workDir = ".", calls = {}, withinMs = 30_000, skip = {} } = options;
  let backend: Backend | undefined;
  let ids = 0;

  const start = async (): Promise<Started> => {
    backend ??= await local({ workDir, outputFolder: tmpdir() });
    const process = await backend.spawn({ argv: [path, ...args], env, stdin: "pipe", streams: "live", passEnv: false });
    const faults: string[] = [];
    let named = 0;
    const connection = await connect(process, {
      ...{ first: "init", startMs: withinMs, quietMs: withinMs },
      onTools: () => void named++,
      onFault: (fault) => void faults.push(fault),
      mask: (text) => text,
    });
    return {
      ...connection,
      ...{ process, faults, named: () => named },
      perform: (tool, params, signal = new AbortController().signal) =>
        connection.call({ id: `call-${++ids}`, name: tool, params, signal, onUpdate: () => {} }),
    };
  };

  /** Returns each tool with its examples. */
  const examplesOf = (started: Started) =>
    started.tools.flatMap((given) => {
      const { name: tool, parameters } = isRecord(given) ? given : {};
      const own = isRecord(parameters) && Array.isArray(parameters["examples"]) ? parameters["examples"] : [];
      const examples = typeof tool === "string" ? (calls[tool] ?? own.filter(isRecord)) : [];
      return examples.map((params) => ({ tool: String(tool), params }));
    });

  /** Requires that the plugin still names its tools after the line. */
  const survives = async (started: Started, line: string): Promise<void> => {
    const before = started.named();
    await started.process.write(`${line}\n`);
    await started.process.write(`{"type":"init","tools":[]}\n{"type":"describe"}\n`);
    const ended = started.ended.then((how) => `has ended: ${how}`);
    const how = await Promise.race([ended, namedAgain(started, before, withinMs)]);
    require(how === true, `after the line ${line} the plugin ${String(how)}`);
  };

  const cases: CasesOf<Started> = {
    "names its tools, each with a name, a description and a valid schema": async ({ tools }) => {
      require(tools.length > 0, "expected at least one tool, got none");
      for (const given of tools) {
        require(isRecord(given), `expected a tool to be an object, got ${JSON.stringify(given)}`);
        const { name: tool, description, parameters } = given as { readonly [field: string]: unknown };
        require(typeof tool === "string", `expected "name" to be a string in ${JSON.stringify(given)}`);
        require(typeof description === "string" &&
          description !== "", `tool ${JSON.stringify(tool)}: expected a "description"`);
        const { params_hint: hint = "", user_facing: isShown = true } = given as { readonly [field: string]: unknown };
        require(typeof hint === "string", `tool ${JSON.stringify(tool)}: expected "params_hint" to be a string`);
        require(typeof isShown === "boolean", `tool ${JSON.stringify(tool)}: expected "user_facing" to be a boolean`);
        require(isRecord(parameters), `tool ${JSON.stringify(tool)}: expected "parameters", a JSON Schema`);
        const made = { from: "plugin:test", tool: String(tool), description: String(description), schema: parameters };
        requireValidSchemas([foreignTool({ ...made, run: async () => null })]);
      }
    },
    "writes nothing to stdout but messages": async (started) => {
      for (const { tool, params } of examplesOf(started)) await started.perform(tool, params);
      require(started.faults.length === 0, `the plugin ${started.faults.join(" The plugin ")}`);
    },
    "ends when its stdin ends": async ({ process }) => {
      await process.endInput();
      const hasEnded = await Promise.race([process.exit.then(() => true), pause(END_MS).then(() => false)]);
      require(hasEnded, `expected it to end within ${END_MS / 1_000} s after its stdin has ended; it still runs`);
    },
    "passes over a message of a type that it does not know": (started) => survives(started, '{"type":"handrail-test"}'),
    "passes over the cancel of a call that it does not have": (started) =>
      survives(started, '{"type":"cancel","call_id":"none"}'),
    "answers each example without an error": async (started) => {
      const named = started.tools.map((given) => (isRecord(given) ? given["name"] : undefined));
      for (const tool of Object.keys(calls)) require(named.includes(tool), `there is no tool ${tool} to call`);
      for (const { tool, params } of examplesOf(started)) {
        const definition = started.tools.find((given) => isRecord(given) && given["name"] === tool) as {
          parameters: object;
        };
        const valid = await validate({ input: { json: { ...definition.parameters } } }, params);
        require(valid.ok, `the example ${JSON.stringify(params)} of ${tool} does not fit its schema`);
        const { content, isError } = await started.perform(tool, params);
        const error = JSON.stringify(content);
        require(!isError, `${tool} ${JSON.stringify(params)}: expected a result, got the error ${error}`);
      }
    },
    "answers calls that are given at once, each by its call_id": async (started) => {
      const examples = examplesOf(started);
      const each = (example: (typeof examples)[number]) => started.perform(example.tool, example.params);
      await Promise.all([...examples, ...examples].map(each));
      require(started.faults.length === 0, `the plugin ${started.faults.join(" The plugin ")}`);
    },
    "answers again after a call was cancelled": async (started) => {
      const [example] = examplesOf(started);
      if (example === undefined || started.form === "describe") return; // the older form has no cancel
      const stop = new AbortController();
      const cancelled = started.perform(example.tool, example.params, stop.signal).catch(() => undefined);
      stop.abort(new Error("cancelled"));
      await cancelled;
      await started.perform(example.tool, example.params);
    },
  };

  let shared: Promise<Started> | undefined;
  const run = async (perform: (given: Started) => Promise<void>): Promise<void> => {
    shared ??= start();
    const started = await shared;
    try {
      await perform(started);
    } catch (error) {
      await started.close();
      throw error;
    } finally {
      // If a test has ended the plugin, or failed, the next test starts its own.
      if ((await Promise.race([started.ended, pause(0)])) !== undefined) shared = undefined;
    }
  };
  registerCases({ name, groups: [["a plugin", cases]], skip }, runner, run, async () => {
    await (await shared?.catch(() => undefined))?.close();
    await backend?.close();
  });
}

async function namedAgain({ named }: Started, before: number, withinMs: number): Promise<true | string> {
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await pause(5)) if (named() > before) return true;
  return "does not name its tools when it is asked again";
}

function require(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
