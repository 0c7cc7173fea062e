import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { Command, Exit, Process } from "../../contract/backend.ts";
import { systemProgram } from "./programs.ts";

/** The descriptor on which the watcher says how the command ended. */
export const WATCHER_DESCRIPTOR = 6;

// bwrap ends with 128 + n both where the command exited with that and where signal n ended it. So perl, where there is one, waits for the
// command inside and writes down what the system said. It is deaf to TERM, which is for the command; and a command that ends it gets
// nowhere, for then bwrap's word counts.
export const WATCHER = `
open my $s, ">&=", ${WATCHER_DESCRIPTOR} or exit 125;
syswrite $s, "begun\n";
$SIG{TERM} = $SIG{INT} = $SIG{HUP} = sub {};
my $p = fork;
if (defined $p && $p == 0) {
  $SIG{TERM} = $SIG{INT} = $SIG{HUP} = "DEFAULT";
  exec { $ARGV[0] } @ARGV or syswrite $s, "failed $!\\n";
  exit 127;
}
1 while defined $p && waitpid($p, 0) < 0 && $! == ${constants.errno.EINTR};
syswrite $s, defined $p ? "ended $?\\n" : "failed $!\\n";
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
`;

/** Whether there is a program to watch with. */
export function canWatch(): boolean {
  return systemProgram("perl") !== undefined;
}

/** The command with a watcher in front of it, where there is one. `watcher`: where `WATCHER` is inside. */
export function watched(argv: Command["argv"], watcher: string): Command["argv"] {
  const perl = systemProgram("perl");
  return perl === undefined ? argv : [perl, watcher, ...argv];
}

/**
 * How a contained command ended, as it would have been told without a sandbox: by what bwrap and the watcher have written. Without a watcher
 * an exit code above 128 that stands for a signal counts as that signal. `said` is the end of the output, for when nothing was started.
 */
export function exitInside(exit: Exit, program: string, statusFile: string, said: string): Exit {
  if (exit.how !== "exited") return exit;
  const status = endOf(statusFile);
  // The last word: a command can reach this file too, and lie while it runs.
  const told = [...status.matchAll(/^(ended|failed) (.*)$/gm)].at(-1);
  if (told?.[1] === "ended") return exitOf(Number(told[2]));
  if (told !== undefined) return { how: "lost", reason: `${program} could not be started in the sandbox: ${told[2]}` };
  if (!/"exit-code"/.test(status)) {
    const line = said.trimEnd().split("\n").at(-1) ?? "";
    return {
      how: "lost",
      reason: `the sandbox could not be set up, so nothing was run: ${line === "" ? `bwrap ended with ${exit.code}` : line}`,
    };
  }
  const signal = exit.code > 128 ? signalName(exit.code - 128) : undefined;
  return signal === undefined ? exit : { how: "signaled", signal };
}

/**
 * Resolves when the sandbox has been set up, or what was to do so has ended; false: it ended before, so nothing was run. Where nobody
 * watches, that is not known: true at once.
 */
export async function isSetUp({ exit }: Pick<Process, "exit">, statusFile: string): Promise<boolean> {
  if (!canWatch()) return true;
  let ended: Exit | undefined;
  void exit.then((how) => (ended = how));
  for (;;) {
    const isOver = ended !== undefined; // asked before the file is read: it may have begun and ended in between
    if (/^begun$/m.test(endOf(statusFile))) return true;
    if (isOver) return ended?.how !== "exited";
    await pause(1);
  }
}

/** From a status of wait(2). */
function exitOf(status: number): Exit {
  const signal = signalName(status & 127);
  return signal === undefined ? { how: "exited", code: status >> 8 } : { how: "signaled", signal };
}

function signalName(number: number): string | undefined {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
}

/** The last 4 KiB. */
function endOf(file: string): string {
  try {
    const fd = openSync(file, "r");
    try {
      const bytes = Buffer.alloc(4_096);
      const read = readSync(fd, bytes, 0, bytes.length, Math.max(0, fstatSync(fd).size - bytes.length));
      return bytes.toString("latin1", 0, read);
    } finally {
      closeSync(fd);
    }
  } catch {
    return "";
  }
}
