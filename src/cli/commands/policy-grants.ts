import { oneLine } from "../../core/output/terminal-text.ts";
import { type KeptGrants, type Workspace, keptGrants } from "../../policy/kept-grants.ts";
import { grantsFolder, stateFolder } from "../../app/config/state.ts";
import { localTime } from "../local-time.ts";
import type { Io } from "../io.ts";
import type { GlobalOptions } from "../options.ts";
import { say, sayJson } from "../say.ts";

/** The commands of `handrail policy grants`. */
export const run = { list: listGrants, revoke: revokeGrants };

/**
 * Lists the permanent grants of all workspaces: a line each, or with `json` `[{id, label, workspace, since, until}]`.
 */
async function listGrants({ json, io }: GlobalOptions & { readonly json?: true }): Promise<void> {
  const grants = await ours(io).list();
  if (json) {
    const listed = grants.map(({ id, label, workspace, since, until }) => ({
      id,
      label,
      workspace: shownWorkspace(workspace),
      since: isoTime(since),
      until: until === undefined ? null : isoTime(until),
    }));
    return sayJson(io, listed);
  }
  if (grants.length === 0) return say(io, "There are no permanent grants.");
  for (const { id, label, workspace, since, until } of grants) {
    const ends = until === undefined ? "" : `, until ${localTime(until)}`;
    say(io, `${id}  ${oneLine(label, Infinity)}`);
    say(io, `${" ".repeat(18)}in ${oneLine(shownWorkspace(workspace), 1_000)}, since ${localTime(since)}${ends}`);
  }
}

/**
 * Revokes one grant, or with `all` every grant. Later calls are asked about again.
 *
 * @throws Error when no grant has this id.
 */
async function revokeGrants(
  id: string | undefined,
  { all, io }: GlobalOptions & { readonly all?: true },
): Promise<void> {
  if ((id === undefined) === (all === undefined)) {
    throw new Error("name the id of a grant (handrail policy grants lists them), or give --all");
  }
  const grants = ours(io);
  const ids = id === undefined ? (await grants.list()).map((grant) => grant.id) : [id];
  const revoked = await Promise.all(ids.map((each) => grants.revoke(each)));
  if (id === undefined) return say(io, `${revoked.filter(Boolean).length} revoked.`);
  if (revoked[0] === true) return say(io, `${id} is revoked.`);
  throw new Error(`there is no grant ${oneLine(id, 100)}. \`handrail policy grants\` lists them`);
}

function ours({ env }: Io): KeptGrants {
  return keptGrants(grantsFolder(stateFolder(env)));
}

function shownWorkspace({ backend, folder }: Workspace): string {
  return /^(sandbox\(local\)|local)$/.test(backend) ? folder : `${backend}:${folder}`;
}

function isoTime(milliseconds: number): string {
  return Number.isFinite(milliseconds) && Math.abs(milliseconds) < 8.64e15
    ? new Date(milliseconds).toISOString()
    : String(milliseconds);
}
