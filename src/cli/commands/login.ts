import { KEY_PROVIDERS, PROVIDERS } from "../../agent/models/load.ts";
import { readKeyFile } from "../../agent/models/keys.ts";
import { keyFile } from "../../app/config/state.ts";
import {
  askForKey,
  foundKeys,
  keepKey,
  localOllama,
  removeKey,
  setVariableOf,
  shownKeyFile,
  variablesOf,
} from "../keys.ts";
import type { GlobalOptions } from "../options.ts";
import { say, sayJson } from "../say.ts";
import { loadedSettings } from "../settings.ts";
import { readStdin } from "../stdin.ts";
import { lineOnTerminal } from "../terminal.ts";
import type { Io } from "../io.ts";

export interface LoginOptions extends GlobalOptions {
  readonly list?: true;
  readonly json?: true;
  readonly baseUrl?: string;
}

/** The commands that keep and remove keys of model providers. */
export const run = { login, logout };

/** Takes a key from the terminal, without showing it, or from stdin; tries it, and keeps it. Or lists who has a key. */
async function login(given: string | undefined, { list, json, baseUrl, ...options }: LoginOptions): Promise<void> {
  if (list) return await listKeys(options.io, json === true);
  if (json) throw new Error("--json is for --list");
  const provider = requireProvider(given ?? (await askForProvider(options.io)));
  const key = options.io.stdin.isTTY ? await askForKey(options.io, provider) : await readStdin(options.io);
  const { model } = (await loadedSettings(options)).settings;
  const configured = model?.provider === provider ? model.baseUrl : undefined;
  say(options.io, await keepKey(options.io, provider, key, baseUrl ?? configured));
  const { usual } = PROVIDERS[provider] ?? {};
  if (usual !== undefined) say(options.io, `Next: handrail chat --model ${provider}:${usual}`);
}

/** Removes a key from the file of keys. */
async function logout(given: string, { io }: GlobalOptions): Promise<void> {
  const provider = requireProvider(given);
  const isRemoved = await removeKey(io, provider);
  const set = setVariableOf(io, provider);
  const rest = set === undefined ? "" : ` ${set} is still set in the environment.`;
  say(io, (isRemoved ? `The key of ${provider} is removed.` : `${shownKeyFile(io)} has no key of ${provider}.`) + rest);
}

/** Prints which providers have a key, and where it is. Never prints a key. */
async function listKeys(io: Io, asJson: boolean): Promise<void> {
  const found = await foundKeys(io);
  const rows = KEY_PROVIDERS.map((provider) => {
    const key = found.find((each) => each.provider === provider);
    return { provider, variables: variablesOf(provider), ...(key && { variable: key.variable, in: key.in }) };
  });
  const known = new Set(KEY_PROVIDERS.flatMap(variablesOf));
  const others = [...((await readKeyFile(keyFile(io.env)))?.keys() ?? [])].filter((name) => !known.has(name));
  const ollama = await localOllama(io);
  if (asJson) return sayJson(io, { file: keyFile(io.env), providers: rows, others, ollama });
  const width = Math.max(...KEY_PROVIDERS.map(({ length }) => length)) + 2;
  for (const { provider, variables, ...key } of rows) {
    const where = key.in === "file" ? shownKeyFile(io) : "the environment";
    say(
      io,
      provider.padEnd(width) +
        (key.in === undefined ? `none (${variables.join(", ")})` : `${key.variable} in ${where}`),
    );
  }
  for (const name of others) say(io, `${"".padEnd(width)}${name} in ${shownKeyFile(io)}, for key_variable`);
  say(io, "ollama".padEnd(width) + ollamaLine(ollama));
}

function ollamaLine({ url, models }: Awaited<ReturnType<typeof localOllama>>): string {
  if (models === undefined) return `none answers at ${url}`;
  return `${url} has ${models.length === 0 ? "no models yet" : models.join(", ")}`;
}

async function askForProvider(io: Io): Promise<string> {
  const names = KEY_PROVIDERS.join(", ");
  const answer = io.stdin.isTTY
    ? await lineOnTerminal(io, `Provider (${names}): `, new AbortController().signal)
    : "no terminal";
  if (typeof answer === "string") throw new Error(`expected a provider (${names}), as \`handrail login anthropic\``);
  return answer.line.trim();
}

function requireProvider(name: string): string {
  if (KEY_PROVIDERS.includes(name)) return name;
  const local = name === "ollama" ? "ollama needs no key; " : "";
  throw new Error(`${local}expected one of ${KEY_PROVIDERS.join(", ")}, got ${JSON.stringify(name)}`);
}
