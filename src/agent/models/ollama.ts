/**
 * Returns the origin of Ollama: that of `OLLAMA_HOST` (a host, `host:port` or a URL), by default
 * `http://127.0.0.1:11434`. The address of all interfaces becomes loopback. As in Ollama itself (envconfig/config.go),
 * a URL without a port gets the port of its scheme.
 */
export function ollamaUrl({ OLLAMA_HOST = "" }: NodeJS.ProcessEnv = process.env): string {
  const written = OLLAMA_HOST.trim();
  const isUrl = /^https?:\/\//i.test(written);
  const host = written.replace(/^(?=$|:)/, "127.0.0.1");
  const text = isUrl ? written : `http://${host}${/:\d+$/.test(host) ? "" : ":11434"}`;
  const url = new URL(URL.canParse(text) ? text : "http://127.0.0.1:11434");
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  return url.origin;
}

/**
 * Lists the models of an Ollama, the last changed first, as Ollama does (`/api/tags`). Resolves to `undefined` when no
 * Ollama answers at the URL in time. Never rejects.
 *
 * @param timeoutMs how long to wait, in milliseconds
 */
export async function ollamaModels(url: string, timeoutMs: number): Promise<readonly string[] | undefined> {
  try {
    const response = await fetch(`${url}/api/tags`, { signal: AbortSignal.timeout(timeoutMs) });
    const { models } = (await response.json()) as { readonly models?: unknown };
    if (!response.ok || !Array.isArray(models)) return undefined;
    return models.flatMap(({ name }: { readonly name?: unknown }) => (typeof name === "string" ? [name] : []));
  } catch {
    return undefined;
  }
}
