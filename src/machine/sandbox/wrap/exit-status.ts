import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { Command, Exit, Process } from "../../../core/contract/backend.ts";
import type { Env } from "../../../core/contract/effect.ts";
import { bytesOf } from "../../../core/util/byte-paths.ts";
import { tried } from "../../../core/util/errors.ts";
import { MARK_VARIABLE } from "../../spawner/marks.ts";
import { systemProgram } from "../programs.ts";

/** The descriptor on which the watcher reports how the command ended. */
export const WATCHER_DESCRIPTOR = 6;

/** The descriptor from which a watcher without a command reads one (`handedOver`). */
export const COMMAND_DESCRIPTOR = 5;

/** The last field of a command that is handed over. Without it the text is incomplete, and nothing runs. */
const COMPLETE = "complete";

/** The number of prctl(2) by architecture, and its operation PR_SET_DUMPABLE (linux/prctl.h). */
const PRCTL: { readonly [architecture: string]: number | undefined } = { x64: 157, arm64: 167 };
const PR_SET_DUMPABLE = 4;

// bwrap exits with 128 + n if the command exited with that code, and also if signal n ended it. So perl, if installed,
// waits for the command inside and writes down its wait status. It ignores TERM, INT and HUP, which are for the
// command. A command that kills it gains nothing: then bwrap's exit code counts. It is not dumpable, so that the
// command cannot open its descriptors in /proc and fill the disk through them. Without a command it forks all the same,
// and the child waits for the command, which it reads to the end before it runs it.
export const WATCHER = `
${PRCTL[process.arch] === undefined ? "" : `syscall(${PRCTL[process.arch]}, ${PR_SET_DUMPABLE}, 0, 0, 0, 0);`}
open my $s, ">&=", ${WATCHER_DESCRIPTOR} or exit 125;
my $c;
open $c, "<&=", ${COMMAND_DESCRIPTOR} or exit 125 if !@ARGV;
$SIG{TERM} = $SIG{INT} = $SIG{HUP} = sub {};
my $p = fork;
if (defined $p && $p == 0) {
  $SIG{TERM} = $SIG{INT} = $SIG{HUP} = "DEFAULT";
  if ($c) {
    syswrite $s, "ready\n";
    my @given = split /\\0/, do { local $/; <$c> } // "", -1;
    exit 125 if !@given || pop @given ne "${COMPLETE}";
    my ($mark, $folder, $count) = ($ENV{${MARK_VARIABLE}}, splice @given, 0, 2);
    %ENV = (splice(@given, 0, 2 * $count), defined $mark ? (${MARK_VARIABLE} => $mark) : ());
    @ARGV = @given;
    chdir $folder or exit 125;
  }
  syswrite $s, "begun\n";
  my $f = $ARGV[0];
  if ($f !~ m{/}) {
    my @found = grep { -f } map { length ? "$_/$f" : "./$f" } split /:/, $ENV{PATH} // "/usr/bin:/bin", -1;
    $! = ${constants.errno.ENOENT};
    ($f) = ((grep { -x } @found), @found, "/$f");
  }
  exec { $f } @ARGV or syswrite $s, "failed $!\\n";
  exit 127;
}
close $c if $c;
1 while defined $p && waitpid($p, 0) < 0 && $! == ${constants.errno.EINTR};
syswrite $s, defined $p ? "ended $?\\n" : "failed $!\\n";
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
`;

/** The text that hands a command over to a watcher that waits. `env`: all its variables. */
export function handedOver(argv: Command["argv"], cwd: string, env: Env): Buffer {
  const variables = Object.entries(env);
  const paths = [cwd, String(variables.length), ...variables.flat()].map((text) => Buffer.from(bytesOf(`${text}\0`)));
  return Buffer.concat([...paths, Buffer.from([...argv, COMPLETE].join("\0"))]);
}

/** Whether the watcher can run: it needs perl. */
export function canWatch(): boolean {
  return systemProgram("perl") !== undefined;
}

/** Returns the command with the watcher before it, if that can run. `watcher`: its path inside the sandbox. */
export function watched(argv: readonly string[], watcher: string): readonly string[] {
  const perl = systemProgram("perl");
  return perl === undefined ? argv : [perl, watcher, ...argv];
}

/**
 * Returns the exit of a contained command as without a sandbox, from the reports of bwrap and the watcher. Without a
 * watcher, a code of 128 plus a signal counts as that signal. `output`: the end of the output, for when nothing was
 * started.
 */
export function exitInside(exit: Exit, program: string, statusFile: string, output: string): Exit {
  if (exit.how !== "exited") return exit;
  const status = endOf(statusFile);
  // The last report counts: the command can write false ones to this file too, but only while it runs.
  const told = [...status.matchAll(/^(ended|failed) (.*)$/gm)].at(-1);
  if (told?.[1] === "ended") return exitOf(Number(told[2]));
  if (told !== undefined) return { how: "lost", reason: `${program} could not be started in the sandbox: ${told[2]}` };
  if (!/"exit-code"/.test(status)) {
    const why = output.trimEnd().split("\n").at(-1) || `bwrap ended with ${exit.code}`;
    return { how: "lost", reason: `the sandbox could not be set up, so nothing ran: ${why}` };
  }
  const signal = exit.code > 128 ? signalName(exit.code - 128) : undefined;
  return signal === undefined ? exit : { how: "signaled", signal };
}

/** Resolves to whether the sandbox was set up; if not, nothing ran. Without a watcher, resolves to true at once. */
export async function isSetUp(process: Pick<Process, "exit">, statusFile: string): Promise<boolean> {
  return !canWatch() || hasReported(process, statusFile, "begun");
}

/** Resolves to true when the watcher has reported this; to false if the process has ended without it. */
export async function hasReported(
  { exit }: Pick<Process, "exit">,
  statusFile: string,
  what: "begun" | "ready",
): Promise<boolean> {
  let ended: Exit | undefined;
  void exit.then((how) => (ended = how));
  for (;;) {
    const isOver = ended !== undefined; // checked before the file is read: the command may begin and end in between
    if (new RegExp(`^${what}$`, "m").test(endOf(statusFile))) return true;
    if (isOver) return ended?.how !== "exited";
    await pause(1);
  }
}

/** The PID of the first process in the sandbox, as bwrap reported it; `undefined` before that. */
export function firstProcess(statusFile: string): number | undefined {
  const [, pid] = /"child-pid": (\d+)/.exec(endOf(statusFile)) ?? [];
  return pid === undefined ? undefined : Number(pid);
}

/** Converts a status of wait(2). */
function exitOf(status: number): Exit {
  const signal = signalName(status & 127);
  return signal === undefined ? { how: "exited", code: status >> 8 } : { how: "signaled", signal };
}

function signalName(number: number): string | undefined {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
}

/** The last 4 KiB of a file; "" if it cannot be read. */
function endOf(file: string): string {
  const read = () => {
    const fd = openSync(file, "r");
    try {
      const bytes = Buffer.alloc(4_096);
      const start = Math.max(0, fstatSync(fd).size - bytes.length);
      return bytes.toString("latin1", 0, readSync(fd, bytes, 0, bytes.length, start));
    } finally {
      closeSync(fd);
    }
  };
  return tried(read) ?? "";
}
