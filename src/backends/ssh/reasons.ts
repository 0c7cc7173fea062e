import { Unreachable } from "../../contract/failure.ts";
import { clip } from "../../util/text.ts";

/** The host as people name it here, and the command with which they go there by hand. */
export interface Host {
  readonly target: string;
  /** "ssh TARGET", with the configuration file if one was given; quoted for a shell. */
  readonly byHand: string;
}

/** One thing that ssh says when it fails, and what that means. */
interface Reason {
  readonly says: RegExp;
  /** True: it may be over in a moment. */
  readonly mayPass: boolean;
  readonly tell: (found: RegExpExecArray, host: Host, said: string) => Told;
}

interface Told {
  readonly message: string;
  readonly hint: string;
}

/** The next step after a loss. */
export const AGAIN = "It is opened again when something is to be done there.";

/** What is wrong, by the words of ssh; `undefined` when they are none that are known. */
export function reasonIn(host: Host, said: string): Unreachable | undefined {
  for (const { says, mayPass, tell } of REASONS) {
    const found = says.exec(said);
    if (found === null) continue;
    const { message, hint } = tell(found, host, said);
    return new Unreachable(message, { hint, mayPass });
  }
  return undefined;
}

/** The words are those of OpenSSH (sshconnect.c, clientloop.c, readconf.c); the first that fits counts. */
const REASONS: readonly Reason[] = [
  {
    says: /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for .* has changed/,
    mayPass: false,
    tell: (_found, { target, byHand }, said) => ({
      message: `the host key of ${target} is not the one that is known: somebody may be in between, or the host was set up anew. Nothing was sent`,
      hint: `Ask who runs it for the key's new fingerprint. Only if that is right: remove the old key (${removalIn(said)}), connect once by hand (\`${byHand}\`) and compare.`,
    }),
  },
  {
    says: /^Host key verification failed|No .*host key is known for/m,
    mayPass: false,
    tell: (_found, { target, byHand }) => ({
      message: `the host key of ${target} is not known here, so nobody can tell whether it is the right host`,
      hint: `Connect once by hand with \`${byHand}\` and check the fingerprint.`,
    }),
  },
  {
    says: /Too many authentication failures/,
    mayPass: false,
    tell: (_found, { target }) => ({
      message: `${target} was offered too many keys before the right one`,
      hint: "For this host, set IdentityFile and `IdentitiesOnly yes` in ~/.ssh/config.",
    }),
  },
  {
    says: /(?:^(\S+): )?Permission denied \(([^)]*)\)/m,
    mayPass: false,
    tell: ([, login, methods = ""], { target, byHand }) => ({
      message: `${target} does not let us in${login === undefined ? "" : ` (${login})`}: accepted are ${methods.split(",").join(", ")}, and no key that ssh offers here is right`,
      hint: `Nobody is asked for a password or passphrase. Put the key into the agent (\`ssh-add\`), or name it for this host (IdentityFile in ~/.ssh/config), until \`${byHand} -o BatchMode=yes true\` works.`,
    }),
  },
  {
    says: /Could not resolve hostname (.*?): (Temporary failure[^\r\n]*)/,
    mayPass: true,
    tell: ([, host = "", why = ""]) => ({
      message: `the name ${host} cannot be looked up: ${why}`,
      hint: "See whether this machine has a network.",
    }),
  },
  {
    says: /Could not resolve hostname (.*?): ([^\r\n]*)/,
    mayPass: false,
    tell: ([, host = "", why = ""], { target }) => ({
      message: `there is no host ${host}: ${why}`,
      hint: /^[^/[]*:\d+$/.test(target)
        ? `A port is written as ssh://${target}.`
        : "Check the spelling, or add it as a Host with a HostName to ~/.ssh/config.",
    }),
  },
  {
    says: /connect to host (.*?) port (\d+): Connection refused/,
    mayPass: true,
    tell: ([, host = "", port = ""]) => ({
      message: `${host} refuses connections on port ${port}`,
      hint: "See whether sshd runs there, and on this port.",
    }),
  },
  {
    says: /connect to host (.*?) port (\d+): ([^\r\n]*)/,
    mayPass: true,
    tell: ([, host = "", port = "", why = ""]) => ({
      message: `${host} cannot be reached on port ${port}: ${why}`,
      hint: "See whether the host runs, and whether this machine has a way to it (VPN, firewall).",
    }),
  },
  {
    says: /timed out during banner exchange|banner exchange: .*timed out|Connection timed out during/i,
    mayPass: true,
    tell: (_found, { target }) => ({
      message: `${target} takes the connection but does not answer as an SSH server does`,
      hint: "See whether it is overloaded, and whether this is the port of sshd.",
    }),
  },
  {
    says: /^channel \d+: open failed: ([^\r\n]*)/m,
    mayPass: true,
    tell: ([, why = ""], { target }) => ({
      message: `the host in front of ${target} (ProxyJump) cannot reach it: ${why}`,
      hint: "See whether the host runs, and whether its name and port are those that count there.",
    }),
  },
  {
    says: /(?:kex|ssh)_exchange_identification: ([^\r\n]*)/,
    mayPass: true,
    tell: ([, why = ""], { target }) => ({
      message: `${target} closed the connection before any key was exchanged: ${why}`,
      hint: "It may have too many at once (MaxStartups), or not allow this address.",
    }),
  },
  {
    says: /no matching .* found|Bad (?:owner or permissions|configuration option)|bad configuration options|Can't open user config file|UNPROTECTED PRIVATE KEY/i,
    mayPass: false,
    tell: (found, { target, byHand }) => ({
      message: `ssh does not go on with what is configured for ${target}: ${lineOf(found)}`,
      hint: `See what \`${byHand} true\` says, and change the configuration.`,
    }),
  },
  {
    says: /This account is currently not available|Your password has expired|Password change required/,
    mayPass: false,
    tell: (found, { target }) => ({
      message: `the account on ${target} runs no commands: ${lineOf(found)}`,
      hint: "Use another account, or give this one a login shell.",
    }),
  },
  {
    says: /\/bin\/sh: (?:[Nn]o such file|[Cc]ommand not found|not found)|(?:No such file|not found|Unknown command)[^\r\n]*\/bin\/sh/,
    mayPass: false,
    tell: (_found, { target }) => ({
      message: `there is no /bin/sh on ${target}, by which everything is done there`,
      hint: "Use a host that has a POSIX shell.",
    }),
  },
  {
    says: /Timeout, server .* not responding/,
    mayPass: true,
    tell: (_found, { target }) => ({
      message: `the connection to ${target} was lost: nothing was heard from it any more`,
      hint: AGAIN,
    }),
  },
  {
    says: /(?:Connection to .* closed by remote host|Connection closed by|Connection reset|Broken pipe|client_loop: send disconnect|mux_client_request_session: [^\r\n]*)/,
    mayPass: true,
    tell: (found, { target }) => ({ message: `the connection to ${target} was lost: ${lineOf(found)}`, hint: AGAIN }),
  },
];

/** The command that ssh itself gives for a host key that has changed, or its form. */
function removalIn(said: string): string {
  const [command = "ssh-keygen -R HOST"] = /ssh-keygen -f .* -R [^\r\n]*/.exec(said) ?? [];
  return `\`${command.trim()}\``;
}

/** The whole line in which something was found. */
function lineOf({ input, index, 0: text }: RegExpExecArray): string {
  const start = input.lastIndexOf("\n", index) + 1;
  const end = input.indexOf("\n", index + text.length);
  return clip(input.slice(start, end === -1 ? undefined : end).trim(), 300);
}
