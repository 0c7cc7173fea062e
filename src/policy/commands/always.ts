import type { FoundProgram } from "../plain/finder.ts";
import type { FoundCommand } from "./search.ts";

/**
 * Commands whose meaning no file of the workspace decides: they read no settings and no program from it. Only these are
 * granted for longer than a session outside the sandbox. Programs, and what their words may be.
 */
const FIXED: readonly (readonly [programs: RegExp, words: RegExp])[] = [
  [/^(ps|pgrep|top|uptime|free|lsof|ss|netstat|who|w|last|ip|ifconfig|dmesg|journalctl)$/, /^/],
  [/^(ping|dig|host|nslookup|traceroute|whois)$/, /^(?!.* -f)/s],
  [/^systemctl$/, /^( --user)? (status|is-active|is-enabled|show|list-units|list-timers)( |$)/],
  [/^(docker|podman|nerdctl)$/, /^ (ps|images|version|info|stats|logs|inspect|pull|stop)( |$)/],
  [/^curl$/, /^( -[sSfLIvi]+)* https?:\/\/\S+$/],
  [/^mkdir$/, /^/],
];

/** Whether no file of the workspace decides what the command does, nor which program runs. */
export async function isFixed(
  { words, assigns }: FoundCommand,
  find: (name: string) => Promise<FoundProgram | string>,
): Promise<boolean> {
  const [name, ...others] = words.flatMap(({ value }) => value ?? []);
  if (name === undefined || others.length + 1 < words.length || assigns.length > 0) return false;
  const text = others.map((word) => ` ${word}`).join("");
  if (!FIXED.some(([programs, given]) => programs.test(name) && given.test(text))) return false;
  return typeof (await find(name)) !== "string";
}
