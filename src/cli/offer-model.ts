import { KEY_PROVIDERS, type NoModel, PROVIDERS } from "../agent/models/load.ts";
import { messageOf } from "../core/util/errors.ts";
import { wrapped } from "./chat/wrap.ts";
import { askForKey, keepKey, localOllama } from "./keys.ts";
import { say } from "./say.ts";
import { lineOnTerminal } from "./terminal.ts";
import type { Io } from "./io.ts";

/** The choice of a person who had no model: the model to use, or that of the options, whose key is now kept. */
export type ChosenModel = { readonly model?: string };

/**
 * Says on the terminal what is missing, and offers to keep a key, to use a local Ollama, and the demo. Resolves to
 * `undefined` when the person wants none of them.
 */
export async function offerModel(io: Io, { missing, provider }: NoModel): Promise<ChosenModel | undefined> {
  const [local] = (await localOllama(io)).models ?? [];
  const choices = [
    ["k", `take a key${provider === undefined ? "" : ` of ${provider}`} now and keep it`],
    ...(local === undefined ? [] : [["o", `use ollama:${local}`]]),
    ["d", "start the demo: a script that uses the real tools"],
    ["q", "leave"],
  ];
  for (const line of [missing, ...choices.map((choice) => `  ${choice.join("  ")}`)])
    for (const row of wrapped(line, io.stdout.columns ?? 80, /^ +\S {2}/.exec(line)?.[0] ?? "")) say(io, row);
  const question = `${choices.map(([key]) => key).join(", ")}? `;
  for (;;) {
    const answer = await ask(io, question);
    if (answer === undefined || answer === "q") return undefined;
    if (answer === "d") return { model: "demo" };
    if (answer === "o" && local !== undefined) return { model: `ollama:${local}` };
    if (answer !== "k") continue;
    const kept = await takeKey(io, provider).catch((error: unknown) => {
      say(
        io,
        `${messageOf(error)}.`.replace(/^./, (first) => first.toUpperCase()),
      );
      return undefined;
    });
    if (kept !== undefined) return kept;
  }
}

async function takeKey(io: Io, missing: string | undefined): Promise<ChosenModel | undefined> {
  const names = KEY_PROVIDERS.filter((name) => PROVIDERS[name]?.usual !== undefined);
  const provider = missing ?? (await ask(io, `Of ${names.join(", ")}? `));
  if (provider === undefined) return undefined;
  if (!KEY_PROVIDERS.includes(provider)) throw new Error(`expected one of ${names.join(", ")}, got "${provider}"`);
  say(io, await keepKey(io, provider, await askForKey(io, provider), undefined));
  return missing === undefined ? { model: `${provider}:${PROVIDERS[provider]?.usual}` } : {};
}

async function ask(io: Io, question: string): Promise<string | undefined> {
  const answer = await lineOnTerminal(io, question, new AbortController().signal);
  return typeof answer === "string" ? undefined : answer.line.trim().toLowerCase();
}
