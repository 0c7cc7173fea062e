import { asText } from "../../core/call/result.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { BUILT_IN } from "../../tools/presets/built-in.ts";
import { pause } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { approveAll, terminalApprover } from "../approver.ts";
import type { GlobalOptions } from "../options.ts";
import { keptKeys, tellHowToAttach, toolkitOptions } from "../settings.ts";
import { loadDelegation } from "../delegation.ts";
import { withoutBoundaries } from "../../core/util/boundary.ts";
import { EXIT } from "../exit.ts";
import { progressLine } from "../progress.ts";
import { START_MS, untilStopped } from "../signals.ts";
import { readStdin } from "../stdin.ts";
import { note, sayJson, stream } from "../say.ts";

/** Makes one call. Prints its text, or with `json` the whole result. Exit code 1 when it did not succeed. */
export async function run(
  name: string,
  input: string | undefined,
  options: GlobalOptions & { json?: true },
): Promise<number> {
  const text = input === "-" ? await readStdin(options.io) : (input ?? "");
  const approver = options.yes ? approveAll : terminalApprover(options.io);
  const isForeign = !Object.hasOwn(BUILT_IN, name);
  // The tool's name contains that of its server, so only this server is started.
  const [, server] = /^mcp__(.+?)__/.exec(name) ?? [];
  const sources = server === undefined ? isForeign : `mcp:${server}`;
  const given = await toolkitOptions(options, { sources });
  const delegation = isForeign && server === undefined ? await loadDelegation(options) : undefined;
  const toolkit = await createToolkit({
    ...given,
    mask: { values: [...(await keptKeys(options.io)), ...(delegation?.keys ?? [])] },
    ...(approver !== undefined && { approver }),
    lifetime: "call",
  });
  await tellHowToAttach(options.io, toolkit);
  const progress = progressLine(options.io);
  const stopped = untilStopped(options.io);
  try {
    if (isForeign) await Promise.race([toolkit.ready, pause(START_MS, stopped.signal, { keepsAlive: false })]);
    if (toolkit.tools.get(name)?.touches.includes("fetch") && !(await isModels())) toolkit.hear(text);
    const tools = delegation?.over(toolkit) ?? toolkit;
    const result = await tools.call({ name, input: text }, { signal: stopped.signal, onEvent: progress.show });
    progress.clear();
    if (options.json) sayJson(options.io, result);
    else stream(options.io, ended(withoutBoundaries(asText(result))));
    return result.status === "ok" ? EXIT.ok : EXIT.notSucceeded;
  } finally {
    // The call has ended. A failure to record it is reported, and does not change the exit code.
    await toolkit.close().catch((error: unknown) => note(options.io, `handrail: ${messageOf(error)}`));
    stopped.release();
  }
}

/** Whether a model may have written this command line. Otherwise its URLs are a person's. */
async function isModels(): Promise<boolean> {
  const { isStartedByHandrail } = await import("../../machine/spawner/marks.ts");
  return isStartedByHandrail();
}

function ended(text: string): string {
  return text.endsWith("\n") || text === "" ? text : `${text}\n`;
}
