import { Unreachable } from "../../core/contract/failure.ts";
import { clip } from "../../core/util/text.ts";
import type { NotReady } from "../shell/login-shell.ts";
import { type LineEnd, howOf, unreachable } from "../shell/transport.ts";

/** The host as the person named it, and the command that connects to it by hand. */
export interface Host {
  readonly target: string;
  /** "ssh TARGET", with the configuration file if one was given; quoted for a shell. */
  readonly byHand: string;
}

/** The exit code of ssh when it has no connection (ssh(1)). */
const NO_CONNECTION = 255;

/** Explains why the connection, or a shell on it, has ended. */
export function whyLost({ target, byHand }: Host, end: LineEnd): Unreachable {
  const rejected = whyRejected({ target, byHand }, end.message);
  if (rejected !== undefined) return rejected;
  const details = { hint: "The next call opens it again.", mayPass: !lasts(end.message) };
  const words = quoted(end.message, ": ");
  if (end.code === NO_CONNECTION) return new Unreachable(`the connection to ${target} was lost${words}`, details);
  // If the shell's end was reported, we ended ssh ourselves: it would have continued for other sessions.
  const isOver = end.message.split("\n").some((line) => line.startsWith("\x01"));
  const how = isOver ? "somebody may have killed it" : howOf(end);
  return new Unreachable(`the shell on ${target} has ended (${how})${words}`, details);
}

/** Explains why the first shell was never ready. */
export function whyNotOpened({ target, byHand }: Host, failed: NotReady): Unreachable {
  const message = failed.is === "ended" ? failed.end.message : failed.message;
  const rejected = whyRejected({ target, byHand }, message);
  if (rejected !== undefined) return rejected;
  const words = quoted(message, ". It reported: ");
  const seeing = `Run \`${byHand} true\` to see the error.`;
  const profile =
    "In the remote profile (.profile, .bash_profile, .zprofile, …), run interactive set-up only in interactive shells.";
  if (failed.is === "hung" && failed.began)
    return unreachable(`the login profile on ${target} does not finish${words}`, profile);
  if (failed.is === "hung")
    return unreachable(`${target} accepted the connection, but started no command${words}`, seeing);
  const how = howOf(failed.end);
  if (failed.began)
    return unreachable(`the login profile on ${target} ended the shell (${how}) before a command ran${words}`, profile);
  if (failed.end.code === NO_CONNECTION)
    return new Unreachable(`no connection to ${target} could be opened${quoted(message, ": ")}`, {
      hint: seeing,
      mayPass: !lasts(message),
    });
  return unreachable(
    `${target} accepted the login but ran no command: it ended ${how}${words}`,
    "The account needs a login shell that runs commands, and /bin/sh.",
  );
}

/** Explains the refusals of ssh that protect somebody (sshconnect.c): a person has to decide. */
function whyRejected({ target, byHand }: Host, message: string): Unreachable | undefined {
  if (/REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for .* has changed/.test(message)) {
    const [removal = "ssh-keygen -R HOST"] = /ssh-keygen -f .* -R [^\r\n]*/.exec(message) ?? [];
    return unreachable(
      `the host key of ${target} has changed: somebody may intercept the connection, or the host was reinstalled. ` +
        "Nothing was sent",
      "Ask its administrator for the new fingerprint. Only if it matches, remove the old key " +
        `(\`${removal.trim()}\`), connect once by hand (\`${byHand}\`) and compare.`,
    );
  }
  if (/^Host key verification failed|No .*host key is known for/m.test(message)) {
    return unreachable(
      `the host key of ${target} is not known here, so the host cannot be verified`,
      `Connect once by hand with \`${byHand}\` and check the fingerprint.`,
    );
  }
  const [denied, login, methods = ""] = /(?:^(\S+): )?Permission denied \(([^)]*)\)/m.exec(message) ?? [];
  if (denied === undefined) return undefined;
  const who = login === undefined ? "" : ` (${login})`;
  return unreachable(
    `${target} denied the login${who}: it accepts ${methods.replaceAll(",", ", ")}, ` +
      "and rejected every key that ssh offered",
    "Passwords and passphrases are not asked for. Add the key to the agent (`ssh-add`), or name it for this host " +
      `(IdentityFile in ~/.ssh/config), until \`${byHand} -o BatchMode=yes true\` works.`,
  );
}

/** Whether the problem lasts until a person acts: the host's name is wrong, or the configuration is. */
function lasts(message: string): boolean {
  const lasting =
    /Could not resolve hostname (?!.*Temporary failure)|no matching .* found|[Bb]ad .*(configuration|owner)/;
  return lasting.test(message);
}

/** Lines of a message that are quoted: ssh names the cause first, and then what follows from it. */
const MOST_LINES = 5;
const MOST_CHARACTERS = 400;

/** The last lines after `before` that are neither empty nor one of our signs. */
function quoted(message: string, before: string): string {
  const lines = message
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("\x01"));
  return lines.length === 0 ? "" : before + clip(lines.slice(-MOST_LINES).join("; "), MOST_CHARACTERS);
}
