import type { LanguageModelV3 } from "@ai-sdk/provider";
import { withExactBody } from "../../core/util/exact-json.ts";
import type { KeyFile } from "./keys.ts";

/** A model, as the configuration or `--model` names it. */
export interface ModelSettings {
  readonly provider: string;
  /** The provider's name for the model. */
  readonly name: string;
  /** The base URL of the API. Required for `openai-compatible`; for others, only to replace the provider's own. */
  readonly baseUrl?: string;
  /** The environment variable that holds the key. Default: the provider's usual variable. */
  readonly keyVariable?: string;
  /** The size of the model's context in tokens, for `Limits.context`. */
  readonly context?: number;
  /** What a million tokens cost, for `Limits.price`. */
  readonly price?: { readonly input: number; readonly output: number };
}

export interface LoadOptions {
  /** Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** A file of `NAME=value` lines, mode 0600, for keys that are not in the environment. */
  readonly keyFile?: string;
}

export interface LoadedModel {
  readonly model: LanguageModelV3;
  /** All keys to mask: the model's own and those in the key file. */
  readonly keys: readonly string[];
}

interface Provider {
  /** Environment variables to read the key from, in this order. */
  readonly keyVariables: readonly string[];
  /** Whether the provider needs a key. */
  readonly needsKey: boolean;
  readonly example: string;
  /** The model if none is chosen and only this provider has a key: good at coding, and not the most expensive. */
  readonly usual?: string;
  /** Where a key is tested, and how it is sent. Without a URL: `models` below the base URL. */
  readonly trial?: { readonly url?: string; headers(key: string): { readonly [name: string]: string } };
  load(settings: ModelSettings, key: string | undefined, env: NodeJS.ProcessEnv): Promise<LanguageModelV3>;
}

/** Thrown when no model is chosen, or the model's key is missing. The demo model works then. */
export class NoModel extends Error {
  /** What is missing, without the next step. */
  readonly missing: string;
  /** The provider whose key is missing; `undefined` when no model is chosen. */
  readonly provider: string | undefined;

  constructor(missing: string, nextStep: string, provider?: string) {
    super(`${missing} ${nextStep}`);
    this.missing = missing;
    this.provider = provider;
  }
}

/** The providers, by the name before the colon in PROVIDER:NAME. Each is imported when it is used. */
export const PROVIDERS: { readonly [name: string]: Provider } = {
  openai: {
    keyVariables: ["OPENAI_API_KEY"],
    needsKey: true,
    example: "openai:gpt-5",
    usual: "gpt-6.1-sol",
    trial: { url: "https://api.openai.com/v1/models", headers: bearer },
    async load({ name, baseUrl }, apiKey) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ ...(apiKey !== undefined && { apiKey }), ...baseURL(baseUrl) })(name);
    },
  },
  anthropic: {
    keyVariables: ["ANTHROPIC_API_KEY"],
    needsKey: true,
    example: "anthropic:claude-sonnet-4-5",
    usual: "claude-sonnet-5-5",
    trial: {
      url: "https://api.anthropic.com/v1/models",
      headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
    },
    async load({ name, baseUrl }, apiKey) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ ...(apiKey !== undefined && { apiKey }), ...baseURL(baseUrl) })(name);
    },
  },
  google: {
    keyVariables: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    needsKey: true,
    example: "google:gemini-2.5-pro",
    usual: "gemini-pro-latest",
    trial: {
      url: "https://generativelanguage.googleapis.com/v1beta/models",
      headers: (key) => ({ "x-goog-api-key": key }),
    },
    async load({ name, baseUrl }, apiKey) {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      const key = apiKey !== undefined && { apiKey };
      // Its arguments are JSON, not text: the package would round their numbers.
      const exact: typeof fetch = async (input, init) => withExactBody(await fetch(input, init));
      return createGoogleGenerativeAI({ ...key, ...baseURL(baseUrl), fetch: exact })(name);
    },
  },
  "openai-compatible": {
    keyVariables: ["OPENAI_COMPATIBLE_API_KEY"],
    needsKey: false,
    example: "openai-compatible:qwen3 with base_url: http://127.0.0.1:8080/v1",
    trial: { headers: bearer },
    async load({ name, baseUrl }, apiKey) {
      if (baseUrl === undefined) {
        throw new Error(
          "openai-compatible needs the address of its API. Set model.base_url in the configuration, or pass " +
            "--base-url, as http://127.0.0.1:8080/v1. For Ollama the model is ollama:NAME.",
        );
      }
      return await compatible("openai-compatible", name, baseUrl, apiKey);
    },
  },
  ollama: {
    keyVariables: [],
    needsKey: false,
    example: "ollama:qwen3",
    async load({ name, baseUrl }, apiKey, env) {
      const { ollamaUrl } = await import("./ollama.ts");
      return await compatible("ollama", name, baseUrl ?? `${ollamaUrl(env)}/v1`, apiKey);
    },
  },
  demo: {
    keyVariables: [],
    needsKey: false,
    example: "demo",
    load: async () => (await import("./demo.ts")).demoModel(),
  },
};

/** The providers that have keys. */
export const KEY_PROVIDERS: readonly string[] = Object.entries(PROVIDERS).flatMap(([name, { keyVariables }]) =>
  keyVariables.length === 0 ? [] : [name],
);

async function compatible(provider: string, model: string, url: string, apiKey: string | undefined) {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const how = { name: provider, baseURL: url, includeUsage: true };
  return createOpenAICompatible({ ...how, ...(apiKey !== undefined && { apiKey }) })(model);
}

function bearer(key: string) {
  return { authorization: `Bearer ${key}` };
}

function baseURL(url: string | undefined): { baseURL?: string } {
  return url === undefined ? {} : { baseURL: url };
}

/**
 * Parses PROVIDER:NAME.
 *
 * @throws Error that names the providers if the provider is unknown or the name is missing.
 */
export function parseModel(written: string): ModelSettings {
  const [provider = "", ...rest] = written.split(":");
  const name = rest.join(":");
  const { example } = providerOf(provider);
  if (provider === "demo") return { provider, name: "demo" };
  if (name !== "") return { provider, name };
  throw new Error(`model "${written}": expected PROVIDER:NAME, as ${example}`);
}

/**
 * Loads a model and finds its key.
 *
 * @throws Error with the next step: unknown provider, no key (`NoModel`), a key file that others can read, no base URL.
 */
export async function loadModel(settings: ModelSettings, options: LoadOptions = {}): Promise<LoadedModel> {
  const provider = providerOf(settings.provider);
  const { baseUrl } = settings;
  if (baseUrl !== undefined && !(/^https?:/i.test(baseUrl) && URL.canParse(baseUrl))) {
    throw new Error(`expected a base URL such as http://127.0.0.1:11434/v1, got ${JSON.stringify(baseUrl)}`);
  }
  const { env = process.env, keyFile } = options;
  const variables = settings.keyVariable === undefined ? provider.keyVariables : [settings.keyVariable];
  const inFile = keyFile === undefined ? undefined : await (await import("./keys.ts")).readKeyFile(keyFile);
  const key = keyIn(variables, env, inFile);
  if (key === undefined && (provider.needsKey || settings.keyVariable !== undefined)) {
    const where = keyFile === undefined ? "" : `, or in ${keyFile}`;
    const login = keyFile === undefined ? "" : `, or run \`handrail login ${settings.provider}\``;
    throw new NoModel(
      `${settings.provider} needs an API key, and there is none in ${variables.join(" or ")}${where}.`,
      `Set ${variables.join(" or ")} in the environment${login}. Without a key, --model demo works.`,
      settings.provider,
    );
  }
  const keys = [...(key === undefined ? [] : [key]), ...(inFile?.values() ?? [])];
  return { model: await provider.load(settings, key, env), keys };
}

/** Returns the first of these variables that has a value. The environment overrides the file. */
export function keyIn(
  variables: readonly string[],
  env: NodeJS.ProcessEnv,
  inFile: KeyFile | undefined,
): string | undefined {
  const values = [...variables.map((name) => env[name]), ...variables.map((name) => inFile?.get(name))];
  return values.find((value) => value !== undefined && value !== "");
}

function providerOf(name: string): Provider {
  const provider = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  if (provider !== undefined) return provider;
  const names = Object.keys(PROVIDERS).join(", ");
  throw new Error(`unknown provider "${name}". Providers: ${names}. A model is named PROVIDER:NAME, as openai:gpt-5.`);
}
