import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ToolFailure, Unreachable } from "../../core/contract/failure.ts";
import { quoteWords } from "../../core/util/quote.ts";
import { pause } from "../../core/util/abort.ts";
import { codeOf, messageOf } from "../../core/util/errors.ts";
import {
  type ReadinessLimits,
  loginScript,
  overSign,
  plainCommand,
  startLine,
  untilReady,
} from "../shell/login-shell.ts";
import { type Line, type LineEnd, type Transport, unreachable } from "../shell/transport.ts";
import { type SshSettings, configArguments, requireTarget, sshArguments } from "./arguments.ts";
import { type Host, whyLost, whyNotOpened } from "./failures.ts";
import { removeLeftFolders, socketFolder, socketIn } from "./socket-folder.ts";
import { ProgramMissing } from "../programs/programs.ts";
import { sshVersion } from "./version.ts";

export interface SshTransportOptions {
  /** "user@host", a Host of ssh_config, "ssh://user@host:port". */
  readonly target: string;
  /** An ssh_config(5) file that replaces the user's and the system's: ssh's `-F`. */
  readonly configFile?: string;
  /** How long a connection may be silent before it counts as lost. Milliseconds; at least 4,000, default 8,000. */
  readonly keepAliveMs?: number;
}

/** The ssh process that owns the connection, and the lines that share it. */
interface Master {
  readonly socket: string;
  readonly folder: string;
  readonly lines: Set<Line>;
}

/** BatchMode keeps ssh from asking; this keeps the ssh of a ProxyJump from asking in a window. */
const UNATTENDED = { SSH_ASKPASS_REQUIRE: "never" };

/** The exit code of ssh after a lost connection (ssh(1)). */
const CONNECTION_LOST = 255;

/** How long to wait for the messages of the master after the connection was lost. Milliseconds. */
const TELLING_MS = 500;

/**
 * Creates the transport to a host through the system's ssh. The first line is both the master of the connection and the
 * first shell, so everything ends with this process.
 *
 * @throws ToolFailure for an invalid target, or if there is no OpenSSH here.
 */
export async function sshTransport(
  { target, configFile, keepAliveMs = 8_000 }: SshTransportOptions,
  limits: ReadinessLimits = {},
): Promise<Transport> {
  requireTarget(target);
  const settings: SshSettings = {
    target,
    keepAliveMs,
    version: await requireSsh(),
    ...(configFile !== undefined && { configFile }),
  };
  const host: Host = { target, byHand: quoteWords(["ssh", ...configArguments(configFile), target]) };
  const ending = new Set<Promise<void>>();
  const alive = new Set<Line>();
  let master: Master | undefined;
  /** The end of the (last) master, which explains the loss of the connection. */
  let masterEnded: Promise<LineEnd> | undefined;
  let isClosed = false;
  let numbers = 0;

  const start = async (
    as: "master" | "further",
    secret: string,
    { socket, folder }: Pick<Master, "socket" | "folder">,
  ): Promise<Line> => {
    if (isClosed) throw new ToolFailure(`the connection to ${target} is closed`);
    const log = join(folder, `${++numbers}.log`);
    const script = loginScript({ secret, profile: "login-shell", tellsEnd: as === "master" });
    const argv = ["ssh", ...sshArguments(settings, { as, socket, log }, plainCommand(script))] as const;
    const line = await startLine({ argv, env: UNATTENDED, log }).catch(cannotStart);
    alive.add(line);
    until(line.ended.then(() => (alive.delete(line), rm(log, { force: true }))));
    if (isClosed) line.kill();
    return line;
  };
  /** Makes `close` wait for the promise. */
  const until = (done: Promise<void>) => {
    const quiet = done.catch(() => undefined);
    ending.add(quiet);
    void quiet.then(() => ending.delete(quiet));
  };

  const openMaster = async (): Promise<Line> => {
    const folder = await socketFolder();
    until(removeLeftFolders());
    const socket = socketIn(folder);
    const lines = new Set<Line>();
    const secret = newSecret();
    const removal = async () => {
      for (const line of lines) line.kill();
      await Promise.all([...lines].map((line) => line.ended));
      await rm(folder, { recursive: true, force: true });
    };
    let line: Line;
    try {
      line = await start("master", secret, { socket, folder });
    } catch (error) {
      await removal();
      throw error;
    }
    until(line.ended.then(removal));
    const readiness = await untilReady(line, secret, limits);
    if (readiness.is !== "ready") throw whyNotOpened(host, readiness);
    killWhenOver(line, secret);
    const own: Master = { socket, folder, lines };
    master = own;
    masterEnded = line.ended;
    void line.ended.then(() => {
      if (master === own) master = undefined;
    });
    return line;
  };

  const openFurther = async (held: Master): Promise<Line> => {
    const secret = newSecret();
    const line = await start("further", secret, held);
    held.lines.add(line);
    if (master !== held) line.kill(); // the connection was lost meanwhile
    void line.ended.then(() => held.lines.delete(line));
    return line;
  };

  return {
    name: `ssh:${target}`,
    place: target,
    access: { program: ["ssh", ...configArguments(configFile), "-t", target], options: ["--ssh", target] },
    async open(which) {
      if (which === "first") return openMaster();
      if (master === undefined) throw new Unreachable(`the connection to ${target} was lost`, { mayPass: true });
      return openFurther(master);
    },
    explain: async (end) => whyLost(host, await tellingEnd(withoutRefusal(end), masterEnded)),
    async close() {
      isClosed = true;
      for (const line of alive) line.kill();
      while (ending.size > 0) await Promise.all(ending);
    },
  };
}

/** Removes the message about a refused session: ssh then connects anew, so it does not explain the end. */
function withoutRefusal(end: LineEnd): LineEnd {
  return { ...end, message: end.message.replace(SESSION_REFUSED, "").trim() };
}

/** A message of OpenSSH (mux.c). */
const SESSION_REFUSED = /^mux_client_request_session: session request failed: Session open refused by peer\s*$/m;

/** Resolves to the end that explains a loss: that of the master, which an ssh on its connection does not know. */
async function tellingEnd(end: LineEnd, masterEnded: Promise<LineEnd> | undefined): Promise<LineEnd> {
  const goneWithIt = end.code === CONNECTION_LOST || end.signal === "SIGKILL";
  if (!goneWithIt || end.message !== "" || masterEnded === undefined) return end;
  const told = await Promise.race([masterEnded, pause(TELLING_MS, undefined, { keepsAlive: false })]);
  return told ?? end;
}

const newSecret = () => randomBytes(16).toString("hex");

/** Kills the master after its own shell has ended: it would continue while others share its connection, unnoticed. */
function killWhenOver(line: Line, secret: string): void {
  const sign = overSign(secret);
  let tail = "";
  line.stderr.on("data", (chunk: Buffer) => {
    const text = tail + chunk.toString("latin1");
    if (text.includes(sign)) line.kill();
    tail = text.slice(-sign.length);
  });
}

async function requireSsh(): Promise<string> {
  const version = await sshVersion().catch(cannotStart);
  if (version === undefined) throw noSsh();
  if (version.startsWith("OpenSSH_")) return version;
  throw unreachable(
    `the ssh on the PATH is not OpenSSH: it reports ${JSON.stringify(version.slice(0, 100))}`,
    "Install the OpenSSH client and put it first on the PATH.",
  );
}

function cannotStart(error: unknown): never {
  if (error instanceof ProgramMissing && error.onlyIn !== undefined) throw unreachable(error.message, undefined, error);
  if (codeOf(error) === "ENOENT") throw noSsh();
  throw unreachable(`ssh cannot be started here: ${messageOf(error)}`, undefined, error);
}

function noSsh(): Unreachable {
  return unreachable(
    "there is no ssh on the PATH here",
    "Install the OpenSSH client (for example apt-get install openssh-client).",
  );
}
