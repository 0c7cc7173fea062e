import { readKeyFile, writeKey } from "../agent/models/keys.ts";
import { KEY_PROVIDERS, type ModelSettings, NoModel, PROVIDERS, keyIn } from "../agent/models/load.ts";
import { ollamaModels, ollamaUrl } from "../agent/models/ollama.ts";
import { homeOf, keyFile } from "../app/config/state.ts";
import { isInside } from "../core/util/paths.ts";
import { codeOf, messageOf } from "../core/util/errors.ts";
import { secretOnTerminal } from "./terminal.ts";
import type { Io } from "./io.ts";

/** How long a local Ollama may take to answer, in milliseconds. A running Ollama answers at once. */
const OLLAMA_MS = 200;
/** How long a provider may take to answer whether it accepts a key, in milliseconds. */
const TRIAL_MS = 5_000;

/** Where a key of a provider was found. The environment counts more than the file. */
export interface FoundKey {
  readonly provider: string;
  readonly variable: string;
  readonly in: "environment" | "file";
}

/**
 * Finds which providers have a key, in their order.
 *
 * @throws Error when the file of keys cannot be used.
 */
export async function foundKeys(io: Io): Promise<readonly FoundKey[]> {
  const inFile = await readKeyFile(keyFile(io.env));
  return KEY_PROVIDERS.flatMap((provider): readonly FoundKey[] => {
    const set = setVariableOf(io, provider);
    if (set !== undefined) return [{ provider, variable: set, in: "environment" }];
    const kept = variablesOf(provider).find((name) => keyIn([name], {}, inFile) !== undefined);
    return kept === undefined ? [] : [{ provider, variable: kept, in: "file" }];
  });
}

/** Looks for an Ollama. Resolves to its address and its models, the last changed first; `undefined` if none answers. */
export async function localOllama({ env }: Io): Promise<{ readonly url: string; readonly models?: readonly string[] }> {
  const url = ollamaUrl(env);
  const models = await ollamaModels(url, OLLAMA_MS);
  return { url, ...(models !== undefined && { models }) };
}

/**
 * Returns the model when none is chosen: the usual model of the only provider that has a key. `tell` gets its name.
 *
 * @throws NoModel that names the places that were searched and what to do, when no provider or several have a key.
 */
export async function usualModel(io: Io, tell: (text: string) => void): Promise<ModelSettings> {
  const found = (await foundKeys(io)).filter(({ provider }) => PROVIDERS[provider]?.usual !== undefined);
  const [first, ...others] = found.map((key) => ({ ...key, name: PROVIDERS[key.provider]?.usual ?? "" }));
  if (first !== undefined && others.length === 0) {
    const { provider, name, variable } = first;
    const where = first.in === "file" ? `, in ${shownKeyFile(io)}` : "";
    tell(`No model is chosen; uses ${provider}:${name}, because the only key found is ${variable}${where}.`);
    return { provider, name };
  }
  if (first !== undefined) {
    const models = [first, ...others].map(({ provider, name }) => `${provider}:${name}`);
    throw new NoModel(
      `No model is chosen, and there are keys of ${[first, ...others].map(({ provider }) => provider).join(" and ")}.`,
      `Pass --model ${models.join(" or ")}, or set model in the configuration.`,
    );
  }
  const { url, models } = await localOllama(io);
  const [local] = models ?? [];
  const ollama = models === undefined ? `no Ollama answers at ${url}` : `Ollama at ${url} has ${namesOf(models)}`;
  const variables = KEY_PROVIDERS.filter((each) => PROVIDERS[each]?.usual !== undefined).flatMap(variablesOf);
  throw new NoModel(
    `No model is chosen, and there is no key: none in ${variables.join(", ")}, none in ${shownKeyFile(io)}; ${ollama}.`,
    "Keep a key with `handrail login`, or pass --model " +
      `${local === undefined ? "PROVIDER:NAME" : `ollama:${local}`}; --model demo needs no key.`,
  );
}

function namesOf(models: readonly string[]): string {
  if (models.length === 0) return "no models yet (ollama pull qwen3)";
  return models.slice(0, 3).join(", ") + (models.length > 3 ? ", …" : "");
}

/**
 * Takes a key from a person, without showing it.
 *
 * @throws Error when there is no terminal, or nothing was entered.
 */
export async function askForKey(io: Io, provider: string): Promise<string> {
  const answer = await secretOnTerminal(io, `Key of ${provider} (it is not shown): `, new AbortController().signal);
  if (answer === "no terminal") throw new Error(`there is no terminal; write the key to stdin`);
  if (answer === "left" || answer.line.trim() === "") throw new Error("no key was entered; nothing has changed");
  return answer.line;
}

/**
 * Tries a key with the provider, and keeps it in the file of keys. A key that could not be tried is kept too. Returns
 * what happened, as a sentence.
 *
 * @param baseUrl the base URL of the API, if it is not the provider's own
 * @throws Error when the key cannot be one, when the provider refuses it, and when it cannot be written.
 */
export async function keepKey(io: Io, provider: string, written: string, baseUrl: string | undefined): Promise<string> {
  const key = written.trim();
  if (key === "") throw new Error("no key was given; nothing has changed");
  if (!/^[\x21-\x7e]{8,4096}$/.test(key))
    throw new Error(
      "expected a key: one word of at least 8 letters, digits and signs. What was given is not one; it is not kept",
    );
  const trial = await tryKey(provider, key, baseUrl);
  if (trial === "refused") throw new Error(`${provider} does not accept this key; it is not kept`);
  const [variable = ""] = variablesOf(provider);
  await writeKey(keyFile(io.env), variable, key);
  const set = setVariableOf(io, provider);
  const note = set === undefined ? "" : ` ${set} of the environment is used instead while it is set.`;
  const tried = trial === "accepted" ? `${provider} accepts the key.` : `The key was not tried: ${trial.why}.`;
  return `${tried} It is kept in ${shownKeyFile(io)} as ${variable}.${note}`;
}

/** Removes the key of a provider from the file of keys. Resolves to false when there was none. */
export async function removeKey(io: Io, provider: string): Promise<boolean> {
  const names = variablesOf(provider);
  const inFile = await readKeyFile(keyFile(io.env));
  const kept = names.filter((name) => inFile?.has(name));
  for (const name of kept) await writeKey(keyFile(io.env), name, undefined);
  return kept.length > 0;
}

/** Requests the list of the provider's models with this key, which costs nothing. Never rejects. */
async function tryKey(
  provider: string,
  key: string,
  baseUrl: string | undefined,
): Promise<"accepted" | "refused" | { readonly why: string }> {
  const { url: own, headers } = PROVIDERS[provider]?.trial ?? {};
  const url = baseUrl === undefined ? own : `${baseUrl.replace(/\/$/, "")}/models`;
  if (url === undefined || headers === undefined) return { why: "no base URL is set (model.base_url or --base-url)" };
  try {
    const response = await fetch(url, { headers: headers(key), signal: AbortSignal.timeout(TRIAL_MS) });
    if (response.ok) return "accepted";
    const isRefused = response.status === 401 || /API_KEY_INVALID/.test(await response.text()); // Google answers 400
    return isRefused ? "refused" : { why: `${new URL(url).host} answered ${response.status}` };
  } catch (error) {
    const { cause = error } = error as Error;
    return { why: `${new URL(url).host} cannot be reached (${codeOf(cause) ?? messageOf(cause)})` };
  }
}

/** The environment variable that holds the provider's API key. */
export function setVariableOf(io: Io, provider: string): string | undefined {
  return variablesOf(provider).find((name) => keyIn([name], io.env, undefined) !== undefined);
}

/** The path of the file of keys, for people. */
export function shownKeyFile(io: Io): string {
  const file = keyFile(io.env);
  return isInside(file, homeOf(io.env)) ? `~${file.slice(homeOf(io.env).length)}` : file;
}

/** The environment variables of a provider's key. The file of keys uses the first. */
export function variablesOf(provider: string): readonly string[] {
  return PROVIDERS[provider]?.keyVariables ?? [];
}
