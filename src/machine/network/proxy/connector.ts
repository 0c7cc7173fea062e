import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { dial, dialThrough, dialUpstream } from "../dial.ts";
import { unreachableBecause } from "../unreachable.ts";
import { type Lookup, type Target, hostAndPort, judgeAddresses } from "../targets.ts";
import type { UpstreamChoice } from "../upstream.ts";
import { untilAborted } from "../../../core/util/abort.ts";
import { Answer } from "./answer.ts";
import type { Onward } from "./forward.ts";
import { plainTarget, tunnelTarget } from "./request-target.ts";

/** Time limit for resolving and connecting to a target, in milliseconds. */
const DIAL_MS = 30_000;

/** Connects requests to their targets, if they are allowed. */
export interface Connector {
  /** Rejects with an `Answer` for the client. */
  tunnel(request: IncomingMessage): Promise<Socket>;
  /** Rejects with an `Answer` for the client. */
  plain(request: IncomingMessage): Promise<Onward>;
}

/** The judgement of a target by its host and port. */
export type TargetJudgement =
  | {
      readonly verdict: "allowed";
      readonly target: Target;
      /** Connects to the target in another way than by its addresses. Addresses are not judged then. */
      readonly dial?: (signal: AbortSignal) => Promise<Socket>;
    }
  /** `host` is "name:port". Without a reason: not granted. */
  | { readonly verdict: "refused"; readonly host: string; readonly reason?: string };

export interface ConnectorOptions {
  /** Judges the target of a tunnel, as `http://host:port/`, and the URL of a plain request. Looks up nothing. */
  readonly judge: (url: URL) => TargetJudgement | Promise<TargetJudgement>;
  /** Called for each target that is refused ("name:port"). Returns the text that the client gets. */
  readonly refusal: (host: string, reason: string | undefined) => string;
  readonly lookup: Lookup;
  readonly upstream: UpstreamChoice;
}

/** Makes a connector. Every address of a name is judged just before the connection, which uses exactly that address. */
export function createConnector({ judge, refusal, lookup, upstream: choose }: ConnectorOptions): Connector {
  const refuse = (host: string, reason?: string) => new Answer(403, refusal(host, reason));

  const allowed = async (url: URL): Promise<Extract<TargetJudgement, { verdict: "allowed" }>> => {
    const judged = await judge(url);
    if (judged.verdict === "refused") throw refuse(judged.host, judged.reason);
    return judged;
  };

  const direct = async (target: Target, signal: AbortSignal): Promise<Socket> => {
    const judged = await untilAborted(judgeAddresses(target, lookup), signal);
    if (judged.verdict === "refused") throw refuse(hostAndPort(target), judged.reason);
    return dial(target, judged.addresses, signal);
  };

  return {
    async tunnel(request) {
      const { target, dial: reach } = await allowed(tunnelTarget(request));
      if (reach !== undefined) return inTime(target, reach);
      const upstream = choose(target, "tunnel");
      return inTime(target, (signal) =>
        upstream === undefined ? direct(target, signal) : dialThrough(upstream, target, signal),
      );
    },
    async plain(request) {
      const { url, path } = plainTarget(request);
      const { target, dial: reach } = await allowed(url);
      if (reach !== undefined) return { socket: await inTime(target, reach), path, host: url.host };
      const upstream = choose(target, "forward");
      if (upstream === undefined) {
        return { socket: await inTime(target, (signal) => direct(target, signal)), path, host: url.host };
      }
      const socket = await inTime(target, (signal) => dialUpstream(upstream, signal));
      return { socket, path: `http://${url.host}${path}`, host: url.host, authorization: upstream.authorization };
    },
  };
}

/** Rejects with an `Answer`. */
async function inTime(target: Target, start: (signal: AbortSignal) => Promise<Socket>): Promise<Socket> {
  const deadline = AbortSignal.timeout(DIAL_MS);
  try {
    return await start(deadline);
  } catch (error) {
    if (error instanceof Answer) throw error;
    const why = deadline.aborted ? `no answer within ${DIAL_MS / 1_000} seconds` : unreachableBecause(error);
    throw new Answer(502, `Handrail's proxy could not reach ${hostAndPort(target)}: ${why}.`);
  }
}
