import { equal, fail } from "node:assert/strict";
import { type Scene, soon, textOf, until } from "./scene.ts";

/** Detects whether processes are running, on any target: they hold one end of a FIFO, and no other process does. */
export interface Witness {
  /** Begins a script in the scene's folder. From then on it is watched, with everything that it starts. */
  readonly enrol: string;
  /** Resolves when each of them has reported that it runs, with `echo NAME >&9`. */
  present(names: readonly string[]): Promise<void>;
  /** Resolves when all of them have ended; rejects when they do not soon. */
  gone(): Promise<void>;
}

/** Starts watching. Process ids would not suffice: a backend may have processes that commands cannot see. */
export async function witness({ backend, folder, sh }: Scene): Promise<Witness> {
  equal((await sh("mkfifo alive")).exit.how, "exited");
  // Its input ends when no process holds the other end.
  const watcher = await backend.spawn({ argv: ["cat", "alive"], cwd: folder });
  const seen = async () => (await textOf(watcher)).split("\n");
  return {
    enrol: "exec 9>alive",
    async present(names) {
      let told: readonly string[] = [];
      await until(`${names.join(", ")} have said that they run`, async () => {
        told = await seen();
        return names.every((name) => told.includes(name));
      });
    },
    async gone() {
      try {
        await soon("it has gone", watcher.exit);
      } catch {
        await watcher.kill();
        fail(`something still lives of what should have been ended: one or more of ${(await seen()).join(" ")}`);
      }
    },
  };
}

/** Ways to escape a shell that is stopped. Each process prints its name, and runs until it is ended. */
const WAYS: { readonly [name: string]: string } = {
  background: "{ echo background >&9; exec sleep 1000; } &",
  orphan: "(sh -c 'echo orphan >&9; exec sleep 1000' &)",
  // The same as nohup, which small systems lack.
  hangup: "sh -c 'trap \"\" HUP; echo hangup >&9; exec sleep 1000' >/dev/null 2>&1 &",
  session: inSession("echo session >&9; exec sleep 1000"),
  daemon: `( ${inSession('(sh -c "echo daemon >&9; exec sleep 1000" &)')} )`,
  deaf: "sh -c 'trap \"\" TERM HUP INT; echo deaf >&9; while :; do sleep 1000; done' &",
  silent: inSession('exec >/dev/null 2>&1; trap "" TERM HUP INT; echo silent >&9; while :; do sleep 1000; done'),
};

/** All of them: their names, and shell text that starts them, for a watched script. */
export const escapes = { names: Object.keys(WAYS), script: Object.values(WAYS).join("\n") } as const;

/** In its own session, if there is a program for that. */
function inSession(script: string): string {
  return `$(command -v setsid) sh -c '${script}' &`;
}
