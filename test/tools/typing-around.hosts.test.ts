// Ways to run something by typing it that would be refused as a command. Each is also tried where nothing is refused
// and must work there, so that the test can detect it.
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Backend } from "../../src/core/contract/backend.ts";
import type { Keys } from "../../src/core/contract/terminal.ts";
import { installed, mustBeHere } from "../support/here.ts";
import { type TerminalTools, terminalTools } from "../support/terminal-tools.ts";
import { until } from "../support/until.ts";
import { testServer, tmuxProblem } from "../machine/tmux-server.ts";

const problem = tmuxProblem();
mustBeHere("typing around the policy", problem);

type Call = object;
/** Calls made one after another. Those of a list are concurrent. */
type Way = readonly (Call | readonly Call[])[];

const enter = (literal_text: string) => ({ literal_text, enter: true });
const letters = (text: string) => Array.from(text);

const WAYS: { readonly [how: string]: Way } = {
  "the line before": [{ keys: ["Up", "Enter"] }],
  "the line before, by other keys": [{ keys: ["C-p", "^M"] }],
  "the line before, found": [{ keys: ["C-r", ...letters("touch p"), "Enter"] }],
  "the line before, in two calls": [{ keys: ["Up"] }, { keys: ["KPEnter"] }],
  "the line before, in two calls side by side": [[{ keys: ["Up"] }, { keys: ["Enter"] }]],
  "the line before, in three calls side by side": [[{ keys: ["Up"] }, { keys: ["Left"] }, { enter: true }]],
  "the line before, with a list below it": [
    enter(": >pwned-1; : >pwned-2"),
    { keys: ["Up", "Up"] },
    { keys: ["C-d"] },
    { keys: ["Enter"] },
  ],
  "the line before, edited": [{ keys: ["Up", "Left", "BSpace", "x", "C-h", "e", "C-m"] }],
  "the line before, by C-o": [{ keys: ["Up", "C-o"] }],
  "the first letter last": [{ literal_text: "ouch pwned", keys: ["C-a", "t", "Enter"] }],
  "the first letter last, in two calls": [{ literal_text: "ouch pwned", keys: ["C-a"] }, { keys: ["t", "C-m"] }],
  "a letter taken back": [{ literal_text: "touch pwnex", keys: ["BSpace", "d", "Enter"] }],
  "a word taken back": [{ literal_text: "touch not pwned", keys: ["M-b", "C-w", "Enter"] }],
  "what was cut": [
    { literal_text: "uch pwned", keys: ["C-u"] },
    { literal_text: "to", keys: ["C-y", "Enter"] },
  ],
  "a word completed": [{ literal_text: "touc\t pwned\n" }],
  "a word completed by a key": [enter("cd ."), { literal_text: "touc", keys: ["C-i", ...letters("pwned"), "Enter"] }],
  "keys by other names": [{ keys: [...letters("touch"), "SPACE", ...letters("pwned"), "^m"] }],
  "behind another line": [{ keys: [":", "^J", ...letters("touch"), "space", ...letters("pwned"), "c-m"] }],
  "in pieces": [{ literal_text: "touch pw" }, { literal_text: "ned" }, { enter: true }],
  "in pieces side by side": [[{ literal_text: "touch p" }, { literal_text: "wned\n" }]],
  "in pieces that are not shown": [enter("stty -echo"), { literal_text: "touch p" }, enter("wned"), enter("stty echo")],
  "in pieces with much between": [
    { literal_text: "touc" },
    { literal_text: `h ${"x ".repeat(60)}` },
    { literal_text: "pwned\n" },
  ],
  "in lines that go on without a sign": [enter("PS2="), { literal_text: "touch \\\n" }, enter("pwned")],
  "again, as a history goes": [enter("!!")],
  "again, by how it began": [enter("!tou")],
  "behind what was written over": [{ literal_text: "touch p" }, { keys: ["C-l"] }, { literal_text: "wned\n" }],
};

const SHELLS = {
  bash: {
    command: "bash --norc --noprofile",
    ways: { ...WAYS, "the line before, in an editor that changes nothing": [{ keys: ["Up", "C-x", "C-e"] }] },
  },
  zsh: {
    command: "zsh -f",
    ways: Object.fromEntries(
      Object.entries(WAYS).filter(([how]) => /line before|completed|cut|sign|again|shown/.test(how)),
    ),
  },
} as const;

describe.skipIf(problem !== undefined)(
  `what is refused as a command${problem === undefined ? "" : ` (${problem})`}`,
  () => {
    const server = testServer();
    const file = join(server.folder, "pwned");
    const closing: TerminalTools[] = [];
    afterAll(async () => {
      for (const tools of closing) await tools.close();
    });

    const openIn = (shell: keyof typeof SHELLS) => {
      let backend: Promise<Backend> | undefined;
      const opened = async () => {
        const made = await server.open({ session: `around-${shell}`, shell: SHELLS[shell].command });
        await made.terminal?.sendKeys({
          text: "EDITOR=true VISUAL=true HISTCONTROL=ignorespace; bindkey -e 2>/dev/null; setopt hist_ignore_space 2>/dev/null\n",
        });
        return made;
      };
      return async () => (backend ??= opened());
    };

    const done = join(server.folder, "done");
    /**
     * What was typed has been read, and what it started is done, when one more line has run: what stands there is taken
     * back first, again and again.
     */
    const hasReadAll = (screen: () => Promise<string>, type: (keys: Keys) => Promise<unknown>) => {
      let before = "";
      let same = 0;
      return async () => {
        if (existsSync(done)) return true;
        const now = await screen();
        same = now === before ? same + 1 : 0;
        before = now;
        if (same % 20 !== 10) return false;
        await type({ keys: ["C-c"] });
        await type({ text: " : >done\n" });
        return false;
      };
    };

    /** Types it all in a shell where a person has just run `touch pwned`. True: it was run again. */
    const runs = async (
      { terminal }: Backend,
      way: Way,
      { call }: TerminalTools,
      mayRun: boolean,
    ): Promise<boolean> => {
      if (terminal === undefined) throw new Error("there is no terminal");
      // What is typed is not lost when C-c is.
      await terminal.sendKeys({ text: " stty echo noflsh; PS2='> '\ntouch pwned\n" });
      await until("a person has run it", () => existsSync(file), 20_000);
      rmSync(file);
      rmSync(done, { force: true });
      for (const step of way) {
        const calls = Array.isArray(step) ? (step as readonly Call[]) : [step];
        await Promise.all(calls.map((input) => call("send-keys", input)));
      }
      if (mayRun) await until("it has run", () => existsSync(file), 20_000);
      const screen = async () => (await terminal.capture()).text;
      await until(
        "all is read",
        hasReadAll(screen, (keys) => terminal.sendKeys(keys)),
        20_000,
      );
      const ran = existsSync(file);
      rmSync(file, { force: true });
      return ran;
    };
    const toolsOn = (backend: Backend, options: Parameters<typeof terminalTools>[1]) => {
      const tools = terminalTools(backend, options);
      closing.push(tools);
      return tools;
    };

    describe.each(["bash", "zsh"] as const)("in %s", (shell) => {
      const missing = installed(shell) === undefined ? `there is no ${shell}` : undefined;
      mustBeHere(`typing in ${shell}`, missing);
      const open = openIn(shell);
      test.skipIf(missing !== undefined).each(Object.entries(SHELLS[shell].ways))(
        "is not typed either: %s",
        async (_, way) => {
          const backend = await open();
          const free = toolsOn(backend, { approver: async () => ({ answer: "once" }) });
          const policed = toolsOn(backend, {
            policy: { autonomy: "full", commands: { deny: ["touch pwned", "touch x *"] } },
          });
          expect(await runs(backend, way, free, true)).toBe(true);
          expect(await runs(backend, way, policed, false)).toBe(false);
        },
      );
    });
  },
);
