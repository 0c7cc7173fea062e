import { Readable, Writable } from "node:stream";
import {
  type AgentContext,
  type InitializeRequest,
  type McpServer,
  PROTOCOL_VERSION,
  RequestError,
  type SessionConfigOption,
  type SessionInfo,
  type SessionModeState,
  agent,
  ndJsonStream,
} from "@agentclientprotocol/sdk";
import type { Store } from "../../core/contract/activity.ts";
import type { Autonomy } from "../../core/contract/policy.ts";
import { AUTONOMIES } from "../../core/contract/policy.ts";
import { machineOf } from "../../core/call/park.ts";
import { messageOf } from "../../core/util/errors.ts";
import type { AgentOptions } from "../options.ts";
import { type Session, openSession } from "./session.ts";
import { contentOf } from "./updates.ts";

export interface AcpServer {
  /** Resolves when the client has disconnected. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** The number of sessions in one answer of `session/list`. */
const PAGE = 100;

const MODES: { readonly [A in Autonomy]: { readonly name: string; readonly description: string } } = {
  readonly: { name: "Read only", description: "Changes are refused." },
  supervised: { name: "Supervised", description: "Harmless and contained calls run. You are asked about the others." },
  full: { name: "Full", description: "Everything runs that neither a rule forbids nor asks about." },
};

/**
 * Serves the Agent Client Protocol (version 1) on stdin and stdout. Each session is an agent with a toolkit of its own,
 * in the session's folder. Only methods that work are advertised.
 *
 * @param options The options of every session. A session sets the folder.
 * @param withStore Calls a function with the store of the recorded threads.
 */
export function serveAcp(
  options: AgentOptions,
  withStore: <T>(work: (store: Store) => Promise<T>) => Promise<T>,
): AcpServer {
  const sessions = new Map<string, Session>();
  let hasForms = false;
  const find = (id: string): Session => {
    const session = sessions.get(id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    return session;
  };
  const open = async (
    client: AgentContext,
    { cwd, mcpServers = [] }: { readonly cwd: string; readonly mcpServers?: readonly McpServer[] },
    resume?: string,
  ): Promise<Session> => {
    if (resume !== undefined) await sessions.get(resume)?.close();
    const own = { ...options, workDir: cwd, ...(resume !== undefined && { resume }) };
    const session = await openSession({ client, options: own, servers: mcpServers, hasForms }).catch(rejected);
    sessions.set(session.id, session);
    return session;
  };
  const setAutonomy = (session: Session, wanted: unknown) => {
    const autonomy = AUTONOMIES.find((each) => each === wanted);
    if (autonomy === undefined) throw RequestError.invalidParams(undefined, `expected one of ${AUTONOMIES.join(", ")}`);
    session.setAutonomy(autonomy);
  };

  const app = agent({ name: "handrail" })
    .onRequest("initialize", ({ params }) => {
      hasForms = takesForms(params);
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: "handrail", title: "Handrail", version: __VERSION__ },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          mcpCapabilities: { http: true },
          sessionCapabilities: { list: {}, resume: {}, close: {} },
        },
        authMethods: [],
      };
    })
    .onRequest("session/new", async ({ params, client }) => {
      const session = await open(client, params);
      return { sessionId: session.id, ...choicesOf(session) };
    })
    .onRequest("session/load", async ({ params, client }) => {
      const session = await open(client, params, params.sessionId);
      await session.replay();
      return choicesOf(session);
    })
    .onRequest("session/resume", async ({ params, client }) =>
      choicesOf(await open(client, { ...params, mcpServers: params.mcpServers ?? [] }, params.sessionId)),
    )
    .onRequest("session/list", ({ params }) =>
      withStore(async (store) => {
        const infos = (await sessionInfos(store, options.target)).filter(({ cwd }) => (params.cwd ?? cwd) === cwd);
        const start = Number(params.cursor ?? 0);
        if (!Number.isSafeInteger(start) || start < 0) throw RequestError.invalidParams(undefined, "unknown cursor");
        const next = start + PAGE;
        return { sessions: infos.slice(start, next), ...(next < infos.length && { nextCursor: String(next) }) };
      }),
    )
    .onRequest("session/close", async ({ params }) => {
      const session = find(params.sessionId);
      sessions.delete(session.id);
      await session.close();
      return {};
    })
    .onRequest("session/set_mode", ({ params }) => {
      const session = find(params.sessionId);
      setAutonomy(session, params.modeId);
      const { configOptions } = choicesOf(session);
      session.tell({ sessionUpdate: "config_option_update", configOptions });
      return {};
    })
    .onRequest("session/set_config_option", ({ params }) => {
      const session = find(params.sessionId);
      if (params.configId !== "autonomy") throw RequestError.invalidParams(undefined, "the only option is autonomy");
      setAutonomy(session, params.value);
      session.tell({ sessionUpdate: "current_mode_update", currentModeId: session.autonomy });
      return { configOptions: choicesOf(session).configOptions };
    })
    .onRequest("session/prompt", async ({ params }) => {
      const session = find(params.sessionId);
      return { stopReason: await session.prompt(params.prompt.map(contentOf)).catch(rejected) };
    })
    .onNotification("session/cancel", async ({ params }) => sessions.get(params.sessionId)?.cancel());

  const output = Writable.toWeb(options.io.stdout) as WritableStream<Uint8Array>;
  const connection = app.connect(ndJsonStream(output, Readable.toWeb(options.io.stdin) as ReadableStream<Uint8Array>));
  const closed = connection.closed.then(async () => {
    await Promise.all([...sessions.values()].map((session) => session.close().catch(() => {})));
  });
  return {
    closed,
    async close() {
      connection.close();
      await closed;
    },
  };
}

function takesForms({ clientCapabilities }: InitializeRequest): boolean {
  return Boolean(clientCapabilities?.elicitation?.form);
}

/** The modes and the option of a session. Both set the autonomy: clients show one or the other. */
function choicesOf({ autonomy }: Session): { modes: SessionModeState; configOptions: SessionConfigOption[] } {
  const choices = AUTONOMIES.map((id) => ({ id, ...MODES[id] }));
  return {
    modes: { currentModeId: autonomy, availableModes: choices },
    configOptions: [
      {
        ...{ id: "autonomy", name: "Autonomy", category: "mode", type: "select", currentValue: autonomy },
        options: choices.map(({ id: value, name, description }) => ({ value, name, description })),
      },
    ],
  };
}

/** The threads of the target that no call has started, newest first. */
async function sessionInfos(store: Store, machine = "local"): Promise<SessionInfo[]> {
  const threads = (await store.threads()).filter(
    ({ parent, target, workDir }) =>
      parent === undefined && machineOf(target ?? "") === machine && workDir !== undefined,
  );
  return threads.toReversed().map(({ thread, workDir = "", title, changedMs }) => ({
    ...{ sessionId: thread, cwd: workDir, updatedAt: new Date(changedMs).toISOString() },
    ...(title !== undefined && { title }),
  }));
}

/** Passes an error on with its message, because the protocol shows people no other text. */
function rejected(error: unknown): never {
  if (error instanceof RequestError) throw error;
  throw new RequestError(-32_603, messageOf(error));
}
