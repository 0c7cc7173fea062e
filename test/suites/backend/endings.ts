import { deepEqual, equal, ok } from "node:assert/strict";
import { type Cases, exits, run, inShell, soon, textOf } from "./scene.ts";

/** Signals whose numbers are the same on every system (POSIX, kill). */
const SIGNALS = { HUP: 1, INT: 2, QUIT: 3, ABRT: 6, KILL: 9, TERM: 15 } as const;

/** Codes with a meaning for shells, ssh, container engines or timeout, their neighbours, and some in between. */
const CODES = [
  0, 1, 2, 3, 42, 63, 64, 65, 77, 100, 123, 124, 125, 126, 127, 128, 129, 130, 137, 143, 159, 200, 254, 255,
];

/** How many commands run in parallel. */
const SIDE_BY_SIDE = 12;

/** `exit`. */
export const endings: Cases = {
  "a killed child is handled by the shell": async ({ sh }) => {
    deepEqual((await sh("sh -c 'kill -9 $$'; exit $?")).exit, { how: "exited", code: 137 });
  },

  "every exit code from 0 to 255 is returned": async ({ backend }) => {
    for (let start = 0; start < CODES.length; start += SIDE_BY_SIDE) {
      const batch = CODES.slice(start, start + SIDE_BY_SIDE);
      const ends = await Promise.all(batch.map(async (code) => (await backend.spawn(inShell(`exit ${code}`))).exit));
      deepEqual(
        ends,
        batch.map((code) => ({ how: "exited", code })),
      );
    }
  },

  "a signal that ended it is reported": async ({ backend, differences }) => {
    for (const [name, number] of Object.entries(SIGNALS)) {
      // Some shells ignore QUIT themselves; the program that replaces them does not.
      const kill = `(while kill -${name} $$; do sleep 0.1 || sleep 1; done) >/dev/null 2>&1 &`;
      const script = `ulimit -c 0; ${kill} exec sleep 60`;
      const { exit } = await run(backend, { argv: ["sh", "-c", script] });
      const byName = { how: "signaled", signal: `SIG${name}` };
      deepEqual(exit, differences.signals === "name" ? byName : { how: "exited", code: 128 + number }, name);
    }
  },

  "the exit is the same each time": async ({ backend }) => {
    const child = await backend.spawn(inShell("exit 3"));
    deepEqual(await Promise.all([child.exit, child.exit]), [
      { how: "exited", code: 3 },
      { how: "exited", code: 3 },
    ]);
  },

  "a background child that holds the streams does not delay the end": async ({ open, folder }) => {
    const backend = await open(); // background children end with it
    for (const child of ["sleep 1000", "while :; do echo more; sleep 0.1 || sleep 1; done"]) {
      const shell = await backend.spawn(inShell(`echo before; { ${child}; } & echo after`, { cwd: folder }));
      await exits(shell, 0);
      const lines = (await textOf(shell)).split("\n");
      ok(lines.includes("before") && lines.includes("after"), lines.join(" "));
    }
  },

  "twelve in parallel have their own output and exit code": async ({ backend }) => {
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
