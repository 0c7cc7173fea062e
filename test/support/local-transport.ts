import { Unreachable } from "../../src/contract/failure.ts";
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Line, LineEnd, Transport } from "../../src/backends/remote/transport.ts";

/** A transport that does not go far, for tests without an engine or an sshd. */
export interface LocalTransport extends Transport {
  /** Cuts the connection: every shell is killed at once, with what it runs in its process group. */
  cut(): void;
}

/** What the end of a program here is told with. */
const MOST_SAID = 8_192;

/** What the shell wrote last is read for so long after its end. */
const REST_MS = 100;

/** A shell of a connection, and how its line is told that it has ended. */
interface Opened {
  readonly child: ChildProcess;
  end(code: number | null, signal: string | null): void;
}

/** Shells on this machine in the place of those on another: `["dash"]`, `["busybox", "sh"]`, `["bash", "--posix"]`. As with a real transport all end with the first one. */
export function localTransport(argv: readonly string[]): LocalTransport {
  const [program = "sh", ...args] = argv;
  /** The shells of the connection that is open, the first one first. */
  let connection: Opened[] = [];

  const cut = () => {
    const [first, ...others] = connection;
    connection = [];
    for (const { child } of [first, ...others].filter((each) => each !== undefined)) killGroup(child);
    first?.end(null, "SIGKILL");
    setImmediate(() => others.forEach(({ end }) => end(null, "SIGKILL"))); // the first is the connection: it is noticed there
  };
  return {
    name: `transport:${argv.join(" ")}`,
    place: `the shell ${argv.join(" ")}`,
    access: { program: argv, options: [] },
    async open() {
      const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
      const mine = connection;
      const { line, end } = lineTo(child, () => {
        if (mine !== connection) return;
        if (mine[0]?.child === child) cut();
        else
          connection.splice(
            mine.findIndex((each) => each.child === child),
            1,
          );
      });
      connection.push({ child, end });
      return line;
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

function lineTo(
  child: ChildProcessWithoutNullStreams,
  gone: () => void,
): { readonly line: Line; readonly end: Opened["end"] } {
  let said = "";
  let problem: Error | undefined;
  child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString("utf8")).slice(-MOST_SAID)));
  child.once("error", (error) => (problem = error));
  let resolve: (end: LineEnd) => void;
  const ended = new Promise<LineEnd>((resolved) => (resolve = resolved));
  const end = (code: number | null, signal: string | null) => resolve({ code, signal, said: problem?.message ?? said });
  const over = (code: number | null, signal: string | null) => {
    end(code, signal);
    gone();
  };
  child.once("close", over);
  // What has a session of its own may hold the streams on; a connection would be gone all the same.
  child.once("exit", (code, signal) => setTimeout(over, REST_MS, code, signal));
  const { stdin, stdout, stderr } = child;
  return { line: { stdin, stdout, stderr, ended, kill: () => killGroup(child) }, end };
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
