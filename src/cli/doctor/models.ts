import { keyIn, PROVIDERS } from "../../agent/models/load.ts";
import { readKeyFile } from "../../agent/models/keys.ts";
import { keyFile } from "../../config/state.ts";
import type { GlobalOptions } from "../options.ts";
import type { Check } from "./check.ts";
import { settingsOf } from "./settings.ts";

/** The default addresses of local servers: Ollama, LM Studio, vLLM, llama.cpp. */
const LOCAL = [11434, 1234, 8000, 8080].map((port) => `http://127.0.0.1:${port}/v1`);

/** How long to wait for a local server, in milliseconds. A running server answers at once. */
const ANSWER_MS = 1_500;

/** Checks which model providers have a key, and which local server answers. */
export const models = (options: GlobalOptions): Check => ({
  name: "models",
  required: false,
  fix: `chmod 600 ${keyFile()}`,
  async run(signal) {
    const [inFile, { model }] = await Promise.all([readKeyFile(keyFile()), settingsOf(options)]);
    const variables = (name: string) => PROVIDERS[name]?.keyVariables ?? [];
    const withKey = Object.keys(PROVIDERS).filter((name) => keyIn(variables(name), process.env, inFile) !== undefined);
    const configured = model?.baseUrl === undefined ? [] : [model.baseUrl];
    const servers = [...new Set([...configured, ...LOCAL])];
    const answers = await Promise.all(servers.map((url) => answersAt(url, signal)));
    const found = [
      ...withKey.map((name) => `${name} (key)`),
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
      fix: "export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY), or start a local server such as Ollama",
    };
  },
});

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
