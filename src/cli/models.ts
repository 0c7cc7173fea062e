import { PROVIDERS } from "../agent/models/load.ts";
import type { ModelSettings } from "../agent/models/load.ts";
import { foundKeys, localOllama } from "./keys.ts";
import type { GlobalOptions } from "./options.ts";
import { loadedSettings } from "./settings.ts";

/** A model that can be used now. */
export interface UsableModel {
  /** PROVIDER:NAME. */
  readonly name: string;
  /** Where it comes from, for people. */
  readonly why: string;
}

/**
 * Lists the models of the configuration, the usual model of each provider that has a key, and the models of a local
 * Ollama. Other models can be used too: providers do not report which models they have.
 */
export async function usableModels(options: GlobalOptions): Promise<readonly UsableModel[]> {
  const [{ settings }, keys, { models: local = [] }] = await Promise.all([
    loadedSettings(options),
    foundKeys(options.io),
    localOllama(options.io),
  ]);
  const configured = Object.entries(settings.agents).flatMap(([name, { model }]) =>
    model === undefined ? [] : [{ name: written(model), why: `of the agent ${name}` }],
  );
  const usual = [...new Set(keys.map(({ provider }) => provider))].flatMap((provider) => {
    const name = PROVIDERS[provider]?.usual;
    return name === undefined ? [] : [{ name: `${provider}:${name}`, why: `there is a key of ${provider}` }];
  });
  const all = [
    ...(settings.model === undefined ? [] : [{ name: written(settings.model), why: "of the configuration" }]),
    ...configured,
    ...usual,
    ...local.map((name) => ({ name: `ollama:${name}`, why: "on this machine" })),
    { name: "demo", why: "a script that uses the real tools" },
  ];
  return all.filter(({ name }, index) => all.findIndex((each) => each.name === name) === index);
}

function written({ provider, name }: ModelSettings): string {
  return provider === name ? name : `${provider}:${name}`;
}
