import { existsSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { oneLine } from "../../core/output/terminal-text.ts";
import { pluginName } from "../../tools/plugins/plugin.ts";
import { pluginSuite } from "../../tools/plugins/suite.ts";
import { parseJson } from "../../core/util/json.ts";
import { variablesNamed } from "../../core/util/environment.ts";
import { messageOf } from "../../core/util/errors.ts";
import { plural } from "../../core/util/text.ts";
import { quoteWords } from "../../core/util/quote.ts";
import { EXIT } from "../exit.ts";
import { newFolder } from "../new-folder.ts";
import type { GlobalOptions, Language } from "../options.ts";
import { loadedSettings } from "../settings.ts";
import { trustFor } from "../sources.ts";
import { say, sayJson } from "../say.ts";
import type { Io } from "../io.ts";

/** The commands of `handrail plugin`. */
export const run = { new: newPlugin, test: testPlugin, list: listPlugins };

/** How a plugin of a language is copied and used: the end of its file's name, what it needs, and how it is built. */
const COPIES: {
  readonly [L in Language]: { readonly ending: string; readonly needs: string; readonly isBuilt?: true };
} = {
  js: { ending: ".mjs", needs: "Node" },
  python: { ending: ".py", needs: "Python 3" },
  go: { ending: ".go", needs: "Go", isBuilt: true },
  bash: { ending: ".sh", needs: "bash and jq" },
};

/** Copies a plugin of the examples that works to a new folder with the plugin's name, in the current folder. */
async function newPlugin(name: string, { io, lang }: GlobalOptions & { readonly lang: Language }): Promise<void> {
  const { ending, needs, isBuilt = false } = COPIES[lang];
  const files = [{ from: `plugins/processed${ending}`, to: name + ending }];
  const written = await newFolder(io.cwd, name, files, { tool: "my_plugin_tool", command: "plugin new" });
  const program = `./${name}/${isBuilt ? name : name + ending}`;
  say(
    io,
    `Wrote ${written}. It needs ${needs}.\n` +
      (isBuilt ? `Build it: go build -o ${program} ${written}\n` : "") +
      `Test it:  handrail plugin test ${program}\n` +
      `Use it, in handrail.yaml:\n  tools:\n    plugins:\n      - path: ${program}\nThen:     handrail trust`,
  );
}

/** @throws Error if there is no such file, or no program with this name on the PATH. */
function requireProgram(io: Io, path: string): void {
  const isPath = path.includes("/");
  if (isPath && !existsSync(resolve(io.cwd, path)))
    throw new Error(`plugin test: there is no file ${oneLine(resolve(io.cwd, path), 500)}`);
  const folders = (io.env["PATH"] ?? "").split(delimiter);
  if (isPath || folders.some((folder) => existsSync(join(folder, path)))) return;
  const hint = existsSync(resolve(io.cwd, path)) ? `. For the file in this folder write ./${path}` : "";
  throw new Error(`plugin test: there is no program ${oneLine(path, 500)} on the PATH${hint}`);
}

interface PluginTestOptions extends GlobalOptions {
  /** Calls that must succeed, as "TOOL JSON". */
  readonly call?: readonly string[];
  /** The names of environment variables that the plugin gets. */
  readonly env?: readonly string[];
}

/** Runs the plugin suite, and prints each test. Exit code 1 when a test fails. */
async function testPlugin(path: string, args: readonly string[], options: PluginTestOptions): Promise<number> {
  const tests: { readonly title: string; readonly body: () => Promise<void> }[] = [];
  const ends: (() => Promise<void>)[] = [];
  const test = (title: string, body: () => Promise<void>) => void tests.push({ title, body });
  const { env = [], workDir = ".", call = [] } = options;
  requireProgram(options.io, path);
  pluginSuite(
    {
      ...{
        name: path,
        path: path.includes("/") ? resolve(options.io.cwd, path) : path,
        args,
        workDir: resolve(options.io.cwd, workDir),
        calls: callsOf(call),
      },
      env: variablesNamed(env, options.io.env),
    },
    {
      describe: (_, body) => body(),
      test: Object.assign(test, { skip: () => undefined }),
      afterAll: (end) => void ends.push(end),
    },
  );
  let failed = 0;
  for (const { title, body } of tests) {
    const problem = await body().then(() => undefined, messageOf);
    if (problem !== undefined) failed++;
    say(options.io, problem === undefined ? `ok      ${title}` : `FAILED  ${title}: ${oneLine(problem, 1_000)}`);
  }
  for (const end of ends) await end();
  say(options.io, `${plural(tests.length - failed, "test")} passed, ${failed} failed`);
  return failed === 0 ? EXIT.ok : EXIT.notSucceeded;
}

/** Groups the calls by tool. */
function callsOf(given: readonly string[]): { readonly [tool: string]: readonly object[] } {
  const calls = new Map<string, object[]>();
  for (const words of given) {
    const [, tool = "", json = ""] = /^(\S+)\s+(.*)$/s.exec(words) ?? [];
    const parsed = parseJson(json);
    if (!parsed.ok || typeof parsed.value !== "object" || parsed.value === null) {
      throw new Error(`plugin test: expected --call 'TOOL {"argument": …}', got ${oneLine(words, 200)}`);
    }
    calls.set(tool, [...(calls.get(tool) ?? []), parsed.value]);
  }
  return Object.fromEntries(calls);
}

const HELD = "is not started: its project is not trusted. See: handrail trust";

/** Prints the configured plugins: name, whether it may be started, and the command. Starts none. */
async function listPlugins(options: GlobalOptions & { readonly json?: true }): Promise<void> {
  const { settings } = await loadedSettings(options);
  const trust = trustFor(settings, options);
  const plugins = await Promise.all(
    settings.tools.plugins.map(async ({ path, args, env, project, name, sandbox = project !== undefined }) => {
      const refused = project === "not trusted" ? HELD : await trust.mayStart([path, ...args]);
      const trusted = refused === undefined;
      return { name: name ?? pluginName(path, args), path, args, env, sandbox, trusted, ...(!trusted && { refused }) };
    }),
  );
  if (options.json) return sayJson(options.io, plugins);
  if (plugins.length === 0) return say(options.io, "No plugins. Add one: tools.plugins in the configuration.");
  const width = Math.max(...plugins.map(({ name }) => name.length));
  for (const { name, path, args, sandbox, refused } of plugins) {
    const standing = refused ?? (sandbox ? "in the sandbox" : "no sandbox");
    say(options.io, `${name.padEnd(width)}  ${oneLine(quoteWords([path, ...args]), 200)}  ${standing}`);
  }
}
