import { resolve } from "node:path";
import { ToolFailure } from "../../core/contract/failure.ts";
import { isAtLeast } from "./version.ts";

/** How many keep-alive answers may be missing before ssh ends a connection. */
const MISSED_SIGNS = 3;

export interface SshSettings {
  readonly target: string;
  /** Replaces the user's and the system's configuration. */
  readonly configFile?: string;
  /** How long a connection may be silent before it is lost. Milliseconds, at least 4,000: ssh counts seconds. */
  readonly keepAliveMs: number;
  /** As returned by `sshVersion`. */
  readonly version: string;
}

/** The role of one ssh process in the connection. */
export interface Part {
  /** "master": opens the connection, which ends with it. "further": has a session on it. */
  readonly as: "master" | "further";
  /** The socket that they share. */
  readonly socket: string;
  /** The file for ssh's own messages, so that stderr has only those of the remote host. */
  readonly log: string;
}

/**
 * Returns the arguments of one ssh. They override the user's configuration (ssh uses the first value of an option) and
 * allow only what an open shell needs: ssh asks nothing, forwards nothing, stays in the foreground and runs nothing
 * here.
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
  const given = options.flatMap((option) => ["-o", option]);
  return [...configArguments(configFile), "-T", "-E", log, ...given, "--", target, command];
}

/** The arguments for a configuration file; "none" means no configuration at all. */
export function configArguments(configFile: string | undefined): readonly string[] {
  if (configFile === undefined) return [];
  return ["-F", configFile === "none" ? configFile : resolve(configFile)];
}

/** Refuses targets that ssh, or a program of its configuration (ProxyCommand with %h), could take for an option. */
export function requireTarget(target: string): void {
  const expected =
    'expected a host as ssh takes it: "host", "user@host", a Host of ~/.ssh/config, or "ssh://user@host:port"';
  if (target === "") throw new ToolFailure(`not an SSH target: none was given; ${expected}`);
  if (/[\s\p{C}]/u.test(target))
    throw new ToolFailure(
      `${JSON.stringify(target)} is not an SSH target: it contains spaces or control characters; ${expected}`,
    );
  if (/(?:^|[@/])-/.test(target))
    throw new ToolFailure(`${target} is not an SSH target: a part of it begins with "-", like an option; ${expected}`);
  const [odd] = /["'`$;&|<>(){}*?!#^]/.exec(target) ?? [];
  if (odd !== undefined)
    throw new ToolFailure(
      `${target} is not an SSH target: it contains ${odd}, which is special to shells; ${expected}`,
    );
}
