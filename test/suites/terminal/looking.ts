import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { type Cases, failureOf, until } from "../backend/scene.ts";
import { fresh, paneOf, shows, startAsking, terminalOf } from "./pane.ts";

/** `capture`. */
export const looking: Cases = {
  "it shows the pane where commands run, or the named one": async ({ backend }) => {
    const word = fresh();
    const child = await backend.spawn({ argv: ["echo", word] });
    await child.exit;
    await shows(backend, new RegExp(`^${word}$`, "m"));
    const own = await terminalOf(backend).capture();
    equal(own.pane, paneOf(child));
    equal((await terminalOf(backend).capture({ target: own.pane })).pane, own.pane);
    match(await failureOf(terminalOf(backend).capture({ target: "%99999" })), /%99999/);
  },

  "it shows what is visible, or from and to a line of the history": async ({ backend, sh }) => {
    const word = fresh();
    const { output } = await sh(`i=0; while [ $i -lt 300 ]; do echo ${word}-$i; i=$((i + 1)); done`);
    ok(output.endsWith("-299\n"));
    await shows(backend, new RegExp(`^${word}-299$`, "m"));
    const { capture } = terminalOf(backend);
    const visible = (await capture()).text;
    ok(visible.includes(`${word}-299\n`) && !visible.includes(`${word}-0\n`));
    ok((await capture({ start: "-" })).text.includes(`${word}-0\n`));
    const lines = (await capture({ start: "-5", end: "-1" })).text.trimEnd().split("\n");
    equal(lines.length, 5);
    equal((await capture({ start: "0", end: "-" })).text.trimEnd(), visible.trimEnd());
  },

  "wrapped lines are joined unless disabled": async ({ backend, sh }) => {
    const word = fresh();
    await sh(`printf '%s%0700d%s\\n' ${word} 0 ${word}`);
    const long = new RegExp(`^${word}0{700}${word}$`, "m");
    await shows(backend, long);
    doesNotMatch((await terminalOf(backend).capture({ start: "-", joinWrappedLines: false })).text, long);
  },

  "trailing spaces are dropped unless requested": async ({ backend, sh }) => {
    const word = fresh();
    await sh(`printf '%s     \\n.\\n' ${word}`);
    await shows(backend, new RegExp(`^${word}$`, "m"));
    const kept = await terminalOf(backend).capture({ start: "-", preserveTrailingSpaces: true });
    match(kept.text, new RegExp(`^${word} {5}`, "m"));
  },

  "colours are dropped unless requested": async ({ backend, sh }) => {
    const word = fresh();
    await sh(`printf '\\033[31m%s\\033[m\\n' ${word}`);
    await shows(backend, new RegExp(`^${word}$`, "m"));
    const { capture } = terminalOf(backend);
    match((await capture({ start: "-", includeEscapeSequences: true })).text, new RegExp(`\\u001b\\[31m${word}`));
    const octal = await capture({ start: "-", includeEscapeSequences: true, escapeNonPrintable: true });
    match(octal.text, new RegExp(`\\\\033\\[31m${word}`));
    ok(!octal.text.includes("\u001b"));
  },

  "a full-screen program has an alternate screen; without one this is reported": async ({ backend }) => {
    const word = fresh();
    const child = await startAsking(backend, `echo ${word}; printf '\\033[?1049h\\033[Hfull-%s' ${word}; read -r line`);
    const target = paneOf(child);
    const { capture } = terminalOf(backend);
    await until("it fills the screen", async () => (await capture({ target })).text.includes(`full-${word}`));
    const beneath = await capture({ target, includeAlternateScreen: true });
    deepEqual([beneath.noAlternateScreen, beneath.text.includes(`full-${word}`)], [false, false]);
    match(beneath.text, new RegExp(`^${word}$`, "m"));
    await child.write("\n");
    await child.exit;
    await until("there is one screen again", async () => !(await capture({ target })).text.includes(`full-${word}`));
    const main = await capture({ target, includeAlternateScreen: true });
    deepEqual([main.noAlternateScreen, main.pane], [true, target]);
  },

  "the command to attach is given": async ({ backend }) => {
    match(terminalOf(backend).attach, /\S/);
  },
};
