import { browsersFolder, stateFolder, usersFile } from "../../config/state.ts";
import { browserSessions } from "../../console/browser-sessions.ts";
import { scopesOf, usersIn } from "../../console/users.ts";
import { oneLine } from "../../output/terminal-text.ts";
import type { GlobalOptions } from "../options.ts";
import { say } from "../say.ts";
import { loadedSettings } from "../settings.ts";
import type { Io } from "../io.ts";

/** The commands of `handrail users`. */
export const run = { list, add, remove };

/** Lists the users: a line each, with their scopes. */
async function list({ io }: GlobalOptions): Promise<void> {
  const users = usersIn(usersFile(io.env)).list();
  if (users.length === 0) return say(io, "There are no users; the token of the API may do everything.");
  for (const { name, scopes, risk, tenant } of users) {
    const words = scopes.map((scope) => (scope === "answer" ? `answer up to ${risk} risk` : scope));
    say(io, `${oneLine(name, 60)}  ${words.join(", ")}${tenant === undefined ? "" : `  of ${tenant}`}`);
  }
}

/**
 * Adds a user, or gives an existing one these scopes, this tenant and a new token. Prints the token, once. The browsers
 * of a user who belonged to another tenant lose their sessions.
 *
 * @throws Error for a name, a scope or a tenant that cannot be.
 */
async function add(
  name: string,
  { scopes = "watch", ...options }: GlobalOptions & { readonly scopes?: string },
): Promise<void> {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,59}$/u.test(name))
    throw new Error(
      `${JSON.stringify(name)} is no name: expected up to 60 letters, digits, spaces, ".", "_", "@", "-"`,
    );
  const { tenant } = (await loadedSettings(options)).settings;
  const users = usersIn(usersFile(options.io.env));
  const hasMoved = users.list().some((each) => each.name === name && each.tenant !== tenant);
  const token = await users.set({ name, ...scopesOf(scopes), ...(tenant !== undefined && { tenant }) });
  if (hasMoved) await endSessions(options.io, name);
  say(options.io, token);
}

/**
 * Removes a user, and ends the sessions of their browsers with all open pages.
 *
 * @throws Error when there is no such user.
 */
async function remove(name: string, { io }: GlobalOptions): Promise<void> {
  if (!(await usersIn(usersFile(io.env)).remove(name))) throw new Error(`there is no user ${oneLine(name, 60)}`);
  await endSessions(io, name);
  say(io, `${name} is removed.`);
}

async function endSessions(io: Io, name: string): Promise<void> {
  const sessions = browserSessions(browsersFolder(stateFolder(io.env)));
  const theirs = (await sessions.list()).filter(({ user }) => user === name);
  await Promise.all(theirs.map(({ id }) => sessions.revoke(id)));
}
