import type { ApprovedCall, ToolCall } from "../contract/call.ts";
import { NotReal } from "../contract/failure.ts";
import type { Notices } from "../contract/job.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { ToolResult } from "../contract/result.ts";
import { Stop } from "../util/abort.ts";
import { keepingAlive } from "../util/keeping-alive.ts";
import { approve } from "./approve.ts";
import { check } from "./check.ts";
import { withNotes } from "./edited.ts";
import { execute } from "./execute.ts";
import { fit, fitFailure } from "./fit.ts";
import { hooked, remarked, withRemarks } from "./hooked.ts";
import type { Host } from "./host.ts";
import { recordTo } from "./record.ts";
import { phrased, toResult } from "./result.ts";
import { findTool } from "./toolset.ts";

/**
 * Runs one call through all stages. Never rejects: every ending is a result.
 *
 * @param parked the parked call that is made now, claimed by this process
 */
export function callTool(given: ToolCall, host: Host, stop: Stop, parked?: ParkedCall): Promise<ToolResult> {
  return keepingAlive(throughStages(given, host, stop, parked));
}

async function throughStages(given: ToolCall, host: Host, stop: Stop, parked?: ParkedCall): Promise<ToolResult> {
  const record = recordTo(host, given, parked);
  const request = record.trace === undefined ? given : { ...given, trace: record.trace };
  let approved: ApprovedCall | undefined;
  try {
    const asked = await check(request, host);
    const checked = host.hooks === undefined ? asked : await hooked(asked, host, record, stop);
    if (parked === undefined && host.elsewhere !== undefined) {
      const made = await host.elsewhere.call(checked, host, stop);
      if (made !== undefined) return { ...(await remarked(made, checked, host, record, stop)), id: request.id };
    }
    const nest = (nested: ToolCall) => callNested(nested, host, stop);
    const run = (call: ApprovedCall) => record.within(() => execute(call, host, record, stop, nest));
    const again = async (error: unknown, call: ApprovedCall) => {
      if (!(error instanceof NotReal)) throw error;
      approved = await approve(checked, host, record, stop, { paths: realPathIn(error, call) });
      return run(approved);
    };
    const call = await approve(checked, host, record, stop, parked === undefined ? EXPECTED : { parked });
    approved = call;
    const done = await (call.isExpected === true ? run(call).catch((error: unknown) => again(error, call)) : run(call));
    const fitted = await fit(approved, done, host);
    const content = host.hooks === undefined ? fitted.content : await withRemarks(approved, fitted, host, record, stop);
    const result = withNotes({ id: request.id, status: "ok", content, data: fitted.data }, approved, host);
    return record.finished(result, fitted.images);
  } catch (error) {
    const ended = phrased(toResult(error, stop), findTool(host.tools, request.name));
    const failure = await fitFailure(ended, error, approved, host);
    return record.finished({ ...withNotes(failure, approved, host), id: request.id });
  }
}

/** On a far target, paths are first judged as if they were real. */
const EXPECTED = { paths: "expected" } as const;

/** The real path that the target has reported, by the path that the call names; empty if it names several. */
function realPathIn({ real }: NotReal, { effects }: ApprovedCall): ReadonlyMap<string, string> {
  const [effect, ...others] = effects;
  const isOne = effect?.kind === "read" && others.length === 0;
  return new Map(isOne && real !== undefined ? [[effect.path, real]] : []);
}

/** Runs a call that a tool makes. The call can be stopped alone, and stops when the calling call stops. */
async function callNested(request: ToolCall, host: Host, above: Stop): Promise<ToolResult> {
  const stop = new Stop(above);
  const unwatch = host.watch.call(request, (reason) => stop.abort(reason));
  try {
    return await callTool(request, { ...host, notices: NO_NOTICES, parkAfterMs: undefined }, stop);
  } finally {
    unwatch();
    stop.unlink();
  }
}

/** A nested call carries no notices: its result is read by a tool, and notices are for the model. */
const NO_NOTICES: Notices = { take: () => [] };
