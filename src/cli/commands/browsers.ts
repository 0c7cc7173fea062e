import { browsersFolder, stateFolder } from "../../app/config/state.ts";
import { type BrowserSessions, browserSessions } from "../../serve/browser-sessions.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { localTime } from "../local-time.ts";
import type { GlobalOptions } from "../options.ts";
import { say, sayJson } from "../say.ts";
import type { Io } from "../io.ts";

/** The commands of `handrail browsers`. */
export const run = { list: listBrowsers, revoke: revokeBrowsers };

/**
 * Lists the sessions of browsers and phones: a line each, or with `json` `[BrowserSession]`, with times in milliseconds
 * since 1970.
 */
async function listBrowsers({ io, json }: GlobalOptions & { readonly json?: true }): Promise<void> {
  const sessions = await ours(io).list();
  if (json) return sayJson(io, sessions);
  if (sessions.length === 0) return say(io, "No browser has a session. Open the address that `handrail serve` prints.");
  for (const { id, kind, name, createdMs, usedMs, address } of sessions) {
    const used = `last used ${localTime(usedMs)} from ${oneLine(address, 100)}`;
    say(io, `${id}  ${kind} ${oneLine(name, 100)}, since ${localTime(createdMs)}, ${used}`);
  }
}

/**
 * Ends one session, or with `all` every session. Its open pages stop.
 *
 * @throws Error when no session has this id.
 */
async function revokeBrowsers(
  id: string | undefined,
  { io, all }: GlobalOptions & { readonly all?: true },
): Promise<void> {
  if ((id === undefined) === (all === undefined)) {
    throw new Error("name the id of a session (handrail browsers lists them), or give --all");
  }
  const sessions = ours(io);
  const ids = id === undefined ? (await sessions.list()).map((each) => each.id) : [id];
  const revoked = await Promise.all(ids.map((each) => sessions.revoke(each)));
  if (id === undefined) return say(io, `${revoked.filter(Boolean).length} revoked.`);
  if (revoked[0] === true) return say(io, `${id} is revoked.`);
  throw new Error(`there is no session ${oneLine(id, 100)}. \`handrail browsers\` lists them`);
}

function ours(io: Io): BrowserSessions {
  return browserSessions(browsersFolder(stateFolder(io.env)));
}
