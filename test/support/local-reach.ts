import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { type Line, type LineEnd, type Reach, Unreachable } from "../../src/backends/remote/reach.ts";

/** A reach that does not go far, for tests without an engine or an sshd. */
export interface LocalReach extends Reach {
  /** Cuts the connection: every shell is killed at once, with what it runs in its process group. */
  cut(): void;
}

/** What the end of a program here is told with. */
const MOST_SAID = 8_192;

/** What the shell wrote last is read for so long after its end. */
const REST_MS = 100;

/** Shells on this machine in the place of those on another: `["dash"]`, `["busybox", "sh"]`, `["bash", "--posix"]`. As with a real reach all end with the first one. */
export function localReach(argv: readonly string[]): LocalReach {
  const [program = "sh", ...args] = argv;
  /** The shells of the connection that is open. */
  let open: Set<ChildProcess> | undefined;

  const cut = () => {
    const all = open ?? [];
    open = undefined; // what is opened from now on is a new connection, though nobody has noticed yet
    for (const child of all) killGroup(child);
  };
  return {
    name: `reach:${argv.join(" ")}`,
    place: `the shell ${argv.join(" ")}`,
    async open() {
      const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
      const isFirst = open === undefined;
      const connection = (open ??= new Set());
      connection.add(child);
      return lineTo(child, () => {
        connection.delete(child);
        if (isFirst && open === connection) cut();
      });
    },
    explain: async ({ code, signal, said }) =>
      new Unreachable(`the connection to the shell ${argv.join(" ")} was lost (${signal ?? code}): ${said}`, {
        mayPass: true,
      }),
    async close() {
      cut();
    },
    cut,
  };
}

function lineTo(child: ChildProcessWithoutNullStreams, gone: () => void): Line {
  let said = "";
  let problem: Error | undefined;
  child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString("utf8")).slice(-MOST_SAID)));
  child.once("error", (error) => (problem = error));
  const ended = new Promise<LineEnd>((resolve) => {
    const end = (code: number | null, signal: string | null) => {
      gone();
      resolve({ code, signal, said: problem?.message ?? said });
    };
    child.once("close", end);
    // What has a session of its own may hold the streams on; a connection would be gone all the same.
    child.once("exit", (code, signal) => setTimeout(end, REST_MS, code, signal));
  });
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, ended, kill: () => killGroup(child) };
}

/** The shell and what runs in its group; what made itself a session of its own is left alone, as it would be there. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it has ended
  }
}
