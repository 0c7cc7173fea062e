import { doesNotMatch, equal } from "node:assert/strict";
import { type Cases, UNTIL_GO, inShell } from "../backend/scene.ts";
import { fresh, screenOf, shows } from "./pane.ts";

/** What a watching person sees. */
export const seen: Cases = {
  "a command is shown after the prompt as if a person had typed it, with its output below": async ({ backend, sh }) => {
    const word = fresh();
    await sh(`echo ${word}; exit 3`);
    await shows(backend, new RegExp(`^\\S.* echo ${word}; exit 3\n${word}\n`, "m"));
  },

  "a script of several lines is shown on several lines": async ({ backend, sh }) => {
    const word = fresh();
    await sh(`if true; then\n  echo ${word}\nfi`);
    await shows(backend, new RegExp(`^\\S.* if true; then\n  echo ${word}\nfi\n${word}\n`, "m"));
  },

  "a program with arguments is shown as a shell would read it": async ({ backend, folder }) => {
    const word = fresh();
    const child = await backend.spawn({ argv: ["printf", "%s\\n", `${word} and more`], cwd: folder });
    await child.exit;
    await shows(backend, new RegExp(`^\\S.* printf '%s\\\\n' '${word} and more'\n${word} and more\n`, "m"));
  },

  "streams that are split for a tool are shown together": async ({ backend, sh }) => {
    const word = fresh();
    const { output, errors } = await sh(`echo ${word}; echo not-${word} >&2`, { streams: "split" });
    equal(`${output}${errors}`, `${word}\nnot-${word}\n`);
    await shows(backend, new RegExp(`^${word}\n(?:.*\n)*?not-${word}\n|^not-${word}\n${word}\n`, "m"));
  },

  "nothing of the mechanism is visible": async ({ backend, sh, folder }) => {
    const word = fresh();
    await sh(`cd ${folder}; echo ${word} >${word}; cat ${word}`);
    await shows(backend, new RegExp(`^${word}\n`, "m"));
    doesNotMatch(await screenOf(backend), /HANDRAIL|handrail\.|\bsh \/\S+\/\d+\b|claimed|mkfifo/);
  },

  "a running command is visible": async ({ backend, folder, write }) => {
    const word = fresh();
    const child = await backend.spawn(inShell(`echo ${word}; ${UNTIL_GO}`, { cwd: folder }));
    await shows(backend, new RegExp(`^${word}$`, "m"));
    await write("go", "");
    await child.exit;
  },

  "after a full-screen program, commands continue below the earlier screen": async ({ backend, sh }) => {
    const word = fresh();
    await sh("printf '\\033[2J\\033[H\\033[?1049hfull screen\\033[?1049l'");
    await sh("i=0; while [ $i -lt 60 ]; do echo; i=$((i + 1)); done");
    for (const each of ["one", "two", "three"]) await sh(`echo ${word}-${each}`);
    const stands = ["one", "two", "three"].map((each) => `^\\S.* echo ${word}-${each}\n${word}-${each}\n`).join("");
    await shows(backend, new RegExp(stands.replaceAll("\n^", "\n"), "m"));
  },
};
