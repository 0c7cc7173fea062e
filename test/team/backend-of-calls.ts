// A worker target as a backend, for the backend suite. Workers make whole calls, so each access is a call of one tool,
// which uses the worker's backend within what the call declares, as every tool does.
import { Type } from "typebox";
import type { Backend, Command, Exit, Process, ToolBackend } from "../../src/core/contract/backend.ts";
import type { CallEvent } from "../../src/core/contract/activity.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import { ToolFailure } from "../../src/core/contract/failure.ts";
import type { Json } from "../../src/core/contract/schema.ts";
import { type ToolContext, defineTool } from "../../src/core/contract/tool.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { asText } from "../../src/core/call/result.ts";
import { createOutputLog } from "../../src/core/output/log.ts";
import { quoteWords } from "../../src/core/util/quote.ts";

/** The bytes of one update. Updates have no limit together, as a result has. */
const PIECE = 30_000;

/** The accesses that are no command: the method of the backend, its path and its other arguments. */
type Access = "realPath" | "stat" | "open" | "read" | "write" | "list" | "remove" | "search" | "find";

interface Reach {
  readonly access: Access | "spawn";
  readonly path?: string;
  readonly given: { readonly [name: string]: Json };
}

/** The tool that callers and workers share. */
export const reach = defineTool({
  name: "reach",
  description: "Uses the worker's backend",
  touches: ["read", "write", "exec"],
  input: Type.Object({ access: Type.String(), path: Type.Optional(Type.String()), given: Type.Any() }),
  effects: (input): readonly Effect[] => effectsOf(input as Reach),
  async run(input, context) {
    const send = sender(context);
    send("result", Buffer.from(JSON.stringify((await reached(input as Reach, context, send)) ?? null)));
    return null;
  },
});

function effectsOf({ access, path = ".", given }: Reach): readonly Effect[] {
  if (access === "spawn") {
    const { argv, cwd, env } = given as unknown as Command;
    const isScript = argv.length === 3 && argv[0] === "sh" && argv[1] === "-c";
    const command = isScript ? (argv[2] ?? "") : quoteWords(argv);
    return [{ kind: "exec", command, ...(cwd !== undefined && { cwd }), ...(env !== undefined && { env }) }];
  }
  if (access === "write" || access === "remove") return [{ kind: "write", path }];
  return [{ kind: "read", path }];
}

type Send = (name: string, bytes: Uint8Array) => void;

/** Sends bytes as updates of the call. Each has a key of its own: consecutive updates may be recorded as one. */
function sender({ report }: ToolContext): Send {
  let count = 0;
  return (name, bytes) => {
    for (let at = 0; at < bytes.length; at += PIECE)
      report({ data: { [`${name} ${++count}`]: base64(bytes.subarray(at, at + PIECE)) } });
  };
}

/** Collects what comes as updates. */
function receiver(take: (name: string, bytes: Buffer) => void) {
  return (event: CallEvent) => {
    if (event.type !== "call.updated") return;
    for (const [key, value] of Object.entries(event.update.data ?? {}))
      if (typeof value === "string") take(key.split(" ")[0] ?? "", Buffer.from(value, "base64"));
  };
}

async function reached({ access, path = ".", given }: Reach, context: ToolContext, send: Send): Promise<unknown> {
  const { files, search, find } = context.backend;
  switch (access) {
    case "spawn":
      return await ran(given as unknown as Command, context, send);
    case "read": {
      const { offset, length } = given as { offset: number; length: number };
      return base64(await (await files.open(path)).read(offset, length));
    }
    case "open":
      return (await files.open(path, given)).info;
    case "write": {
      const { bytes, ...options } = given as { bytes: string };
      return await files.write(path, Buffer.from(bytes, "base64"), options);
    }
    case "search":
      return await search({ path, ...given } as unknown as Parameters<ToolBackend["search"]>[0]);
    case "find":
      return await find({ path, ...given });
    case "remove":
      return await files.remove(path, given);
    default:
      return await files[access](path, given);
  }
}

/** Runs a command to its end. Its output comes as updates of the call, as it is written. */
async function ran(command: Command, { backend }: ToolContext, send: Send): Promise<Exit> {
  const child = await backend.spawn(command);
  send("id", Buffer.from(child.id));
  const follow = async (name: "output" | "errors") => {
    for await (const chunk of child[name]?.follow() ?? []) send(name, chunk);
  };
  await Promise.all([follow("output"), follow("errors")]);
  return await child.exit;
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** The backend of a toolkit whose calls workers make. A process is stopped as its call is: it ends as aborted. */
export function backendOfCalls(toolkit: Toolkit, outputFolder: string): Backend {
  const access = async (
    what: Reach["access"],
    path: string,
    given: object = {},
    signal?: AbortSignal,
  ): Promise<unknown> => {
    const pieces: Buffer[] = [];
    const onEvent = receiver((_, bytes) => pieces.push(bytes));
    const result = await toolkit.call(
      { name: "reach", input: { access: what, path, given } },
      { onEvent, ...(signal !== undefined && { signal }) },
    );
    if (result.status !== "ok") throw new ToolFailure(asText(result));
    return JSON.parse(Buffer.concat(pieces).toString()) ?? undefined;
  };

  const spawn = async ({ signal, ...command }: Command): Promise<Process> => {
    const split = command.streams === "split";
    const output = createOutputLog({ folder: outputFolder });
    const errors = split ? createOutputLog({ folder: outputFolder }) : undefined;
    const stopping = new AbortController();
    signal?.addEventListener("abort", () => stopping.abort());
    if (signal?.aborted === true) throw new ToolFailure(`${command.argv[0]} was not started`);
    let ended: Exit = { how: "lost", reason: "it did not report its end" };
    let started = (_: string) => {};
    const id = new Promise<string>((resolve) => (started = resolve));
    const timeout = command.timeoutMs === Infinity ? { timeoutMs: Number.MAX_SAFE_INTEGER } : {};
    const input: Reach = { access: "spawn", given: { ...command, ...timeout } as unknown as Reach["given"] };
    const call = toolkit.call(
      { name: "reach", input },
      {
        signal: stopping.signal,
        onEvent: receiver((kind, bytes) => {
          if (kind === "id") started(bytes.toString());
          if (kind === "output") output.write(bytes);
          if (kind === "errors") errors?.write(bytes);
          if (kind === "result") ended = JSON.parse(bytes.toString()) as Exit;
        }),
      },
    );
    const exit = call.then((result): Exit => {
      void output.end();
      void errors?.end();
      if (result.status === "ok") return ended;
      if (result.status === "aborted") return { how: "aborted" };
      return { how: "lost", reason: asText(result) };
    });
    const failed = call.then((result) => {
      if (result.status === "ok" || result.status === "aborted") return "";
      throw new ToolFailure(asText(result));
    });
    const closed = async () => {
      throw new ToolFailure("a call has no stdin");
    };
    return {
      id: (await Promise.race([id, failed])) || (await id),
      ...{ output, errors, exit },
      write: closed,
      endInput: async () => {},
      async kill() {
        stopping.abort();
        await exit;
      },
    };
  };

  const { name, workDir, home } = toolkit.backend;
  return {
    ...{ name, workDir, home, spawn },
    files: {
      realPath: (path) => access("realPath", path) as Promise<string>,
      stat: (path, options) => access("stat", path, options) as never,
      async open(path, options) {
        const info = (await access("open", path, options)) as Awaited<ReturnType<Backend["files"]["open"]>>["info"];
        const read = async (offset: number, length: number) =>
          Buffer.from((await access("read", path, { offset, length })) as string, "base64");
        return { info, read, close: async () => {} };
      },
      write: (path, bytes, options) => access("write", path, { bytes: base64(bytes), ...options }) as never,
      list: (path, options) => access("list", path, options) as never,
      remove: async (path, options) => void (await access("remove", path, options)),
    },
    search: ({ path, signal, ...query }) => access("search", path, query, signal) as never,
    find: ({ path, signal, ...query }) => access("find", path, query, signal) as never,
    close: () => toolkit.close(),
  };
}
