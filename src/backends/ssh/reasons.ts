import { Unreachable } from "../../contract/failure.ts";
import { clip, either } from "../../util/text.ts";

/** The host as the person named it, and the command that connects to it by hand. */
export interface Host {
  readonly target: string;
  /** "ssh TARGET", with the configuration file if one was given; quoted for a shell. */
  readonly byHand: string;
}

/** An error message of ssh, and what it means. */
interface Reason {
  readonly says: RegExp;
  /** True: the problem may be temporary. */
  readonly mayPass: boolean;
  readonly message: Text;
  readonly hint: Text;
}

/** `{1}` is a group of the pattern, `{line}` the whole line, `{target}` and `{byHand}` those of the host. */
type Text = string | ((found: RegExpExecArray, host: Host) => string);

/** The next step after a loss. */
export const AGAIN = "The next call opens it again.";

/** Explains an error message of ssh; `undefined` if it is unknown. */
export function reasonIn(host: Host, said: string): Unreachable | undefined {
  for (const { says, mayPass, message, hint } of REASONS) {
    const found = says.exec(said);
    if (found === null) continue;
    const names: { readonly [name: string]: string | undefined } = {
      ...Object.fromEntries(found.entries()),
      ...host,
      line: lineOf(found),
    };
    const filled = (text: Text) =>
      typeof text === "string" ? text.replace(/\{(\w+)\}/g, (_, name: string) => names[name] ?? "") : text(found, host);
    return new Unreachable(filled(message), { hint: filled(hint), mayPass });
  }
  return undefined;
}

/** The patterns are messages of OpenSSH (sshconnect.c, clientloop.c, readconf.c). The first match counts. */
const REASONS: readonly Reason[] = [
  {
    says: /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for .* has changed/,
    mayPass: false,
    message:
      "the host key of {target} has changed: somebody may intercept the connection, or the host was reinstalled. " +
      "Nothing was sent",
    hint: ({ input }, { byHand }) =>
      "Ask its administrator for the new fingerprint. Only if it matches, remove the old key " +
      `(${removalIn(input)}), connect once by hand (\`${byHand}\`) and compare.`,
  },
  {
    says: /^Host key verification failed|No .*host key is known for/m,
    mayPass: false,
    message: "the host key of {target} is not known here, so the host cannot be verified",
    hint: "Connect once by hand with `{byHand}` and check the fingerprint.",
  },
  {
    says: /Too many authentication failures/,
    mayPass: false,
    message: "{target} was offered too many keys before the right one",
    hint: "For this host, set IdentityFile and `IdentitiesOnly yes` in ~/.ssh/config.",
  },
  {
    says: /(?:^(\S+): )?Permission denied \(([^)]*)\)/m,
    mayPass: false,
    message: ([, login, methods = ""], { target }) =>
      `${target} denied the login${login === undefined ? "" : ` (${login})`}: ` +
      `it accepts ${methods.replaceAll(",", ", ")}, and rejected every key that ssh offered`,
    hint:
      "Passwords and passphrases are not asked for. Add the key to the agent (`ssh-add`), or name it for this host " +
      "(IdentityFile in ~/.ssh/config), until `{byHand} -o BatchMode=yes true` works.",
  },
  {
    says: /Could not resolve hostname (.*?): (Temporary failure[^\r\n]*)/,
    mayPass: true,
    message: "the name {1} cannot be looked up: {2}",
    hint: "Check this machine's network.",
  },
  {
    says: /Could not resolve hostname (.*?): ([^\r\n]*)/,
    mayPass: false,
    message: "there is no host {1}: {2}",
    hint: (_, { target }) =>
      /^[^/[]*:\d+$/.test(target)
        ? `A port is written as ssh://${target}.`
        : "Check the spelling, or add it as a Host with a HostName to ~/.ssh/config.",
  },
  {
    says: /connect to host (.*?) port (\d+): Connection refused/,
    mayPass: true,
    message: "{1} refuses connections on port {2}",
    hint: "Check that sshd runs on it, on this port.",
  },
  {
    says: /connect to host (.*?) port (\d+): ([^\r\n]*)/,
    mayPass: true,
    message: "{1} cannot be reached on port {2}: {3}",
    hint: "Check that the host runs and that this machine can reach it (VPN, firewall).",
  },
  {
    says: /timed out during banner exchange|banner exchange: .*timed out|Connection timed out during/i,
    mayPass: true,
    message: "{target} accepts the connection but does not answer like an SSH server",
    hint: "Check that it is not overloaded, and that this is the port of sshd.",
  },
  {
    says: /^channel \d+: open failed: ([^\r\n]*)/m,
    mayPass: true,
    message: "the host in front of {target} (ProxyJump) cannot reach it: {1}",
    hint: "Check that the host runs, and its name and port as that host sees them.",
  },
  {
    says: /(?:kex|ssh)_exchange_identification: ([^\r\n]*)/,
    mayPass: true,
    message: "{target} closed the connection before any key was exchanged: {1}",
    hint: "It may have too many connections (MaxStartups), or not allow this address.",
  },
  {
    says: either(
      "i",
      /no matching .* found|Bad (?:owner or permissions|configuration option)|bad configuration options/,
      /Can't open user config file|UNPROTECTED PRIVATE KEY/,
    ),
    mayPass: false,
    message: "ssh rejects the configuration for {target}: {line}",
    hint: "Run `{byHand} true` to see the error, and correct the configuration.",
  },
  {
    says: /This account is currently not available|Your password has expired|Password change required/,
    mayPass: false,
    message: "the account on {target} runs no commands: {line}",
    hint: "Use another account, or give this one a login shell.",
  },
  {
    says: either(
      "",
      /\/bin\/sh: (?:[Nn]o such file|[Cc]ommand not found|not found)/,
      /(?:No such file|not found|Unknown command)[^\r\n]*\/bin\/sh/,
    ),
    mayPass: false,
    message: "{target} has no /bin/sh, which is needed to work on it",
    hint: "Use a host that has a POSIX shell.",
  },
  {
    says: /Timeout, server .* not responding/,
    mayPass: true,
    message: "the connection to {target} was lost: it no longer answers",
    hint: AGAIN,
  },
  {
    says: either(
      "",
      /Connection to .* closed by remote host|Connection closed by|Connection reset|Broken pipe/,
      /client_loop: send disconnect|mux_client_request_session: [^\r\n]*/,
    ),
    mayPass: true,
    message: "the connection to {target} was lost: {line}",
    hint: AGAIN,
  },
];

/** The command that ssh suggests for a changed host key, or its general form. */
function removalIn(said: string): string {
  const [command = "ssh-keygen -R HOST"] = /ssh-keygen -f .* -R [^\r\n]*/.exec(said) ?? [];
  return `\`${command.trim()}\``;
}

/** The whole line that contains the match. */
function lineOf({ input, index, 0: text }: RegExpExecArray): string {
  const start = input.lastIndexOf("\n", index) + 1;
  const end = input.indexOf("\n", index + text.length);
  return clip(input.slice(start, end === -1 ? undefined : end).trim(), 300);
}
