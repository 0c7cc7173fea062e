import { deepEqual, equal, ok } from "node:assert/strict";
import { type Cases, run, soon, whole } from "./scene.ts";

/** Signals whose numbers are the same on every system (POSIX, kill). */
const SIGNALS = { HUP: 1, INT: 2, QUIT: 3, ABRT: 6, KILL: 9, TERM: 15 } as const;

/** Those that mean something to shells, ssh, container engines or timeout, their neighbours, and some between. */
const CODES = [
  0, 1, 2, 3, 42, 63, 64, 65, 77, 100, 123, 124, 125, 126, 127, 128, 129, 130, 137, 143, 159, 200, 254, 255,
];

/** So many commands are run side by side. */
const SIDE_BY_SIDE = 12;

/** `exit`. */
export const endings: Cases = {
  "a child that is killed is the shell's own affair": async ({ sh }) => {
    deepEqual((await sh("sh -c 'kill -9 $$'; exit $?")).exit, { how: "exited", code: 137 });
  },

  "an exit code from 0 to 255 comes back as it is": async ({ backend }) => {
    for (let start = 0; start < CODES.length; start += SIDE_BY_SIDE) {
      const batch = CODES.slice(start, start + SIDE_BY_SIDE);
      const exits = await Promise.all(
        batch.map(async (code) => (await backend.spawn({ argv: ["sh", "-c", `exit ${code}`] })).exit),
      );
      deepEqual(
        exits,
        batch.map((code) => ({ how: "exited", code })),
      );
    }
  },

  "a signal that ended it is told": async ({ backend, differences }) => {
    for (const [name, number] of Object.entries(SIGNALS)) {
      // Some shells ignore QUIT for themselves; what they have become does not.
      const script = `ulimit -c 0; (while kill -${name} $$; do sleep 0.1 || sleep 1; done) >/dev/null 2>&1 & exec sleep 60`;
      const { exit } = await run(backend, { argv: ["sh", "-c", script] });
      const byName = { how: "signaled", signal: `SIG${name}` };
      deepEqual(exit, differences.signals === "name" ? byName : { how: "exited", code: 128 + number }, name);
    }
  },

  "the exit says the same as often as it is asked": async ({ backend }) => {
    const child = await backend.spawn({ argv: ["sh", "-c", "exit 3"] });
    deepEqual(await Promise.all([child.exit, child.exit]), [
      { how: "exited", code: 3 },
      { how: "exited", code: 3 },
    ]);
  },

  "a child in the background that holds the streams does not hold the end": async ({ open, folder }) => {
    const backend = await open(); // what is left behind ends with it
    for (const child of ["sleep 1000", "while :; do echo more; sleep 0.1 || sleep 1; done"]) {
      const shell = await backend.spawn({ argv: ["sh", "-c", `echo before; { ${child}; } & echo after`], cwd: folder });
      deepEqual(await soon("it ends", shell.exit), { how: "exited", code: 0 });
      const lines = (await whole(shell.output)).toString().split("\n");
      ok(lines.includes("before") && lines.includes("after"), lines.join(" "));
    }
  },

  "twelve side by side each have their own output and exit code": async ({ backend }) => {
    const numbers = Array.from({ length: SIDE_BY_SIDE }, (_, index) => index);
    const script = 'i=0; while [ $i -lt 50 ]; do echo "$0 $i"; i=$((i + 1)); done; exit "$0"';
    const all = await Promise.all(
      numbers.map((number) => run(backend, { argv: ["sh", "-c", script, String(number)] })),
    );
    for (const [number, { exit, output }] of all.entries()) {
      deepEqual(exit, { how: "exited", code: number });
      equal(output, Array.from({ length: 50 }, (_, index) => `${number} ${index}\n`).join(""));
    }
  },

  "four really run at one time: each waits for the others": async ({ sh }) => {
    const script = (own: number) =>
      `: >here-${own}; for each in 0 1 2 3; do while [ ! -e here-$each ]; do sleep 1; done; done; echo met`;
    const all = await soon("they have met", Promise.all([0, 1, 2, 3].map((own) => sh(script(own)))));
    deepEqual(
      all.map(({ output }) => output),
      ["met\n", "met\n", "met\n", "met\n"],
    );
  },
};
