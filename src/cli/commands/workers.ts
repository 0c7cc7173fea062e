import { PRESENT_MS } from "../../core/contract/worker.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { plural } from "../../core/util/text.ts";
import type { GlobalOptions } from "../options.ts";
import { say, sayJson } from "../say.ts";
import { withStore } from "../settings.ts";

/** Lists the workers that have reported, with what they do. */
export async function run({ json = false, ...options }: GlobalOptions & { readonly json?: boolean }): Promise<void> {
  await withStore(options, async (store) => {
    const workers = (await store.workers?.list()) ?? [];
    if (json) return sayJson(options.io, workers, 2);
    if (workers.length === 0) return say(options.io, "no workers; start one: handrail worker --name NAME");
    const waiting = new Map<string, number>();
    for (const { target } of await store.parked({ states: ["ready"] })) {
      const [, name = ""] = /^worker:([^#]*)/.exec(target) ?? [];
      waiting.set(name, (waiting.get(name) ?? 0) + 1);
    }
    for (const { id, name, host, pid, workDir, running, concurrency, silentMs } of workers) {
      const heard = `heard ${Math.round(silentMs / 1_000)} s ago${silentMs < PRESENT_MS ? "" : ": gone"}`;
      const calls = `${running} of ${plural(concurrency, "call")}, ${waiting.get(name) ?? 0} waiting`;
      say(options.io, oneLine(`${name} ${id}  ${host}:${pid}  ${calls}, ${heard}  ${workDir}`, 300));
    }
  });
}
