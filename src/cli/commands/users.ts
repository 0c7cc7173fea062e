import { browsersFolder, stateFolder, usersFile } from "../../app/config/state.ts";
import { browserSessions } from "../../serve/browser-sessions.ts";
import { scopesOf, usersIn } from "../../serve/users.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { say } from "../say.ts";
import type { Io } from "../io.ts";
import type { GlobalOptions } from "../options.ts";

/** The commands of `handrail users`. */
export const run = { list, add, remove };

/** Lists the users: a line each, with their scopes. */
async function list({ io }: GlobalOptions): Promise<void> {
  const kept = usersIn(usersFile(io.env));
  kept.requireNoTenants();
  const users = kept.list();
  if (users.length === 0) return say(io, "There are no users; the token of the API may do everything.");
  for (const { name, scopes, risk } of users) {
    const words = scopes.map((scope) => (scope === "answer" ? `answer up to ${risk} risk` : scope));
    say(io, `${oneLine(name, 60)}  ${words.join(", ")}`);
  }
}

/**
 * Adds a user, or gives an existing one these scopes and a new token. Prints the token, once.
 *
 * @throws Error for a name or a scope that cannot be.
 */
async function add(
  name: string,
  { scopes = "watch", io }: GlobalOptions & { readonly scopes?: string },
): Promise<void> {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,59}$/u.test(name))
    throw new Error(
      `${JSON.stringify(name)} is no name: expected up to 60 letters, digits, spaces, ".", "_", "@", "-"`,
    );
  say(io, await usersIn(usersFile(io.env)).set({ name, ...scopesOf(scopes) }));
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
