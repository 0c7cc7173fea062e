import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from "node:assert/strict";
import { oddText, randomNumbers } from "./random.ts";
import { type Cases, type Scene, failureOf, run, inShell, whole } from "./scene.ts";

/** Writes its arguments, each followed by a NUL byte. */
const ARGUMENTS = "for argument; do printf '%s\\000' \"$argument\"; done";

/** What a process gets, and what cannot be started. */
export const starting: Cases = {
  "arguments arrive byte for byte, with any content": async (scene) => {
    const next = randomNumbers(11);
    for (let round = 0; round < 8; round++) {
      await arrive(
        scene,
        Array.from({ length: 25 }, () => oddText(next, 12)),
      );
    }
  },

  "empty arguments, every character, and a very long one arrive": async (scene) => {
    const characters = Array.from({ length: 255 }, (_, index) => String.fromCodePoint(index + 1));
    await arrive(scene, ["", "", ...characters, characters.join(""), "", "x".repeat(100_000), "\n", "\n\n", ""]);
  },

  "a program is found on the PATH, by its path, and by one relative to where it starts": async (scene) => {
    const { backend, folder, write, sh, at } = scene;
    const name = "a 'program' $(id)";
    await write(name, "#!/bin/sh\nprintf 'it ran: %s' \"$1\"\n");
    await sh("chmod 755 ./a*");
    for (const program of [at(name), `./${name}`]) {
      equal((await run(backend, { argv: [program, "-x"], cwd: folder })).output, "it ran: -x");
    }
    equal((await run(backend, { argv: ["printf", "%s", "found"], cwd: folder })).output, "found");
  },

  "variables are added, with any names and values": async ({ backend }) => {
    const env = {
      HANDRAIL_SUITE: "plain",
      EMPTY: "",
      QUOTES: "'\"`$(id)\\ $HOME",
      LINES: "a\n\nb\n",
      UNICODE: "漢字 😀 é",
      EQUALS: "a=b=c",
      LANG: "C",
      a_1: "lower",
      "with.dots-and dashes": "kept",
      'it\'s a "name"': "kept",
      "of two\nlines": "kept",
    };
    const { output } = await run(backend, { argv: ["env"], env });
    for (const [name, value] of Object.entries(env)) ok(`\n${output}`.includes(`\n${name}=${value}\n`), name);
  },

  "there is no terminal and no person: no pager and no password prompt blocks": async ({ sh }) => {
    const { output } = await sh(
      'echo "$PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT"; (: </dev/tty) 2>/dev/null || echo none',
    );
    equal(output, "cat cat 0\nnone\n");
  },

  "an editor that a command opens ends at once with a sentence, unless the command chose it": async ({ sh }) => {
    for (const name of ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"]) {
      const { output } = await sh(`sh -c "$${name} 'a file'"; echo "$?"`);
      match(output, /^No editor can be used here.*git commit -m TEXT.*\n1\n$/, name);
    }
    for (const chosen of ["EDITOR", "VISUAL", "GIT_EDITOR"]) {
      const { output } = await sh(
        `${chosen}='echo chosen' sh -c 'eval "$GIT_SEQUENCE_EDITOR \\"a  \\$\\""; $${chosen} b'`,
      );
      equal(output, "chosen a  $\nchosen b\n", chosen);
    }
  },

  "its PATH has absolute folders alone": async ({ sh }) => {
    const folders = (await sh('printf %s "$PATH"')).output.split(":");
    deepEqual(
      folders.filter((folder) => !folder.startsWith("/")),
      [],
    );
  },

  "it starts in the working directory, or in the folder asked for, by its real path": async (scene) => {
    const { backend, sh, at, folder } = scene;
    await sh("mkdir 'a b'; ln -s 'a b' link");
    equal((await run(backend, { argv: ["pwd"] })).output, `${backend.workDir}\n`);
    for (const cwd of [at("a b"), at("link"), `${folder}/none/../a b/.`, at("a b").slice(backend.workDir.length + 1)]) {
      if (cwd.startsWith("/") || backend.workDir !== "/") {
        equal((await run(backend, { argv: ["pwd"], cwd })).output, `${at("a b")}\n`, cwd);
      }
    }
  },

  "ids are unique, and are the process's own number where the backend says so": async (scene) => {
    const { backend, differences } = scene;
    const children = await Promise.all(Array.from({ length: 3 }, () => backend.spawn(inShell("echo $$"))));
    const ids = children.map(({ id }) => id);
    for (const id of ids) notEqual(id, "");
    equal(new Set(ids).size, ids.length);
    await Promise.all(children.map(({ exit }) => exit));
    if (differences.ids === "other") return;
    const told = await Promise.all(children.map(async ({ output }) => (await whole(output)).toString().trim()));
    deepEqual(ids, told);
  },

  "a program that is missing or not executable is a failure that names it": async ({ backend, write, folder, at }) => {
    await write("plain", "no program");
    for (const program of ["handrail-suite-no-such-program", "./none", "./plain", at("plain"), folder, ""]) {
      const failure = await failureOf(backend.spawn({ argv: [program], cwd: folder }));
      ok(failure.includes(program) && failure !== "", program);
    }
  },

  "folders of PATH that cannot be searched neither end the search nor explain a failure": async (scene) => {
    const { backend, folder, sh, at, write } = scene;
    await sh("mkdir closed; chmod 000 closed; ln -s loop loop; touch file");
    await write("plain", "no program");
    const unsearchable = ["closed", "loop", "file", "none", "x".repeat(300)].map(at).join(":");
    const env = { PATH: `${unsearchable}:/usr/local/bin:/usr/bin:/bin` };
    equal((await run(backend, { argv: ["printf", "found"], cwd: folder, env })).output, "found");
    const failure = await failureOf(backend.spawn({ argv: ["handrail-suite-no-such-program"], cwd: folder, env }));
    ok(failure.includes("handrail-suite-no-such-program"), failure);
    doesNotMatch(failure, /executable|entered|permission|too many|too long/i);
    await sh("chmod 700 closed");
  },

  "a starting folder that is missing or not a folder is a failure that names it": async ({ backend, write, at }) => {
    await write("file", "");
    for (const name of ["none", "none/at/all", "file"]) {
      const failure = await failureOf(backend.spawn({ argv: ["true"], cwd: at(name) }));
      ok(failure.includes(at(name)), failure);
    }
  },

  "a NUL byte in an argument or a variable is a failure, not an end": async ({ backend }) => {
    match(await failureOf(backend.spawn({ argv: ["echo", "a\0b"] })), /echo/);
    match(await failureOf(backend.spawn({ argv: ["echo"], env: { A: "a\0b" } })), /echo/);
  },
};

async function arrive({ backend }: Scene, given: readonly string[]): Promise<void> {
  const { bytes } = await run(backend, { argv: ["sh", "-c", ARGUMENTS, "sh", ...given] });
  deepEqual(bytes.toString().split("\0").slice(0, -1), given);
  ok(bytes.equals(Buffer.from(given.map((each) => `${each}\0`).join(""))));
}
