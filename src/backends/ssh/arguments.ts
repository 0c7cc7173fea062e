import { resolve } from "node:path";
import { ToolFailure } from "../../contract/failure.ts";
import { isAtLeast } from "./version.ts";

/** So many signs of life may fail to come before ssh gives a connection up. */
const MISSED_SIGNS = 3;

export interface SshSettings {
  readonly target: string;
  /** Taken in place of the user's and the system's configuration. */
  readonly configFile?: string;
  /** A connection on which nothing was heard for so long is lost. Milliseconds; ssh counts whole seconds, so at least 4,000. */
  readonly keepAliveMs: number;
  /** As `sshVersion` says it. */
  readonly version: string;
}

/** How one ssh takes part in the connection. */
export interface Part {
  /** "master": it opens the connection, and its end ends it. "further": it has a session on it. */
  readonly as: "master" | "further";
  /** The socket by which they meet. */
  readonly socket: string;
  /** Where ssh's own words go, so that stderr has only what comes from there. */
  readonly log: string;
}

/**
 * The arguments of one ssh. What stands here wins over the user's configuration (ssh takes the first value it finds), and is only what a held-open shell
 * cannot do without: nothing is asked, forwarded, put into the background or run here.
 */
export function sshArguments(
  { target, configFile, keepAliveMs, version }: SshSettings,
  { as, socket, log }: Part,
  command: string,
): string[] {
  const options = [
    "BatchMode=yes",
    `ControlMaster=${as === "master" ? "yes" : "no"}`,
    `ControlPath=${socket}`,
    "ControlPersist=no",
    "ConnectTimeout=10",
    "ConnectionAttempts=1",
    `ServerAliveInterval=${Math.max(1, Math.round(keepAliveMs / 1_000 / (MISSED_SIGNS + 1)))}`,
    `ServerAliveCountMax=${MISSED_SIGNS}`,
    "TCPKeepAlive=yes",
    "LogLevel=INFO",
    "RequestTTY=no",
    "RemoteCommand=none",
    "EscapeChar=none",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "Tunnel=no",
    "PermitLocalCommand=no",
    ...(isAtLeast(version, [8, 7]) ? ["ForkAfterAuthentication=no", "StdinNull=no", "SessionType=default"] : []),
  ];
  return [
    ...configArguments(configFile),
    "-T",
    "-E",
    log,
    ...options.flatMap((option) => ["-o", option]),
    "--",
    target,
    command,
  ];
}

/** For a configuration file of its own; "none" means no configuration at all. */
export function configArguments(configFile: string | undefined): readonly string[] {
  if (configFile === undefined) return [];
  return ["-F", configFile === "none" ? configFile : resolve(configFile)];
}

/**
 * Refuses what is no target: nothing in it may be taken for an option, by ssh or by a program that its configuration hands it to (ProxyCommand with %h).
 *
 * @throws ToolFailure
 */
export function requireTarget(target: string): void {
  const expected =
    'expected a host as ssh takes it: "host", "user@host", a Host of ~/.ssh/config, or "ssh://user@host:port"';
  if (target === "") throw new ToolFailure(`no SSH target is given: ${expected}`);
  if (/[\s\p{C}]/u.test(target))
    throw new ToolFailure(
      `${JSON.stringify(target)} is no SSH target, since it holds spaces or control characters: ${expected}`,
    );
  if (/(?:^|[@/])-/.test(target))
    throw new ToolFailure(
      `${target} is no SSH target, since a part of it begins with "-" as an option does: ${expected}`,
    );
  const [odd] = /["'`$;&|<>(){}*?!#^]/.exec(target) ?? [];
  if (odd !== undefined)
    throw new ToolFailure(
      `${target} is no SSH target, since it holds ${odd}, which means something to shells: ${expected}`,
    );
}
