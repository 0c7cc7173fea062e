import { basename, resolve } from "node:path";
import { MCP_FILE, PROJECT_FILE, findConfig, findProjectFile } from "../../app/config/find.ts";
import { type McpFile, readMcpFile } from "../../app/config/mcp-file.ts";
import { inRealFolder } from "../../app/config/read-file.ts";
import { hashOf } from "../../app/config/program-trust.ts";
import { problemLine } from "../../app/config/problem.ts";
import { type ProjectStanding, readSettings } from "../../app/config/read-settings.ts";
import type { Settings } from "../../app/config/settings.ts";
import { stateFolder } from "../../app/config/state.ts";
import { type Trust, createTrust } from "../../app/config/trust.ts";
import type { PluginSetting } from "../../app/config/values.ts";
import type { Env } from "../../core/contract/effect.ts";
import { unifiedDiff } from "../../core/files/diff.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { writtenPlaces } from "../../policy/provenance/written-places.ts";
import { quoteWords } from "../../core/util/quote.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { moduleName } from "../../tools/plugins/module.ts";
import { pluginName } from "../../tools/plugins/plugin.ts";
import { handlersIn, programsOf as programsOfHook } from "../hooks.ts";
import { placing, trustFor } from "../sources.ts";
import { hasTerminal, isAgreed } from "../terminal.ts";
import { note, say } from "../say.ts";
import type { Io } from "../io.ts";

/**
 * Shows what needs the user's trust: settings of a project's file that only the user may set, programs in the workspace
 * that plugins run, and tools that have changed. Asks at the user's terminal; no option answers this. `list` shows what
 * is trusted, `revoke` ends the trust, `forget` is for a folder that the user has looked at. Exit code 1 when the file
 * is not trusted in the end.
 */
export async function run(
  file: string | undefined,
  { io, list, revoke, forget, workDir = "." }: GlobalOptions & { list?: true; revoke?: true; forget?: true },
): Promise<number | void> {
  const trusted = createTrust(stateFolder(io.env));
  if (forget) return await forgetPlace(io, file);
  if (list) return await showTrusted(io, trusted);
  const named = file === undefined ? undefined : resolve(io.cwd, file);
  const mcpFile = basename(named ?? "") === MCP_FILE ? named : findProjectFile(workDir, io, MCP_FILE);
  const path = named === undefined ? findProjectFile(workDir, io) : named === mcpFile ? undefined : named;
  if (path !== undefined && basename(path) !== PROJECT_FILE) {
    throw new Error(
      `trust: expected a project's ${PROJECT_FILE} or ${MCP_FILE}, got ${oneLine(path, 500)}; a file named ` +
        "with --config is your own and needs no trust",
    );
  }
  if (!revoke) return await offer(io, { path, mcpFile }, trusted, workDir);
  if (path === undefined && mcpFile === undefined) return say(io, NOTHING);
  for (const each of [path, mcpFile]) if (each !== undefined) await takeBack(io, each, trusted);
}

/** Something that a person is asked to trust. */
interface Offer {
  /** A description, in lines. */
  readonly text: string;
  accept(): Promise<void>;
}

const NOTHING = `There is no ${PROJECT_FILE} or ${MCP_FILE} here or above: nothing to trust.`;

/** Trusts nothing. */
const NOBODY: Pick<Trust, "standing"> = { standing: async () => "never trusted" };

interface Files {
  readonly path: string | undefined;
  readonly mcpFile: string | undefined;
}

async function offer(io: Io, { path, mcpFile }: Files, trusted: Trust, workDir: string): Promise<number | void> {
  // Read as if it were not trusted, so that everything it asks for is shown.
  const { user } = findConfig(io);
  const { project, settings, warnings } = await readSettings(
    { ...(user !== undefined && { user }), ...(path !== undefined && { project: path }) },
    { ...{ env: io.env, cwd: io.cwd }, trust: NOBODY },
  );
  for (const problem of warnings) note(io, `handrail: ${problemLine(problem)}`);
  const mcp = mcpFile === undefined ? undefined : await readMcpFile(mcpFile, NOBODY, {});
  const offers = [
    ...(await offersOfFile(project, trusted)),
    ...(await offersOfFile(mcp, trusted)),
    ...(await offersOfPrograms(
      [...programsOf(settings, mcp), ...(await programsOfHooks(io, settings, workDir))],
      trusted,
      { io, settings, workDir },
    )),
    ...(await offersOfTools(trusted)),
  ];
  if (offers.length === 0) {
    const file = path ?? mcpFile;
    if (file === undefined) return say(io, NOTHING);
    for (const problem of mcp?.problems ?? []) note(io, `handrail: ${oneLine(problem, 500)}`);
    if (path === undefined && mcp?.asks.length === 0 && mcp.problems.length > 0) {
      return EXIT.notSucceeded;
    }
    if (warnings.length > 0) return EXIT.notSucceeded;
    const isAsking = (project?.asks.length ?? 0) + (mcp?.asks.length ?? 0) > 0;
    return say(
      io,
      isAsking ? `${displayed(file)} is trusted already.` : `${displayed(file)} asks for nothing that needs trust.`,
    );
  }
  const asked = offers.map(({ text }) => text).join("\n");
  if (!hasTerminal(io)) {
    say(io, asked);
    note(io, "handrail: only a person can answer this: run handrail trust in a terminal (--yes does not count)");
    return EXIT.notSucceeded;
  }
  const what = displayed(path ?? mcpFile ?? "This");
  if (!(await isAgreed(io, `${asked}\nTrust it, as it is now? [y/N] `))) {
    say(io, `${what} is not trusted: this has no effect.`);
    return EXIT.notSucceeded;
  }
  for (const each of offers) await each.accept();
  say(io, `${what} is trusted until it changes.`);
}

/** Returns what the project's file asks for. For a changed file, marks what is new and what is no longer asked for. */
async function offersOfFile(
  project: Pick<ProjectStanding, "file" | "asks"> | undefined,
  trusted: Trust,
): Promise<readonly Offer[]> {
  if (project === undefined || project.asks.length === 0) return [];
  const { file, asks } = project;
  const standing = await trusted.standing(file);
  if (standing === "trusted") return [];
  const now = asks.map(({ key, gives }) => `${key}: ${gives}`);
  const before = standing === "changed" ? (await trusted.known(file.path))?.asked : undefined;
  const lines = asks.map(({ key, place, gives }) => {
    const mark = before === undefined || before.includes(`${key}: ${gives}`) ? "" : "NEW ";
    return `  line ${place.line}: ${mark}${oneLine(`${key}: ${gives}`, Infinity)}`;
  });
  const gone = (before ?? [])
    .filter((line) => !now.includes(line))
    .map((line) => `  no longer: ${oneLine(line, Infinity)}`);
  const changed = before === undefined ? "" : " It has changed since you trusted it.";
  const text = [`${displayed(file.path)} asks for settings that need your trust.${changed}`, ...lines, ...gone].join(
    "\n",
  );
  return [{ text: text.replace(".\n", ":\n"), accept: () => trusted.record({ ...file, asked: now }) }];
}

/** A program that provides tools, or is a hook. */
interface NamedProgram {
  readonly source: string;
  readonly argv: readonly string[];
  readonly setting: Pick<PluginSetting, "sandbox" | "cwd"> & {
    readonly env?: readonly string[];
    readonly setEnv?: Env;
  };
}

/** Returns the programs of plugins, modules and MCP servers, including those of a project that is not trusted. */
function programsOf({ tools }: Settings, mcp: McpFile | undefined): readonly NamedProgram[] {
  const plugins = tools.plugins.map((setting) => {
    const { path, args, name = pluginName(path, args) } = setting;
    return { source: `plugin:${name}`, argv: [path, ...args], setting };
  });
  const servers = Object.entries({ ...mcp?.named, ...tools.mcp }).flatMap(([name, setting]) => {
    const { command, args = [] } = setting;
    return command === undefined ? [] : [{ source: `mcp:${name}`, argv: [command, ...args], setting }];
  });
  const modules = tools.modules.map(({ path }) => ({ source: moduleName(path), argv: [path], setting: {} }));
  return [...plugins, ...modules, ...servers];
}

/** Returns the programs of hooks. */
async function programsOfHooks(io: Io, settings: Settings, workDir: string): Promise<readonly NamedProgram[]> {
  const trust = trustFor(settings, { io, workDir });
  const all = handlersIn(settings.hooks).map(([event, handler]) =>
    programsOfHook(io, handler, event, resolve(io.cwd, workDir), trust),
  );
  return (await Promise.all(all)).flat().map(({ source, argv, opened }) => {
    return { source, argv, setting: opened === undefined ? {} : { cwd: "workspace", sandbox: false } };
  });
}

/** Returns the programs and scripts in the workspace that plugins and servers run. */
async function offersOfPrograms(
  named: readonly NamedProgram[],
  trusted: Trust,
  { io, settings, workDir }: { readonly io: Io; readonly settings: Settings; readonly workDir: string },
): Promise<readonly Offer[]> {
  const programs = trustFor(settings, { io, workDir });
  const all = await Promise.all(
    named.map(async ({ source, argv, setting }): Promise<readonly Offer[]> => {
      const record = programs.byName(argv, { source });
      const { opened: isOpened } = await placing(programs, workDir)(source, argv, setting);
      const opened: Offer = {
        text:
          `${oneLine(source, 100)} starts ${oneLine(quoteWords(argv), 500)} in the workspace, OUTSIDE the sandbox. ` +
          "It may run code that a model has written there.",
        accept: () => trusted.record(record),
      };
      const byName = isOpened !== undefined && (await trusted.standing(record)) !== "trusted" ? [opened] : [];
      const files = await programs.files(argv);
      const standings = await Promise.all(files.map((file) => trusted.standing(file)));
      const offers = files.flatMap((file, index): readonly Offer[] => {
        if (standings[index] === "trusted") return [];
        const changed = standings[index] === "changed" ? " It has CHANGED since you trusted it." : "";
        const text =
          `${oneLine(source, 100)} runs ${displayed(file.path)} (sha256 ${file.sha256.slice(0, 12)}…), where a ` +
          `model can write.${changed}`;
        return [{ text, accept: () => trusted.record(file) }];
      });
      return [...byName, ...offers];
    }),
  );
  return all.flat();
}

/** Returns the tools that have changed since they were trusted. */
async function offersOfTools(trusted: Trust): Promise<readonly Offer[]> {
  return (await trusted.changedTools()).map(({ name, text, before }) => {
    const lines = unifiedDiff("trusted", "now", before, text).split("\n");
    const diff = lines.map((line) => `  ${oneLine(line, Infinity)}`.trimEnd()).join("\n");
    return {
      text: `The tools of ${oneLine(name, 1_000)} have changed:\n${diff}`,
      accept: () => trusted.acceptTools({ name, text }),
    };
  });
}

async function forgetPlace(io: Io, file: string | undefined): Promise<void> {
  if (file === undefined) throw new Error("trust: expected a folder, as in handrail trust --forget ~/bin");
  const path = inRealFolder(resolve(io.cwd, file));
  const was = await writtenPlaces(stateFolder(io.env)).forget(path);
  say(
    io,
    was ? `${displayed(path)} counts as yours again.` : `${displayed(path)} was not written by a model. See --list`,
  );
}

async function showTrusted(io: Io, trusted: Trust): Promise<void> {
  const [files, places] = await Promise.all([trusted.list(), writtenPlaces(stateFolder(io.env)).list()]);
  for (const path of places) say(io, `written  ${displayed(path)}`);
  if (files.length === 0) return say(io, "No file is trusted.");
  for (const { path, sha256 } of files) {
    const now = await hashOf(path).catch(() => undefined);
    const standing = now === undefined ? "gone" : now === sha256 ? "trusted" : "changed";
    say(io, `${standing.padEnd(7)}  ${displayed(path)}`);
  }
}

async function takeBack(io: Io, path: string, trusted: Trust): Promise<void> {
  const was = await trusted.revoke(inRealFolder(path));
  say(io, was ? `${displayed(path)} is not trusted any more.` : `${displayed(path)} was not trusted.`);
}

function displayed(path: string): string {
  return oneLine(path, 1_000);
}
