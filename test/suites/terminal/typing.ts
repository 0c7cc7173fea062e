import { deepEqual, equal, match } from "node:assert/strict";
import { type Cases, exits, failureOf, inShell, soon, textOf, until } from "../backend/scene.ts";
import { fresh, paneOf, screenOf, shows, startAsking, terminalOf } from "./pane.ts";

/** `sendKeys`, and the same with a person's keys. */
export const typing: Cases = {
  "a question is answered by typing": async ({ backend }) => {
    const child = await startAsking(backend, "printf 'name? '; read -r name; echo \"hello $name\"");
    const target = paneOf(child);
    await until("it has asked", async () => (await textOf(child)).endsWith("name? "));
    deepEqual(await terminalOf(backend).sendKeys({ target, text: "Ada", enter: true }), { pane: target });
    await exits(child, 0, "ready\nname? hello Ada\n");
    await shows(backend, /name\? Ada\nhello Ada\n/, target);
  },

  "so is one through the process, whose end of input is Ctrl-D": async ({ backend }) => {
    const child = await startAsking(backend, `${ECHOING}; echo over`);
    await child.write("one\ntwo\n");
    await child.endInput();
    await exits(child, 0, "ready\none\ntwo\nover\n");
  },

  "Ctrl-C ends the command with 130, for every kind of stdin, and not the shell in the pane": async (scene) => {
    const { backend, sh } = scene;
    for (const stdin of ["closed", "pipe", "terminal"] as const) {
      const child = await backend.spawn(inShell("echo ready; exec sleep 1000", { stdin }));
      await soon("it runs", child.output.grown(0));
      await terminalOf(backend).sendKeys({ target: paneOf(child), keys: ["C-c"] });
      deepEqual(await soon("it ends", child.exit), { how: "exited", code: 130 }, stdin);
      equal(await textOf(child), "ready\n");
    }
    equal((await sh("echo next")).output, "next\n");
  },

  "text, keys and Enter are typed in this order": async ({ backend }) => {
    const child = await startAsking(backend, 'read -r line; echo "got $line"');
    const keys = ["x", "y", "BSpace"];
    await terminalOf(backend).sendKeys({ target: paneOf(child), text: "text ", keys, enter: true });
    await soon("it ends", child.exit);
    equal(await textOf(child), "ready\ngot text x\n");
  },

  "text is typed as it is: names of keys, quotes, syntax of tmux and shells, and wide characters": async (scene) => {
    const { backend } = scene;
    const odd = [
      "Enter",
      "C-c",
      "-l",
      "; kill-server",
      "a;",
      "#{pane_id} ~ $HOME",
      "'\"`$(id)\\",
      "%1 {x} \\;",
      "漢字 é 😀",
    ];
    const child = await startAsking(backend, ECHOING);
    const target = paneOf(child);
    for (const text of odd) await terminalOf(backend).sendKeys({ target, text, enter: true });
    await terminalOf(backend).sendKeys({ target, keys: ["C-d"] });
    await exits(child, 0, `ready\n${odd.join("\n")}\n`);
  },

  "fifty thousand characters are typed whole": async ({ backend }) => {
    const lines = Array.from({ length: 100 }, (_, index) => `${index} '"$\` ${"漢xyz".repeat(125)}\n`).join("");
    const child = await startAsking(backend, ECHOING);
    await terminalOf(backend).sendKeys({ target: paneOf(child), text: lines, keys: ["C-d"] });
    await exits(child, 0, `ready\n${lines}`);
  },

  "an unknown key or pane is named, and nothing is typed": async ({ backend }) => {
    const child = await startAsking(backend, 'read -r line; echo "got $line"');
    const target = paneOf(child);
    const terminal = terminalOf(backend);
    match(await failureOf(terminal.sendKeys({ target, text: "lost", keys: ["C-c", "NoSuchKey"] })), /NoSuchKey/);
    match(await failureOf(terminal.sendKeys({ target: "%99999", text: "lost", enter: true })), /%99999/);
    match(await failureOf(terminal.sendKeys({ target: "no-such-session:9.9", text: "lost" })), /no-such-session/);
    await terminal.sendKeys({ target, text: "kept", enter: true });
    await soon("it ends", child.exit);
    equal(await textOf(child), "ready\ngot kept\n");
  },

  "at the prompt it is typed into the shell, and cleared before the next command": async ({ backend, sh }) => {
    await sh("true");
    const word = fresh();
    const { pane } = await terminalOf(backend).sendKeys({ text: `echo ${word}-$((1 + 1))`, enter: true });
    await shows(backend, new RegExp(`^${word}-2`, "m"), pane);
    await terminalOf(backend).sendKeys({ text: `exit 1; half-${word}` });
    await until("it is typed", async () => (await screenOf(backend, pane)).includes(`half-${word}`));
    equal((await sh("echo clean")).output, "clean\n");
  },
};

/**
 * Echoes what is typed. Not `cat`: that of busybox uses sendfile from the terminal into the pipe, which blocks the
 * pipe for others until a line has been typed, so "ready" might not arrive earlier.
 */
const ECHOING = "while IFS= read -r line; do printf '%s\\n' \"$line\"; done";
