import { Unreachable } from "../../contract/failure.ts";
import { clip } from "../../util/text.ts";
import type { Readiness } from "../remote/login-shell.ts";
import type { LineEnd } from "../remote/transport.ts";
import { AGAIN, type Host, reasonIn } from "./reasons.ts";

type NotReady = Exclude<Readiness, { readonly is: "ready" }>;

/** Why the connection, or a shell on it, has ended. */
export function whyLost(host: Host, end: LineEnd): Unreachable {
  const { target } = host;
  const known = reasonIn(host, end.said);
  if (known !== undefined) return known;
  const said = lastLine(end.said);
  const words = said === "" ? "" : `: ${said}`;
  if (end.code === 255)
    return new Unreachable(`the connection to ${target} was lost${words}`, { hint: AGAIN, mayPass: true });
  // Then we have ended ssh ourselves, which would have gone on for others.
  const isOver = end.said.split("\n").some((line) => line.startsWith("\x01"));
  const how = isOver
    ? "somebody may have killed it"
    : end.signal === null
      ? `with status ${end.code}`
      : `by ${end.signal}`;
  return new Unreachable(`the shell on ${target} has ended (${how})${words}`, { hint: AGAIN, mayPass: true });
}

/** Why the first shell was never ready. */
export function whyNotOpened(host: Host, failed: NotReady): Unreachable {
  const { target, byHand } = host;
  const said = failed.is === "ended" ? failed.end.said : failed.said;
  const words = lastLine(said) === "" ? "" : ` It said: ${lastLine(said)}`;
  const no = (message: string, hint: string) => new Unreachable(message, { hint, mayPass: false });

  const known = reasonIn(host, said);
  if (known !== undefined) return known;
  const profile =
    "In the profile there (.profile, .bash_profile, .zprofile, …) let what is for people run only in interactive shells.";
  if (failed.is === "hung" && failed.began)
    return no(`the profile of a login on ${target} does not come to its end.${words}`, profile);
  if (failed.is === "hung")
    return no(
      `${target} took the connection, but no command has begun there.${words}`,
      `See what \`${byHand} true\` waits for.`,
    );
  const { code, signal } = failed.end;
  const how = signal === null ? `with status ${code}` : `by ${signal}`;
  if (failed.began)
    return no(
      `the profile of a login on ${target} ended the login shell (${how}) before a command could run.${words}`,
      profile,
    );
  if (code === 255)
    return no(`no connection to ${target} could be opened.${words}`, `See what \`${byHand} true\` says.`);
  return no(
    `${target} let us in, but runs no command: the login ended ${how}.${words}`,
    "The account needs a login shell that runs commands, and /bin/sh.",
  );
}

/** The last line that says something; no sign of ours. */
function lastLine(said: string): string {
  const lines = said
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("\x01"));
  return clip(lines.at(-1) ?? "", 300);
}
