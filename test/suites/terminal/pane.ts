import { fail, ok } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Backend, Process, Terminal } from "../../../src/core/contract/backend.ts";
import { inShell, soon, until } from "../backend/scene.ts";

/** The backend's terminal, which it must have. */
export function terminalOf({ terminal }: Pick<Backend, "terminal">): Terminal {
  return terminal ?? fail("expected a backend with a terminal");
}

/** The text that a pane shows and has shown. Default: the pane where commands run. */
export async function screenOf(backend: Backend, target?: string): Promise<string> {
  return (await terminalOf(backend).capture({ start: "-", ...(target !== undefined && { target }) })).text;
}

/** Resolves when the pane shows this. */
export async function shows(backend: Backend, what: RegExp, target?: string): Promise<void> {
  let last = "";
  try {
    await until("the pane shows it", async () => {
      last = await screenOf(backend, target);
      return what.test(last);
    });
  } catch {
    fail(`expected the pane to show ${what}, and it shows:\n${last.slice(-2_000)}`);
  }
}

/** A word that is not on the screen yet. */
export function fresh(): string {
  return `w${randomUUID().slice(0, 8)}`;
}

/** Starts a script whose stdin is the terminal. Resolves when it has printed "ready", and that output is kept. */
export async function startAsking(backend: Backend, script: string): Promise<Process> {
  const child = await backend.spawn(inShell(`echo ready; ${script}`, { stdin: "terminal" }));
  await soon("it runs", child.output.grown(0));
  return child;
}

/** The pane of a process, as "%3". */
export function paneOf({ place = "" }: Process): string {
  const [, pane] = /^pane (%\d+)$/.exec(place) ?? [];
  ok(pane !== undefined, `expected a place as "pane %1", got ${JSON.stringify(place)}`);
  return pane;
}
