import type { ToolSourceHost } from "../../core/contract/tool-source.ts";
import { hostOf, portOf } from "../../machine/network/hosts.ts";
import type { NetworkSettings } from "../../machine/network/network-settings.ts";
import { hostAndPort } from "../../machine/network/targets.ts";
import type { HttpServerSettings, ProcessServerSettings, ServerSettings } from "./server-settings.ts";
import { answerIn } from "./answer.ts";
import { type OpenedTransport, processTransport } from "./process-transport.ts";

type OpenTransport = (host: ToolSourceHost) => Promise<OpenedTransport>;

/**
 * Returns a function that opens connections to a server. It rejects with a `ToolFailure` when the program cannot be
 * started.
 */
export function transportTo(settings: ServerSettings): OpenTransport {
  return "url" in settings ? () => overHttp(settings) : (host) => overProcess(settings, host);
}

async function overProcess(
  { command, args = [], env = {}, cwd, within }: ProcessServerSettings,
  host: ToolSourceHost,
): Promise<OpenedTransport> {
  return processTransport(
    await host.start({ argv: [command, ...args], env, within, ...(cwd !== undefined && { cwd }) }),
  );
}

async function overHttp({ url: address, headers, network, auth }: HttpServerSettings): Promise<OpenedTransport> {
  const [{ StreamableHTTPClientTransport }, { createStreamFetch }] = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("../../machine/network/stream-fetch.ts"),
  ]);
  const url = new URL(address);
  const client = createStreamFetch({ network: withHost(network, url) });
  const provider = auth?.(client);
  const transport = new StreamableHTTPClientTransport(url, {
    async fetch(input, init) {
      const response = await client.fetch(input, init);
      if (response.status === 403) await provider?.onForbidden?.(response);
      return answerIn(response, init?.body);
    },
    ...(headers !== undefined && { requestInit: { headers } }),
    ...(provider !== undefined && { authProvider: provider }),
  });
  const close = transport.close.bind(transport);
  transport.close = async () => {
    await close();
    await client.close();
  };
  const changed = provider?.changed;
  return { transport, explain: async () => undefined, traces: async () => "", ...(changed && { changed }) };
}

/**
 * Adds the host and port of a configured URL to the network rules. The addresses that they resolve to are judged as
 * usual.
 */
export function withHost(network: NetworkSettings = {}, url: URL): NetworkSettings {
  const own = hostAndPort({ host: hostOf(url), port: portOf(url) });
  const { allowHosts = [], allowPrivate = [] } = network;
  return { ...network, allowHosts: [...allowHosts, own], allowPrivate: [...allowPrivate, own] };
}
