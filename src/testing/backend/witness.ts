import { equal, fail } from "node:assert/strict";
import { type Scene, soon, until, whole } from "./scene.ts";

/** Sees whether processes live, wherever they are: they hold one end of a FIFO, and nobody else does. */
export interface Witness {
  /** Text of sh, for the beginning of a script that runs in the scene's folder: it and all that it starts are seen from then on. */
  readonly enrol: string;
  /** Resolves when each of them has said that it runs, by `echo NAME >&9`. */
  present(names: readonly string[]): Promise<void>;
  /** Resolves when all of them have gone; fails when they do not soon. */
  gone(): Promise<void>;
}

/** Begins to watch. Ids of processes would say less: a backend may have processes that commands cannot see. */
export async function witness({ backend, folder, sh }: Scene): Promise<Witness> {
  equal((await sh("mkfifo alive")).exit.how, "exited");
  // Its input ends when nobody has the other end any more.
  const watcher = await backend.spawn({ argv: ["cat", "alive"], cwd: folder });
  const seen = async () => (await whole(watcher.output)).toString().split("\n");
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

/** Ways to get away from a shell that is stopped. Each says its name, and lives until it is ended. */
const WAYS: { readonly [name: string]: string } = {
  background: "{ echo background >&9; exec sleep 1000; } &",
  orphan: "(sh -c 'echo orphan >&9; exec sleep 1000' &)",
  // What nohup does; a small system has none.
  hangup: "sh -c 'trap \"\" HUP; echo hangup >&9; exec sleep 1000' >/dev/null 2>&1 &",
  session: inSession("echo session >&9; exec sleep 1000"),
  daemon: `( ${inSession('(sh -c "echo daemon >&9; exec sleep 1000" &)')} )`,
  deaf: "sh -c 'trap \"\" TERM HUP INT; echo deaf >&9; while :; do sleep 1000; done' &",
  silent: inSession('exec >/dev/null 2>&1; trap "" TERM HUP INT; echo silent >&9; while :; do sleep 1000; done'),
};

/** All of them: what they are called, and text of sh that sets out on them, for a script that is enrolled. */
export const escapes = { names: Object.keys(WAYS), script: Object.values(WAYS).join("\n") } as const;

/** In a session of its own, where there is a program for that. */
function inSession(script: string): string {
  return `$(command -v setsid) sh -c '${script}' &`;
}
