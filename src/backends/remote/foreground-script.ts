import type { CommandWords } from "./command-script.ts";

export interface ForegroundOptions {
  readonly streams: "merged" | "split";
  readonly stdin: "closed" | "pipe";
  /** The number of the first shell there: when that has gone, everything was being ended. */
  readonly first: number;
}

/**
 * A script that runs a command in a pipeline, so that it does not ignore SIGINT as what runs in the background would. Descriptors: 8 is where things are told, 9 the stderr of
 * the shell, 6 stdout of a command whose streams are split. None of them is the command's. In a subshell, for what a shell says of a command that a signal has ended goes where it
 * has redirected that command to.
 */
export function foreground(
  { environment, ready, words }: CommandWords,
  { streams, stdin, first }: ForegroundOptions,
): string {
  const input = stdin === "closed" ? "</dev/null " : "";
  const outputs = streams === "merged" ? "2>&1" : "2>&1 >&6 6>&- 9>&-";
  // Told through the pipes that the command had, so behind all that it wrote.
  const written = streams === "merged" ? "hr_tell written" : "hr_tell written; hr_tell written >&6";
  const run = `exec 2>/dev/null
${environment}
if hr_ready ${ready}; then
( exec $hr_session "$hr_sh" -c "$hr_inner" sh "$hr_n" ${words} ${input}${outputs} )
hr_exited $? ${first} >&8
${written}
else hr_tell unready $? >&8; fi`;
  const script =
    streams === "merged"
      ? `{ { ${run}\n} | hr_copy; } 8>&1`
      : `{ { { ${run}\n} | hr_copy >&9; } 6>&1 | hr_copy; } 8>&1 9>&2`;
  // Unread stdin stands where the shell would read its next script.
  return stdin === "closed" ? script : `${script}\nhr_tell end; hr_tell end >&2; exit 0`;
}
