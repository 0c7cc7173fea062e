import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { NetworkSettings } from "../../../network/network-settings.ts";
import { dial, dialThrough, dialUpstream } from "../../../network/dial.ts";
import { unreachableBecause } from "../../../network/unreachable.ts";
import { type Lookup, type Target, hostAndPort, judgeAddresses } from "../../../network/targets.ts";
import type { UpstreamChoice } from "../../../network/upstream.ts";
import { untilAborted } from "../../../util/abort.ts";
import { Answer } from "./answer.ts";
import type { Onward } from "./forward.ts";
import { plainTarget, tunnelTarget } from "./request-target.ts";
import { targetJudge } from "./targets.ts";

/** Time limit for resolving and connecting to a target, in milliseconds. */
const DIAL_MS = 30_000;

/** How many refused hosts are remembered. */
const MOST_REFUSED = 100;

/** Connects requests to their targets, if those are allowed. */
export interface Connector {
  /** Rejects with an `Answer` for the client. */
  tunnel(request: IncomingMessage): Promise<Socket>;
  /** Rejects with an `Answer` for the client. */
  plain(request: IncomingMessage): Promise<Onward>;
  /** As "name:port", each once, in the order they came; at most 100. */
  refused(): readonly { readonly host: string; readonly reason?: string }[];
}

export interface ConnectorOptions {
  readonly hosts: readonly string[];
  readonly network: NetworkSettings | undefined;
  readonly lookup: Lookup;
  readonly upstream: UpstreamChoice;
}

/** @throws TypeError for an entry of `hosts` or `network` that is no host. */
export function createConnector({ hosts, network, lookup, upstream: choose }: ConnectorOptions): Connector {
  const judge = targetJudge(hosts, network);
  const refused = new Map<string, string | undefined>();

  const refusal = (host: string, reason?: string): Answer => {
    if (refused.size < MOST_REFUSED || refused.has(host)) refused.set(host, reason);
    return new Answer(403, reason === undefined ? notGiven(host) : `The sandbox refused ${host}: ${reason}`);
  };

  const allowed = (url: URL): Target => {
    const judged = judge(url);
    if (judged.verdict === "refused") throw refusal(judged.host, judged.reason);
    return judged.target;
  };

  const direct = async (target: Target, signal: AbortSignal): Promise<Socket> => {
    const judged = await untilAborted(judgeAddresses(target, lookup), signal);
    if (judged.verdict === "refused") throw refusal(hostAndPort(target), judged.reason);
    return dial(target, judged.addresses, signal);
  };

  return {
    async tunnel(request) {
      const target = allowed(tunnelTarget(request));
      const upstream = choose(target, "tunnel");
      return inTime(target, (signal) =>
        upstream === undefined ? direct(target, signal) : dialThrough(upstream, target, signal),
      );
    },
    async plain(request) {
      const { url, path } = plainTarget(request);
      const target = allowed(url);
      const upstream = choose(target, "forward");
      if (upstream === undefined) {
        return { socket: await inTime(target, (signal) => direct(target, signal)), path, host: url.host };
      }
      const socket = await inTime(target, (signal) => dialUpstream(upstream, signal));
      return { socket, path: `http://${url.host}${path}`, host: url.host, authorization: upstream.authorization };
    },
    refused: () => [...refused].map(([host, reason]) => ({ host, ...(reason !== undefined && { reason }) })),
  };
}

function notGiven(host: string): string {
  const rule = host.replace(/:(?:80|443)$/, "");
  return (
    `The sandbox refused ${host}: its call does not name this host. If the command needs it, ` +
    `run it again with network: ${JSON.stringify([rule])}; a person is asked.`
  );
}

/** Rejects with an `Answer`. */
async function inTime(target: Target, start: (signal: AbortSignal) => Promise<Socket>): Promise<Socket> {
  const deadline = AbortSignal.timeout(DIAL_MS);
  try {
    return await start(deadline);
  } catch (error) {
    if (error instanceof Answer) throw error;
    const why = deadline.aborted ? `no answer within ${DIAL_MS / 1_000} seconds` : unreachableBecause(error);
    throw new Answer(502, `The sandbox's proxy could not reach ${hostAndPort(target)}: ${why}.`);
  }
}
