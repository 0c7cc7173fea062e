import { basename, extname } from "node:path";
import type { Content } from "../../core/contract/content.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { ToolSource } from "../../core/contract/tool-source.ts";
import type { Tool, ToolContext } from "../../core/contract/tool.ts";
import { foreignTool, progressOf } from "../../core/call/foreign-tool.ts";
import { type Opened, type SourceGuards, restarting } from "../../core/call/restarting.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { variablesNamed } from "../../core/util/environment.ts";
import { messageOf } from "../../core/util/errors.ts";
import { type PluginConnection, connect } from "./connection.ts";
import { isRecord } from "../../core/util/record.ts";

export interface PluginOptions extends SourceGuards {
  /** The program: a path, or a name to look up on the PATH. */
  readonly path: string;
  readonly args?: readonly string[];
  /** The names of environment variables that the plugin gets, in addition to the clean environment. Default: none. */
  readonly env?: readonly string[];
  /** The environment that has them. Default: that of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Whether the plugin runs in the sandbox. Default false. */
  readonly sandbox?: boolean;
  /** The folder in which the plugin starts. Default: see `SourceProgram`. */
  readonly cwd?: string;
  /** The hosts that it may reach from the sandbox. Default: none. */
  readonly hosts?: readonly string[];
  /**
   * Its name in rules and messages. Default: the file's name without its extension; for an interpreter, that of its
   * script.
   */
  readonly name?: string;
  /** How long it may take to name its tools, in milliseconds. Default 30,000. */
  readonly startMs?: number;
  /** How long a call may take without a result or an update, in milliseconds. Default 600,000: ten minutes. */
  readonly quietMs?: number;
  /** The pause before the second restart in a row, in milliseconds. Doubles each time. Default 500. */
  readonly restartMs?: number;
}

/** A plugin as a source of tools: an external program that speaks JSON lines on stdin and stdout (docs/plugins.md). */
export function plugin(options: PluginOptions): ToolSource {
  const { path, args = [], env = [], sandbox = false, hosts = [] } = options;
  const { startMs = 30_000, quietMs = 600_000, restartMs } = options;
  const name = `plugin:${options.name ?? pluginName(path, args)}`;
  let first: "init" | "describe" = "init";
  /** The last definition of each tool, as JSON, by the tool's name. */
  let definitions: ReadonlyMap<string, string> = new Map();

  const running = restarting<PluginConnection>({
    ...{ name, guards: options, pauseMs: restartMs },
    async open(host, offer): Promise<Opened<PluginConnection>> {
      const program = await host.start({
        argv: [path, ...args],
        env: variablesNamed(env, options.environment),
        within: sandbox ? { network: hosts } : "none",
        ...(options.cwd !== undefined && { cwd: options.cwd }),
      });
      const onFault = (fault: string) => host.notice(`${name} ${fault}`);
      const use = (given: readonly unknown[]) => offer(toolsOf(given, onFault));
      try {
        const limits = { first, startMs, quietMs };
        const connection = await connect(program, { ...limits, onTools: use, onFault, mask: host.mask });
        await use(connection.tools);
        return { connection, ended: connection.ended };
      } catch (error) {
        first = first === "init" ? "describe" : "init"; // it may have exited because of a message that it does not know
        await program.kill();
        throw error;
      }
    },
  });

  /** Creates the tools that the plugin names, and remembers their definitions. */
  const toolsOf = (given: readonly unknown[], onFault: (fault: string) => void): readonly Tool[] => {
    const described = new Map<string, string>();
    const tools = given.flatMap((each): Tool[] => {
      try {
        const definition = JSON.stringify(each);
        const tool = toolOf(each, definition);
        described.set(tool.name, definition);
        return [tool];
      } catch (error) {
        onFault(`has a tool that is left out, ${shownName(each)}: ${messageOf(error)}.`);
        return [];
      }
    });
    definitions = described;
    return tools;
  };

  const toolOf = (given: unknown, definition: string): Tool => {
    const { name: tool, description = "", parameters = {}, title, destructive } = isRecord(given) ? given : {};
    const { params_hint: paramsHint, user_facing: userFacing = true } = isRecord(given) ? given : {};
    if (typeof tool !== "string" || typeof description !== "string") {
      throw new TypeError("expected name and description, both strings");
    }
    if (typeof userFacing !== "boolean") throw new TypeError("expected user_facing to be true or false");
    if (paramsHint !== undefined && typeof paramsHint !== "string") {
      throw new TypeError("expected params_hint to be a string");
    }
    if (/^(mcp|plugin)__/.test(tool))
      throw new TypeError("names that begin with mcp__ or plugin__ are reserved for rules");
    return foreignTool({
      ...{ from: name, tool, description, schema: parameters, destructive: destructive === true },
      ...(typeof title === "string" && { title }),
      ...(paramsHint !== undefined && { paramsHint }),
      ...(!userFacing && { userFacing }),
      async run(params, context) {
        const connection = await running.current(context.signal);
        if (definitions.get(tool) !== definition) {
          throw new ToolFailure(`${name} has changed the tool "${tool}" since it was called; nothing was run`, {
            hint: "Read its description again, then call it again.",
          });
        }
        const call = { id: context.callId, name: tool, params, signal: context.signal, onUpdate: progressOf(context) };
        const { content, isError } = await connection.call(call).catch((error: unknown) => {
          if (!(error instanceof ToolFailure)) throw error;
          const { message, hint } = error;
          throw new ToolFailure(`${name} ${message}`, hint === undefined ? {} : { hint });
        });
        running.served();
        return dataOf(content, isError, context);
      },
    });
  };

  return { name, start: running.start, close: running.close };
}

/** Returns "weather" for "./plugins/weather.py", and for "python3" with that as an argument. */
export function pluginName(path: string, args: readonly string[] = []): string {
  const script =
    extname(path) === "" ? args.find((arg) => /^[^-].*\.(py|[cm]?[jt]s|sh|rb|pl|lua|php)$/.test(arg)) : undefined;
  const file = script ?? path;
  return basename(file, extname(file)).replaceAll(/[^a-zA-Z0-9-]+/g, "-") || "plugin";
}

/** Returns the texts, which are the data and what the model reads. Attaches the images. */
function dataOf(content: readonly Content[], isError: boolean, { attach }: ToolContext): string {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const images = content.filter((part) => part.type === "image");
  if (isError && texts === "") throw new ToolFailure("the plugin reported an error without a message");
  if (isError) throw new ToolFailure(texts, { foreign: true });
  for (const image of images) attach(image);
  return texts;
}

function shownName(given: unknown): string {
  return isRecord(given) && typeof given["name"] === "string" ? `"${oneLine(given["name"], 80)}"` : "without a name";
}
