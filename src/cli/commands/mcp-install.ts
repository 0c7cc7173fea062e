import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { terminalSafe } from "../../core/output/terminal-text.ts";
import { messageOf, tried } from "../../core/util/errors.ts";
import { type ClientFormat, readClientFile, replaceClientFile, withValue } from "../client-file.ts";
import { MCP_CLIENTS, type McpClient, fileOfClient } from "../mcp-clients.ts";
import type { GlobalOptions } from "../options.ts";
import { say, warn } from "../say.ts";
import { askOnTerminal } from "../terminal.ts";
import type { Io } from "../io.ts";

export interface InstallOptions extends GlobalOptions {
  readonly project?: true;
  readonly print?: true;
}

/** The name of the server in the client. */
const NAME = "handrail";

/** The command that writes the entry of `handrail mcp` for another program. */
export const run = { install };

/** Shows the entry, asks, and writes it to the client's file; a copy of the old file is kept beside it. */
async function install(
  name: keyof typeof MCP_CLIENTS,
  words: readonly string[],
  options: InstallOptions,
): Promise<void> {
  const client = MCP_CLIENTS[name];
  const { title, format, servers, besides, next } = client;
  const file = fileOfClient(options.io, client, options.project ? resolve(options.io.cwd, ".") : undefined);
  const path = [...servers, NAME];
  const [program, ...first] = ownProgram(options.io);
  const entry = client.entry(program, [...first, "mcp", ...argsOf(client, words, options)]);
  const shown = await snippet(format, path, entry);
  if (options.print) {
    warn(options.io, [`for ${file}`]);
    return say(options.io, shown);
  }
  const old = await readClientFile(file);
  const { text, before } =
    old === undefined
      ? { text: `${await snippet(format, path, entry, besides)}\n`, before: undefined }
      : await withValue(old, format, path, entry).catch((error: unknown) => {
          throw new Error(`${file}: ${messageOf(error)}`, { cause: error });
        });
  if (isDeepStrictEqual(before, entry)) return say(options.io, `${file} has this entry already; nothing has changed.`);
  say(options.io, `${title}: ${old === undefined ? "the new file" : ""} ${file} gets`.replaceAll(/ +/g, " "));
  say(options.io, terminalSafe(shown));
  if (before !== undefined) say(options.io, terminalSafe(`in place of\n${await snippet(format, path, before)}`));
  if (!options.yes && !(await isWanted(options.io))) return say(options.io, "Nothing has changed.");
  const backup = await replaceClientFile(file, text, options.project ? 0o644 : 0o600);
  say(options.io, `Written.${backup === undefined ? "" : ` The file as it was: ${backup}`}\n${next}`);
}

async function isWanted(io: Io): Promise<boolean> {
  const answer = await askOnTerminal(io, "Write it? [y/N] ", new AbortController().signal);
  if (answer === "no terminal") throw new Error("nobody can be asked here: --yes writes it, --print only prints it");
  return answer === "yes";
}

/** Returns the arguments after `mcp`. The folder is that of `--work-dir`, or the one that is open in the client. */
function argsOf(
  { openFolder }: McpClient,
  words: readonly string[],
  { io, workDir }: GlobalOptions,
): readonly string[] {
  const folder = workDir === undefined ? openFolder : resolve(io.cwd, workDir);
  const isSet = words.some((word) => /^--(?:work-dir|ssh|container)(?:=|$)/.test(word));
  return [...(folder === undefined || isSet ? [] : ["--work-dir", folder]), ...words];
}

/** Returns how this program is started: by its name if that is on the PATH, otherwise by paths. */
function ownProgram(io: Io): readonly [string, ...string[]] {
  const [node, file] = io.program;
  const own = realpathSync(file);
  const found = (io.env["PATH"] ?? "").split(delimiter).find((folder) =>
    tried(() => {
      const place = join(folder, "handrail");
      accessSync(place, constants.X_OK);
      return realpathSync(place) === own;
    }),
  );
  return found === undefined ? [node, own] : ["handrail"];
}

/** Returns the whole of a file that has only this value at the end of the keys, after `besides`. */
async function snippet(format: ClientFormat, path: readonly string[], value: unknown, besides: object = {}) {
  const inner = path.reduceRight((all, key) => ({ [key]: all }), value);
  const whole = { ...besides, ...(inner as object) };
  if (format === "json") return JSON.stringify(whole, undefined, 2);
  return (await import("yaml")).stringify(whole, { lineWidth: 0 }).trimEnd();
}
