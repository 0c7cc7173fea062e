import { deepEqual, equal, ok } from "node:assert/strict";
import { randomBytes } from "../backend/random.ts";
import { type Cases, exits, run } from "../backend/scene.ts";
import { fresh, paneOf, startAsking, terminalOf } from "./pane.ts";

/** stdin, in all its forms. */
const INPUTS = ["closed", "pipe", "terminal"] as const;

/** Output and exit codes: as written, not as on the screen. */
export const results: Cases = {
  "tabs, line ends, wide characters and a missing last line end arrive as written": async ({ sh }) => {
    const { exit, output } = await sh("printf 'a\\tb  \\r\\n\\r\\n漢字 e\u0301 😀\\n\\n  end'; exit 5");
    deepEqual([exit, output], [{ how: "exited", code: 5 }, "a\tb  \r\n\r\n漢字 e\u0301 😀\n\n  end"]);
  },

  "lines wider than the pane stay one line each": async ({ sh }) => {
    const { output } = await sh("printf '%01000d\\n%01000d\\n' 1 2");
    deepEqual(
      output.split("\n").map((line) => line.length),
      [1_000, 1_000, 0],
    );
  },

  "what moves the cursor, clears the screen or changes to another one is output like any other": async ({ sh }) => {
    const wild = "\u001b[2J\u001b[H\u001b[?1049hhidden\u001b[?1049l\u001b]0;title\u0007\rback\b\b\u001b[31mred";
    const { output } = await sh(`printf '${wild.replaceAll("\u001b", "\\033").replaceAll("\u0007", "\\007")}'`);
    equal(output, wild);
    equal((await sh("echo next")).output, "next\n");
  },

  "a line that asks the terminal for an answer does not answer the next command": async ({ sh }) => {
    await sh("printf '\\033[6n\\033[c'");
    for (let round = 0; round < 3; round++) equal((await sh("cat; echo next")).output, "next\n");
  },

  "five megabytes of any bytes arrive whole, for every kind of stdin": async ({ write, backend, folder }) => {
    const block = randomBytes(1_048_577, 6);
    await write("block", block);
    const expected = Buffer.concat(Array.from({ length: 5 }, () => block));
    for (const stdin of INPUTS) {
      const argv = ["cat", "block", "block", "block", "block", "block"] as const;
      const child = await backend.spawn({ argv, cwd: folder, stdin });
      await child.endInput();
      await exits(child, 0);
      ok(Buffer.from(await child.output.read(0, child.output.kept)).equals(expected), `with stdin ${stdin}`);
      await child.output.dispose();
    }
    equal((await run(backend, { argv: ["echo", "next"] })).output, "next\n");
  },

  "every exit status is reported, for every kind of stdin": async ({ backend }) => {
    const ways = { "exit 0": 0, "exit 1": 1, "exit 126": 126, "exit 127": 127, "exit 255": 255, "kill -9 $$": 137 };
    for (const stdin of INPUTS) {
      for (const [script, code] of Object.entries(ways)) {
        const { exit } = await run(backend, { argv: ["sh", "-c", script], stdin });
        deepEqual(exit, { how: "exited", code }, `${script}, stdin ${stdin}`);
      }
    }
  },

  "a command cannot change the shell in the pane": async ({ backend, sh }) => {
    backend.notices?.();
    const before = await backend.spawn({ argv: ["true"] });
    await before.exit;
    for (const script of ["exit 7", "exec true", "set -e; false", "kill -9 $$", "trap '' INT; cd /; PS1=x; set -u"]) {
      await sh(script);
      await sh(script, { stdin: "terminal" });
    }
    const after = await backend.spawn({ argv: ["echo", "still"] });
    await exits(after, 0, "still\n");
    equal(paneOf(after), paneOf(before));
    deepEqual(backend.notices?.() ?? [], []);
  },

  "a terminal that a command leaves raw is of use to the next one": async ({ backend, sh }) => {
    await sh("stty raw -echo; exit 1", { stdin: "terminal" });
    await sh("stty raw -echo; kill -9 $$", { stdin: "terminal" });
    const word = fresh();
    const child = await startAsking(backend, 'read -r line; echo "got $line"');
    await terminalOf(backend).sendKeys({ target: paneOf(child), text: word, enter: true });
    await exits(child, 0, `ready\ngot ${word}\n`);
  },

  "twelve in parallel have their own output and exit code": async ({ backend }) => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        run(backend, { argv: ["sh", "-c", `echo ${index}; sleep 1; echo ${index}; exit ${index}`] }),
      ),
    );
    deepEqual(
      all.map(({ exit, output }) => [exit, output]),
      all.map((_, index) => [{ how: "exited", code: index }, `${index}\n${index}\n`]),
    );
  },
};
