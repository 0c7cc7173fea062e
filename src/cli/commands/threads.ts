import { type ThreadMessage, followThread, readThread } from "../../record/activity/messages.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { localTime } from "../local-time.ts";
import type { GlobalOptions } from "../options.ts";
import { withStore } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { type ExportFormat, exportThread } from "../export.ts";
import { say, sayJson, write } from "../say.ts";

/** The commands of `handrail threads`. */
export const run = {
  list: listThreads,
  show: showThread,
  follow: (thread: string, options: Options) => showThread(thread, { ...options, follow: true }),
  export: printThread,
};

type Options = GlobalOptions & { readonly json?: true };

/** Lists the threads of all processes: a line each, or with `json` each `ThreadSummary` as a line. */
async function listThreads({ json, ...options }: Options): Promise<void> {
  await withStore(options, async (store) => {
    const all = await store.threads();
    if (all.length === 0 && !json) say(options.io, "(no threads)");
    for (const each of all) {
      const { thread, changedMs, title = "", target, workDir = "" } = each;
      const place = target === undefined ? "" : `  (${oneLine(`${target}:${workDir}`, 100)})`;
      const words = title === "" ? "" : `  ${oneLine(title, 80)}`;
      if (json) sayJson(options.io, each);
      else say(options.io, `${oneLine(thread, 100)}  ${minuteOf(changedMs)}${words}${place}`);
    }
  });
}

/**
 * Prints a whole thread as Markdown, HTML or JSON.
 *
 * @throws ToolFailure when there is no such thread.
 */
async function printThread(
  thread: string,
  { format = "md", ...options }: GlobalOptions & { readonly format?: ExportFormat },
): Promise<void> {
  await withStore(options, async (store) => {
    const found = (await store.threads()).find((each) => each.thread === thread);
    if (found === undefined) throw noThread(thread);
    await write(options.io, await exportThread(store, found, format));
  });
}

function noThread(thread: string): ToolFailure {
  return new ToolFailure(`there is no thread ${thread}`, { hint: "`handrail threads` lists them." });
}

/**
 * Shows the messages of a thread: a line each, or with `json` each `ThreadMessage` as a line. With `follow`, continues
 * with new and changed messages until it is stopped.
 *
 * @throws ToolFailure when there is no such thread.
 */
async function showThread(
  thread: string,
  { json, follow = false, ...options }: Options & { readonly follow?: boolean },
): Promise<void> {
  const show = (message: ThreadMessage) => (json ? sayJson(options.io, message) : say(options.io, lineOf(message)));
  await withStore(options, async (store) => {
    if (!(await store.threads()).some((each) => each.thread === thread)) throw noThread(thread);
    if (!follow) return (await readThread(store, thread)).forEach(show);
    const stopped = untilStopped(options.io);
    try {
      for await (const message of followThread(store, thread, { signal: stopped.signal })) show(message);
    } finally {
      stopped.release();
    }
  });
}

/** A message as one line for people. */
export function lineOf(message: ThreadMessage): string {
  const at = minuteOf(message.at).slice(11);
  if (message.role !== "tool") {
    const who = message.role === "assistant" ? "model" : message.from;
    const texts = message.content.flatMap((part) =>
      "text" in part ? [part.text] : part.type === "call" ? [] : ["[image]"],
    );
    return `${at}  ${who}: ${oneLine(texts.join(" "), 300)}`;
  }
  const { name, input, status, display_message: doing, error } = message.metadata.tool_activity;
  const state =
    message.question === undefined ? (message.result ?? status) : `waiting for an answer (${message.question})`;
  const more = error ?? doing;
  return (
    `${at}  ${oneLine(name, 100)} ${oneLine(JSON.stringify(input), 160)}: ` +
    `${state}${more === undefined ? "" : `, ${oneLine(more, 200)}`}`
  );
}

function minuteOf(milliseconds: number): string {
  return localTime(milliseconds).slice(0, 16);
}
