import type { Client, ElicitRequestFormParams, Prompt } from "@modelcontextprotocol/client";
import { text } from "../../core/contract/content.ts";
import type { ToolContext } from "../../core/contract/tool.ts";
import { GivenUp, type Opened, type SourceGuards, restarting } from "../../core/call/restarting.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { Stop, untilAborted } from "../../core/util/abort.ts";
import { type CallLimit, callLimit } from "./call-limit.ts";
import { type ServerConnection, type ElicitAnswer, listOffered, openConnection } from "./connection.ts";
import { UnfitAnswer, serverQuestion } from "./elicitation.ts";
import { promptsOf } from "./prompts.ts";
import { failureOf, lostSession, problemOf } from "./problem.ts";
import { type ClientWork, type WithClient, resourceTool, sourceName, toolsOf } from "./tools.ts";
import type { McpSource, ServerSettings } from "./server-settings.ts";
import { makeTolerant, walkingLists } from "./tolerant.ts";
import { transportTo } from "./transport.ts";

export type {
  HttpServerSettings,
  McpPrompt,
  McpSource,
  ProcessServerSettings,
  ServerSettings,
} from "./server-settings.ts";

/** How long a call may take without progress, in milliseconds. */
const CALL_MS = 300_000;
/** How long a server may take until it can be used, in milliseconds. */
const START_MS = 60_000;
/** The longest timer of Node, in milliseconds. Calls have their own limit. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * Creates a source of the tools of an MCP server. The server is started with the toolkit, and restarted whenever it
 * ends, with growing pauses. Its tools are kept meanwhile; a call waits a while for the server. The SDK is loaded at
 * the start.
 */
export function mcpServer(server: string, settings: ServerSettings, guards: SourceGuards = {}): McpSource {
  const openTransport = transportTo(settings);
  const { timeoutMs = CALL_MS, startMs = START_MS } = settings;
  const name = sourceName(server);
  const described = { server, hasLogin: "url" in settings && settings.auth !== undefined };
  /** Running calls, the latest last. A question of a server does not name its call. */
  const running = new Map<ToolContext, CallLimit>();
  let prompts: readonly Prompt[] = [];
  let isLegacy = false;

  /** The open connections, and how many calls use each. */
  const uses = new Map<Client, Use>();

  /** How many questions were asked during a call. */
  const asked = new WeakMap<ToolContext, number>();

  const answer = async (question: ElicitRequestFormParams, signal: AbortSignal): Promise<ElicitAnswer> => {
    const [context, limit] = [...running].at(-1) ?? [];
    if (context === undefined || limit === undefined) return { action: "decline" };
    const count = (asked.get(context) ?? 0) + 1;
    asked.set(context, count);
    if (count === MOST_QUESTIONS + 1) context.attach(text(tooManyQuestions(name)));
    if (count > MOST_QUESTIONS) return { action: "decline" };
    const release = limit.hold();
    try {
      const { effect, contentOf } = serverQuestion(server, question);
      const given = await untilAborted(context.permit(effect), signal);
      return { action: "accept", content: await contentOf(given) };
    } catch (error) {
      if (error instanceof UnfitAnswer) context.attach(text(notFilledIn(name, error.message)));
      return { action: "decline" };
    } finally {
      release();
    }
  };

  const session = restarting<Client>({
    ...{ name, guards, onGivenUp: () => (prompts = []) },
    async open(host, offer): Promise<Opened<Client>> {
      const { transport, explain, traces, changed } = await openTransport(host);
      await makeTolerant(transport, (words) => host.notice(`${name}: ${words}`));
      let connection: ServerConnection | undefined;
      const list = async ({ client }: ServerConnection) => {
        const offered = await listOffered(client, { signal: host.signal, timeout: startMs });
        const tools = toolsOf(offered.tools, { server, allowed: settings.tools, withClient, notice: host.notice });
        prompts = offered.prompts; // before clients are told that something has changed
        await offer(offered.hasResources ? [...tools, resourceTool({ server, withClient })] : tools);
      };
      const onChange = () => {
        if (connection === undefined) return; // about to be listed
        const { client } = connection;
        void list(connection).catch(async (error: Error) => {
          client.onerror?.(error);
          await client.close();
        });
      };
      try {
        const { signal } = host;
        connection = await openConnection({
          ...{ transport, isLegacy, signal, startMs, answer, onChange },
          ...(!("url" in settings) && { workspace: host.workDir }),
        });
        await list(connection);
      } catch (error) {
        await transport.close();
        if (error instanceof GivenUp) throw error;
        const why = await explain(host.mask);
        // Some servers of older revisions exit when the first message is not their handshake.
        if (connection === undefined && why !== undefined) isLegacy = !isLegacy;
        if (why !== undefined) throw new Error(why, { cause: error });
        const problem = await problemOf({ ...described, changed }, error);
        throw problem instanceof GivenUp ? problem : new Error(`${problem.message}${await traces(host.mask)}`);
      }
      const { client, closed } = connection;
      const why = async (problem: string | undefined) =>
        (await explain(host.mask)) ?? problem ?? "the connection was closed";
      const ended = new Promise<string>((resolve) => {
        const lose = () => resolve("it has lost the session");
        uses.set(client, { calls: 0, isLost: false, hasSession: transport.sessionId !== undefined, lose });
        void closed.then(why).then(resolve);
      });
      void closed.then(() => uses.delete(client));
      return { connection: client, ended };
    },
  });

  const inSession = async <T>(
    work: (client: Client) => Promise<T>,
    signal: AbortSignal,
    isLast = false,
  ): Promise<T> => {
    const client = await session.current(signal);
    const use = uses.get(client);
    if (use !== undefined) use.calls++;
    try {
      return await untilAborted(
        walkingLists(() => work(client)),
        signal,
      );
    } catch (error) {
      const lost = isLast ? undefined : lostSession(error, use?.hasSession === true);
      if (lost === undefined) throw error;
      session.drop(client);
      if (use !== undefined) use.isLost = true;
      use?.lose();
      if (lost === "unknown") throw error;
    } finally {
      // Other calls that the lost session still has are answered on this connection.
      if (use !== undefined && --use.calls === 0 && use.isLost) void client.close();
    }
    return inSession(work, signal, true);
  };

  const withClient: WithClient = async <T>(context: ToolContext, work: ClientWork<T>): Promise<T> => {
    const limit = callLimit(name, timeoutMs);
    const linked = new Stop(context.signal, limit.signal);
    const onprogress = limit.progressTo(context);
    const options = { signal: linked.signal, timeout: NEVER_MS, onprogress };
    running.set(context, limit);
    try {
      const result = await inSession((client) => work(client, options), linked.signal);
      session.served();
      return result;
    } catch (error) {
      context.signal.throwIfAborted();
      throw await failureOf(described, limit.signal.aborted ? limit.signal.reason : error);
    } finally {
      running.delete(context);
      limit.end();
      linked.unlink();
    }
  };

  const using = async <T>(work: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T> => {
    try {
      return await inSession(work, signal);
    } catch (error) {
      throw await failureOf(described, error);
    }
  };

  return {
    name,
    server,
    prompts: () => promptsOf(server, prompts, using),
    start: session.start,
    close: session.close,
  };
}

interface Use {
  /** How many calls wait for an answer on the connection. */
  calls: number;
  isLost: boolean;
  /** Whether the server has given the connection a session. */
  readonly hasSession: boolean;
  /** Ends the connection for further calls. */
  readonly lose: () => void;
}

/** How many questions a server may ask people during one call. Further questions are declined. */
const MOST_QUESTIONS = 10;

function tooManyQuestions(name: string): string {
  return `[${name} asked more than ${MOST_QUESTIONS} questions in one call. The later ones were declined unseen.]`;
}

function notFilledIn(name: string, why: string): string {
  const where = "in the console, at a terminal, or with `handrail approvals answer ID once --input JSON`";
  const declined = `${name} asked a person to fill in a form, and was declined: ${oneLine(why, 500)}`;
  return `[${declined}. A person fills it in ${where}.]`;
}
