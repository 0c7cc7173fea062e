import { readFile, realpath, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { configFolder, homeOf } from "../../app/config/state.ts";
import { CLIENT, CLIENTS, type ClientName, type ToolInput } from "../../connect/guard/clients.ts";
import { type CodexTrust, codexTrust } from "../../connect/guard/codex-trust.ts";
import { fileOf, hasGuard, hooksWithGuard, isGuard } from "../../connect/guard/install.ts";
import { opencodePlugin } from "../../connect/guard/opencode-plugin.ts";
import { runProgram } from "../../machine/programs/start.ts";
import { terminalSafe } from "../../core/output/terminal-text.ts";
import { messageOf } from "../../core/util/errors.ts";
import { readClientFile, replaceClientFile, withValue, withoutValue } from "../client-file.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { say } from "../say.ts";
import { askOnTerminal } from "../terminal.ts";
import type { Io } from "../io.ts";

interface Where {
  /** Whether the project's file is written instead of the user's. */
  readonly project?: true;
}

/** The words that start the hook: this program file, whatever is in PATH later. */
const hookOf = ({ program: [node, file], cwd }: Io, client: ClientName) => [node, resolve(cwd, file), "hook", client];

export const run = {
  async list({ io }: GlobalOptions) {
    for (const client of CLIENTS) {
      const found = await Promise.all(
        [{}, { project: true } as const].map(async (where) => {
          const file = placeOf(io, client, where);
          return (await isInstalled(client, file)) ? [file] : [];
        }),
      );
      say(io, `${client.padEnd(12)}  ${found.flat().join(", ") || "not guarded"}`);
    }
  },

  async install(client: ClientName, options: GlobalOptions & Where) {
    const { io } = options;
    const file = placeOf(io, client, options);
    const before = (await readClientFile(file)) ?? "";
    const after = await changed(client, file, before, hookOf(io, client));
    const isPlugin = client === "opencode";
    if (isPlugin ? after === before : isDeepStrictEqual(await settingsIn(after), await settingsIn(before)))
      return say(io, `${file} has the guard already.`);
    say(io, `${CLIENT[client].title} will ask Handrail before every tool call. This is written to ${file}:\n`);
    say(io, terminalSafe(await difference(file, before, after)));
    if (!(await agrees("Write it?", options))) return;
    tellCopy(io, await replaceClientFile(file, after, 0o600));
    if (client === "codex")
      say(io, "Codex does not run these hooks until you have agreed to them: start `codex` once, and trust them.");
    say(io, `\`handrail guard test ${client}\` shows that it works; \`handrail guard remove ${client}\` takes it out.`);
  },

  async remove(client: ClientName, options: GlobalOptions & Where) {
    const { io } = options;
    const file = await installed(io, client, options);
    if (!(await agrees(`Take the guard out of ${file}?`, options))) return;
    if (client === "opencode") return unlink(file);
    tellCopy(
      io,
      await replaceClientFile(file, await changed(client, file, await readFile(file, "utf8"), undefined), 0o600),
    );
  },

  /**
   * Sends a harmless and a harmful call to the hook, in the client's own form, and shows whether the client runs it.
   */
  async test(client: ClientName, options: GlobalOptions & Where) {
    const { io } = options;
    const file = await installed(io, client, options);
    const harmless = await answerOf(io, client, "echo hello");
    const harmful = await answerOf(io, client, "rm -rf /");
    say(io, `echo hello   ${describe(harmless)}`);
    say(io, `rm -rf /     ${describe(harmful)}`);
    const isRight = harmless.code === 0 && !isRefused(harmless) && isRefused(harmful);
    const held = client === "codex" ? await heldByCodex(file, options) : undefined;
    if (held !== undefined) say(io, held);
    const isRun = isRight && held === undefined;
    say(
      io,
      isRun ? "The guard works." : isRight ? "The guard does not work yet." : "The guard does not work as it should.",
    );
    return isRun ? EXIT.ok : EXIT.notSucceeded;
  },
};

function placeOf(io: Io, client: ClientName, { project }: Where): string {
  const folders = { home: homeOf(io.env), config: dirname(configFolder(io.env)) };
  return fileOf(client, { ...folders, ...(project && { project: io.cwd }) });
}

async function isInstalled(client: ClientName, file: string): Promise<boolean> {
  const text = await readClientFile(file).catch(() => undefined);
  if (text === undefined) return false;
  return client === "opencode" || hasGuard(await settingsIn(text));
}

/** @throws Error when the file has no guard. */
async function installed(io: Io, client: ClientName, options: Where): Promise<string> {
  const file = placeOf(io, client, options);
  if (await isInstalled(client, file)) return file;
  throw new Error(`${file} has no guard. Run \`handrail guard install ${client}\` first.`);
}

/** Says why Codex does not run the hooks in this file; `undefined` if it does. */
async function heldByCodex(file: string, { io, project }: GlobalOptions & Where): Promise<string | undefined> {
  const home = io.env["CODEX_HOME"] ?? join(homeOf(io.env), ".codex");
  const written = (await readClientFile(join(home, "config.toml"))) ?? "";
  const { parse } = await import("smol-toml");
  const config = parse(written);
  const projects = config["projects"] as { readonly [folder: string]: { readonly trust_level?: string } } | undefined;
  if (project && projects?.[io.cwd]?.trust_level !== "trusted")
    return `Codex does not read ${file}: it does not trust this folder yet. Start \`codex\` here once, and trust it.`;
  const trust = codexTrust(
    [file, await realpath(file)],
    await settingsIn(await readFile(file, "utf8")),
    config,
    isGuard,
  );
  const held = Object.entries(trust).filter(([, what]) => what !== "runs");
  if (held.length === 0) return undefined;
  const why = held.map(([event, what]) => `${event}: ${TRUST[what]}`).join("; ");
  return (
    `Codex does not run the hooks in ${file} (${why}), and \`codex exec\` does not say so. ` +
    "Start `codex` once and trust them there (/hooks), or run `handrail guard test codex` with the CODEX_HOME of that Codex."
  );
}

const TRUST: { readonly [what in CodexTrust]: string } = {
  runs: "runs",
  unknown: "not trusted yet",
  changed: "changed since it was trusted",
  off: "switched off in config.toml",
};

/** The content of a JSON file, which may have comments. */
async function settingsIn(text: string): Promise<ToolInput> {
  const { parse } = await import("jsonc-parser");
  return (parse(text, [], { allowTrailingComma: true }) ?? {}) as ToolInput;
}

/** Returns the text of the file with the guard, or without it. Throws an Error that names a file with a mistake. */
async function changed(
  client: ClientName,
  file: string,
  before: string,
  hook: readonly string[] | undefined,
): Promise<string> {
  if (client === "opencode") return opencodePlugin(hook ?? []);
  const settings = await settingsIn(before);
  try {
    let text = before;
    if (client === "cursor" && settings["version"] === undefined)
      ({ text } = await withValue(text, "json", ["version"], 1));
    for (const [event, hooks] of Object.entries(hooksWithGuard(client, settings, hook)).toReversed()) {
      const path = ["hooks", event];
      text = hooks.length === 0 ? await withoutValue(text, path) : (await withValue(text, "json", path, hooks)).text;
    }
    return text;
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}. Nothing was written.`, { cause: error });
  }
}

function tellCopy(io: Io, copy: string | undefined): void {
  say(io, copy === undefined ? "Written." : `Written. The file as it was: ${copy}`);
}

async function difference(file: string, before: string, after: string): Promise<string> {
  return (await import("../../core/files/diff.ts")).unifiedDiff(before === "" ? undefined : file, file, before, after);
}

async function agrees(question: string, { io, yes }: GlobalOptions): Promise<boolean> {
  if (yes) return true;
  const answer = await askOnTerminal(io, `${question} [y/N] `, new AbortController().signal);
  if (answer === "yes") return true;
  if (answer === "no terminal") throw new Error("there is no terminal to ask at. Repeat the command with --yes.");
  say(io, "Nothing was changed.");
  return false;
}

interface Answered {
  readonly code: number | null;
  readonly out: string;
  readonly problem: string;
}

/** Runs the hook as the client does, with a shell command of the client. */
async function answerOf(io: Io, client: ClientName, command: string): Promise<Answered> {
  const { cwd, env: inherits } = io;
  const [program = "", ...args] = hookOf(io, client);
  const input = JSON.stringify(CLIENT[client].example(command, cwd));
  const { code, stdout, stderr } = await runProgram([program, ...args], { cwd, inherits, input });
  return { code, out: stdout.toString(), problem: stderr.toString() };
}

function isRefused({ code, out }: Answered): boolean {
  return code === 2 || /"(?:permissionDecision|decision|permission|verdict)":"(?:deny|ask)"/.test(out);
}

function describe(answer: Answered): string {
  if (answer.code !== 0) return `blocked: ${answer.problem.trim()}`;
  if (isRefused(answer)) return /":"ask"/.test(answer.out) ? "asked about" : "denied";
  return answer.out.includes(" hook run ") ? "allowed, in the sandbox" : "allowed";
}
