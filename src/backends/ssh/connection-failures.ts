import { Unreachable } from "../../contract/failure.ts";
import { clip } from "../../util/text.ts";
import type { NotReady } from "../shell/login-shell.ts";
import { type LineEnd, howOf, unreachable } from "../shell/transport.ts";
import { AGAIN, type Host, reasonIn } from "./reasons.ts";

/** Explains why the connection, or a shell on it, has ended. */
export function whyLost(host: Host, end: LineEnd): Unreachable {
  const { target } = host;
  const known = reasonIn(host, end.said);
  if (known !== undefined) return known;
  const said = lastLine(end.said);
  const words = said === "" ? "" : `: ${said}`;
  if (end.code === 255)
    return new Unreachable(`the connection to ${target} was lost${words}`, { hint: AGAIN, mayPass: true });
  // If the shell's end was reported, we ended ssh ourselves: it would have continued for other sessions.
  const isOver = end.said.split("\n").some((line) => line.startsWith("\x01"));
  const how = isOver ? "somebody may have killed it" : howOf(end);
  return new Unreachable(`the shell on ${target} has ended (${how})${words}`, { hint: AGAIN, mayPass: true });
}

/** Explains why the first shell was never ready. */
export function whyNotOpened(host: Host, failed: NotReady): Unreachable {
  const { target, byHand } = host;
  const said = failed.is === "ended" ? failed.end.said : failed.said;
  const words = lastLine(said) === "" ? "" : ` It said: ${lastLine(said)}`;

  const known = reasonIn(host, said);
  if (known !== undefined) return known;
  const profile =
    "In the remote profile (.profile, .bash_profile, .zprofile, …), run interactive set-up only in interactive shells.";
  if (failed.is === "hung" && failed.began)
    return unreachable(`the login profile on ${target} does not finish.${words}`, profile);
  if (failed.is === "hung")
    return unreachable(
      `${target} accepted the connection, but started no command.${words}`,
      `Run \`${byHand} true\` to see what it waits for.`,
    );
  const how = howOf(failed.end);
  if (failed.began)
    return unreachable(
      `the login profile on ${target} ended the shell (${how}) before a command could run.${words}`,
      profile,
    );
  if (failed.end.code === 255)
    return unreachable(
      `no connection to ${target} could be opened.${words}`,
      `Run \`${byHand} true\` to see the error.`,
    );
  return unreachable(
    `${target} accepted the login but ran no command: it ended ${how}.${words}`,
    "The account needs a login shell that runs commands, and /bin/sh.",
  );
}

/** The last line that is neither empty nor one of our signs. */
function lastLine(said: string): string {
  const lines = said
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("\x01"));
  return clip(lines.at(-1) ?? "", 300);
}
