import { resolve } from "node:path";
import { findConfig } from "../../app/config/find.ts";
import { ConfigError } from "../../app/config/problem.ts";
import { readSettings } from "../../app/config/read-settings.ts";
import { type Settings, defaultSettings, variablesIn } from "../../app/config/settings.ts";
import { homeOf, keyFile, stateFolder } from "../../app/config/state.ts";
import { createTrust } from "../../app/config/trust.ts";
import { labelOf } from "../../connect/guard/hook-settings.ts";
import { runProgram } from "../../machine/programs/start.ts";
import { ruleWarnings } from "../../policy/rules/warnings.ts";
import { quoteWord } from "../../core/util/quote.ts";
import { plural } from "../../core/util/text.ts";
import { handlersIn, programsOf } from "../hooks.ts";
import { foundKeys, localOllama } from "../keys.ts";
import type { GlobalOptions } from "../options.ts";
import { loadedSettings } from "../settings.ts";
import { trustFor } from "../sources.ts";
import { hasTerminal } from "../terminal.ts";
import type { Check, Finding } from "./check.ts";
import type { Io } from "../io.ts";

/** Checks what configures Handrail: files and options, model providers, and where a person can be asked. */
export const settings = (options: GlobalOptions): readonly Check[] =>
  [
    { name: "configuration", required: true, fix: "handrail tools", run: () => configuration(options) },
    {
      name: "models",
      required: false,
      fix: `chmod 600 ${keyFile(options.io.env)}`,
      run: (signal: AbortSignal) => models(options, signal),
    },
    { name: "hooks", required: false, fix: "handrail trust", run: () => hooks(options) },
    { name: "approvals", required: false, fix: "tty", run: async () => approvals(options.io) },
  ].map((check) => ({ ...check, group: "settings" }));

/** Returns the settings. Invalid settings are reported by another check: here the defaults stand in for them. */
export async function settingsOf(options: GlobalOptions): Promise<Settings> {
  return loadedSettings(options).then(
    (loaded) => loaded.settings,
    () => defaultSettings(options.preset),
  );
}

/** Which files configure Handrail, and whether they and the options are valid. */
async function configuration(options: GlobalOptions): Promise<Finding> {
  const { config } = options;
  const workDir = options.target === undefined ? options.workDir : undefined;
  const { env, cwd } = options.io;
  const files = findConfig({
    ...{ env, cwd },
    ...(config !== undefined && { named: config }),
    ...(workDir !== undefined && { from: workDir }),
  });
  const names = [...Object.values(files), ...variablesIn(env)];
  try {
    const { project, warnings: wrong } = await readSettings(files, { env, cwd, trust: createTrust(stateFolder(env)) });
    if (wrong.length > 0) throw new ConfigError(wrong); // the others warn and go on
    const { settings: loaded } = await loadedSettings(options);
    if (names.length === 0) return { status: "ok", detail: "no file and no variable; the defaults apply" };
    const waits = project !== undefined && project.asks.length > 0 && project.standing !== "trusted";
    const untrusted = waits ? `; some settings have no effect (see: handrail trust)` : "";
    const warnings = ruleWarnings(loaded.policy.commands);
    return { status: "ok", detail: [`${names.join(", ")}${untrusted}`, ...warnings].join("\n") };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [first] = error.problems;
    const where = first?.place === undefined ? "" : `+${first.place.line} `;
    return {
      status: "broken",
      detail: `${plural(error.problems.length, "problem")}\n${error.message.split("\n").slice(1).join("\n")}`,
      fix: `\${EDITOR:-vi} ${where}${quoteWord(first?.file ?? "")}`,
    };
  }
}

/** Which hooks there are, and whether their programs exist and may be started. */
async function hooks(options: GlobalOptions): Promise<Finding> {
  const loaded = await settingsOf(options);
  const all = handlersIn(loaded.hooks);
  if (all.length === 0) return { status: "ok", detail: "none" };
  const trust = trustFor(loaded, options);
  const folder = resolve(
    options.io.cwd,
    options.target === undefined ? (options.workDir ?? ".") : homeOf(options.io.env),
  );
  const problems = await Promise.all(
    all.map(async ([event, handler]) => {
      const programs = await programsOf(options.io, handler, event, folder, trust);
      const found = await Promise.all(
        programs.map(async ({ argv, opened }) => {
          const [program = ""] = argv;
          if (!(await isRunnable(program, folder))) return [`${event}: there is no program ${program}`];
          const why = await trust.mayStart(argv, opened);
          return why === undefined ? [] : [`${event}: ${labelOf(handler)} ${why}`];
        }),
      );
      return found.flat();
    }),
  );
  const detail = all.map(([event, handler]) => `${event}: ${labelOf(handler)}`).join("\n");
  const wrong = problems.flat();
  if (wrong.length === 0) return { status: "ok", detail };
  return {
    status: "broken",
    detail: [detail, ...wrong].join("\n"),
    fix: "handrail trust, or correct hooks in the configuration",
  };
}

/** Whether the shell finds a program: a file, a name on the PATH, or a command of its own. */
async function isRunnable(program: string, folder: string): Promise<boolean> {
  const { code } = await runProgram(["/bin/sh", "-c", 'command -v -- "$1"', "sh", program], { cwd: folder });
  return code === 0;
}

/** The default addresses of local servers: LM Studio, vLLM, llama.cpp. */
const LOCAL = [1234, 8000, 8080].map((port) => `http://127.0.0.1:${port}/v1`);

/** How long to wait for a local server, in milliseconds. A running server answers at once. */
const ANSWER_MS = 1_500;

/** Which model providers have a key, and which local server answers. */
async function models(options: GlobalOptions, signal: AbortSignal): Promise<Finding> {
  const [keys, ollama, { model }] = await Promise.all([
    foundKeys(options.io),
    localOllama(options.io),
    settingsOf(options),
  ]);
  const configured = model?.baseUrl === undefined ? [] : [model.baseUrl];
  const servers = [...new Set([...configured, ...LOCAL])];
  const answers = await Promise.all(servers.map((url) => answersAt(url, signal)));
  const found = [
    ...keys.map(({ provider }) => `${provider} (key)`),
    ...(ollama.models === undefined ? [] : [`ollama (${ollama.url} has ${plural(ollama.models.length, "model")})`]),
    ...servers.filter((_, index) => answers[index]).map((url) => `openai-compatible (${url} answers)`),
  ];
  if (configured.length > 0 && !answers[0]) {
    const detail = `${configured[0]} does not answer`;
    return { status: "broken", detail, fix: "start the server, or correct model.base_url in the configuration" };
  }
  if (found.length > 0) return { status: "ok", detail: found.join(", ") };
  return {
    status: "missing",
    detail: "no API key and no local server: only --model demo works",
    fix: "handrail login   (or export ANTHROPIC_API_KEY=…, or start a local server such as Ollama)",
  };
}

async function answersAt(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const how = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const response = await fetch(`${url.replace(/\/$/, "")}/models`, { signal: how });
    await response.body?.cancel();
    return (response.headers.get("content-type") ?? "").includes("json");
  } catch {
    return false;
  }
}

function approvals(io: Io): Finding {
  if (hasTerminal(io)) return { status: "ok", detail: "approval questions appear on this terminal" };
  const detail = "no terminal here: calls that need approval are denied, unless an MCP client can ask";
  return { status: "missing", detail, fix: "handrail call … --yes   (approves in advance)" };
}
