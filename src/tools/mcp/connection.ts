import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type {
  Client,
  ElicitRequestFormParams,
  Prompt,
  Tool as ListedTool,
  Transport,
} from "@modelcontextprotocol/client";
import { walkingLists } from "./tolerant.ts";

/**
 * How long a server process may take to answer the first message of the newest revision, in milliseconds. After that an
 * older revision is tried.
 */
const PROBE_MS = 5_000;

/** An open connection. */
export interface ServerConnection {
  readonly client: Client;
  /** Resolves when the connection has ended, to its last problem, if any. */
  readonly closed: Promise<string | undefined>;
}

export interface ConnectOptions {
  readonly transport: Transport;
  /** True if the server is known to support no revision after 2025-11-25. */
  readonly isLegacy: boolean;
  readonly signal: AbortSignal;
  /** How long connecting may take, in milliseconds. */
  readonly startMs: number;
  /** Answers a question to people that the server asks during a call. Never rejects. */
  readonly answer: (question: ElicitRequestFormParams, signal: AbortSignal) => Promise<ElicitAnswer>;
  /** The workspace, which the server gets as its only root. Default: no root. */
  readonly workspace?: string;
  /** Called when the server reports that its tools or prompts have changed. */
  readonly onChange: (what: "tools" | "prompts") => void;
}

/** The answer to an elicitation. */
export type ElicitAnswer =
  | { readonly action: "accept"; readonly content: { [field: string]: string | number | boolean | string[] } }
  | { readonly action: "decline" | "cancel" };

/**
 * Opens a connection with the SDK, which is loaded here. Tries revision 2026-07-28 first, then the handshake of older
 * ones.
 *
 * @throws Error of the SDK when the server does not answer, or violates the protocol.
 */
export async function openConnection(options: ConnectOptions): Promise<ServerConnection> {
  const { transport, isLegacy, signal, startMs, answer, workspace, onChange } = options;
  const { Client, SdkError, SdkErrorCode } = await import("@modelcontextprotocol/client");
  const changed = (what: "tools" | "prompts") => ({ autoRefresh: false, onChanged: () => onChange(what) });
  const client = new Client(
    { name: "handrail", version: __VERSION__ },
    {
      capabilities: { elicitation: { form: {} }, ...(workspace !== undefined && { roots: {} }) },
      versionNegotiation: { mode: isLegacy ? "legacy" : "auto", probe: { timeoutMs: Math.min(PROBE_MS, startMs / 2) } },
      listMaxPages: 0, // `makeTolerant` ends the lists
      listChanged: { tools: changed("tools"), prompts: changed("prompts") },
      // The server writes both the schema and the data: together they could take forever to validate.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
    },
  );
  client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) =>
    "requestedSchema" in params ? await answer(params, mcpReq.signal) : { action: "decline" },
  );
  if (workspace !== undefined) {
    const root = { uri: pathToFileURL(workspace).href, name: basename(workspace) };
    client.setRequestHandler("roots/list", () => ({ roots: [root] }));
  }
  let problem: string | undefined;
  client.onerror = ({ message }) => void (problem = message);
  const closed = new Promise<string | undefined>((resolve) => {
    client.onclose = () => resolve(problem);
  });
  await client.connect(transport, { timeout: startMs, signal }).catch((error: unknown) => {
    if (!SdkError.isInstance(error) || error.code !== SdkErrorCode.RequestTimeout) throw error;
    throw new Error(`it has not answered in ${startMs / 1_000} s`);
  });
  return { client, closed };
}

/** What a server offers. */
export interface Offered {
  readonly tools: readonly ListedTool[];
  readonly prompts: readonly Prompt[];
  readonly hasResources: boolean;
}

/** Lists everything that a server offers, all pages. Always requests it from the server. */
export async function listOffered(
  client: Client,
  limits: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<Offered> {
  const options = { ...limits, cacheMode: "refresh" as const };
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  const [listed, offered] = await walkingLists(() =>
    Promise.all([
      tools === undefined ? { tools: [] } : client.listTools({}, options),
      prompts === undefined ? { prompts: [] } : client.listPrompts({}, options).catch(() => ({ prompts: [] })),
    ]),
  );
  return { tools: listed.tools, prompts: offered.prompts, hasResources: resources !== undefined };
}
