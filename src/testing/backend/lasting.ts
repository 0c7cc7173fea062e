import { deepEqual, equal, ok } from "node:assert/strict";
import { randomBytes } from "./random.ts";
import { type Cases, run, soon, until, whole } from "./scene.ts";
import { escapes, witness } from "./witness.ts";

const LASTING = { lasting: true } as const;

/** Commands that are said to run for long: they are like any other. */
export const lasting: Cases = {
  "exit code, output and errors are as ever": async ({ sh, folder }) => {
    const script = "echo out; echo err >&2; pwd -P; exit 255";
    const merged = await sh(script, LASTING);
    deepEqual([merged.exit, merged.output], [{ how: "exited", code: 255 }, `out\nerr\n${folder}\n`]);
    const split = await sh(script, { ...LASTING, streams: "split" });
    deepEqual([split.exit, split.output, split.errors], [{ how: "exited", code: 255 }, `out\n${folder}\n`, "err\n"]);
  },

  "arguments and variables arrive": async ({ backend }) => {
    const odd = "'\"`$(id)\\ \n\n漢字";
    const { output } = await run(backend, {
      ...LASTING,
      argv: ["sh", "-c", 'printf "%s|%s" "$1" "$ODD"', "sh", odd],
      env: { ODD: odd },
    });
    equal(output, `${odd}|${odd}`);
  },

  "five megabytes come through whole": async ({ write, sh }) => {
    const block = randomBytes(1_048_577, 4);
    await write("block", block);
    const { bytes, exit } = await sh("cat block block block block block; exit 9", LASTING);
    ok(bytes.equals(Buffer.concat(Array.from({ length: 5 }, () => block))), `got ${bytes.length} bytes`);
    deepEqual(exit, { how: "exited", code: 9 });
  },

  "question and answer go back and forth": async ({ backend }) => {
    const child = await backend.spawn({
      ...LASTING,
      argv: ["sh", "-c", 'while read -r word; do echo "got $word"; done; echo end'],
      stdin: "pipe",
    });
    for (const word of ["one", "two"]) {
      await child.write(`${word}\n`);
      await until(`it has answered ${word}`, async () =>
        (await whole(child.output)).toString().endsWith(`got ${word}\n`),
      );
    }
    await child.endInput();
    deepEqual(await soon("it ends", child.exit), { how: "exited", code: 0 });
    equal((await whole(child.output)).toString(), "got one\ngot two\nend\n");
  },

  "a child in the background does not hold the end": async ({ open }) => {
    const backend = await open();
    const child = await backend.spawn({ ...LASTING, argv: ["sh", "-c", "sleep 1000 & echo started"] });
    deepEqual(await soon("it ends", child.exit), { how: "exited", code: 0 });
    equal((await whole(child.output)).toString(), "started\n");
  },

  "after its time it is stopped, and its output so far is kept": async ({ backend }) => {
    const argv = ["sh", "-c", "echo before; exec sleep 1000"] as const;
    const child = await backend.spawn({ ...LASTING, argv, timeoutMs: 2_000 });
    equal((await soon("its time is up", child.exit)).how, "timed-out");
    equal((await whole(child.output)).toString(), "before\n");
  },

  "kill ends all that was started": async (scene) => {
    const watching = await witness(scene);
    const child = await scene.backend.spawn({
      ...LASTING,
      argv: ["sh", "-c", `${watching.enrol}\n${escapes.script}\nwait`],
      cwd: scene.folder,
    });
    await watching.present(escapes.names);
    await soon("it is ended", child.kill());
    await watching.gone();
  },

  "it is ended when its backend is closed": async (scene) => {
    const watching = await witness(scene);
    const backend = await scene.open();
    const child = await backend.spawn({
      ...LASTING,
      argv: ["sh", "-c", `${watching.enrol}; echo running >&9; exec sleep 1000`],
      cwd: scene.folder,
    });
    await watching.present(["running"]);
    await soon("it is closed", backend.close());
    await watching.gone();
    equal((await child.exit).how, "signaled");
  },
};
