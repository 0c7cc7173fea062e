import { browsersFolder, stateFolder, usersFile } from "../../config/state.ts";
import { browserSessions } from "../../console/browser-sessions.ts";
import { scopesOf, usersIn } from "../../console/users.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { say } from "../say.ts";

/** The commands of `handrail users`. */
export const run = { list, add, remove };

/** Lists the users: a line each, with their scopes. */
async function list(): Promise<void> {
  const users = usersIn(usersFile()).list();
  if (users.length === 0) return say("There are no users; the token of the API may do everything.");
  for (const { name, scopes, risk } of users) {
    const words = scopes.map((scope) => (scope === "answer" ? `answer up to ${risk} risk` : scope));
    say(`${oneLine(name, 60)}  ${words.join(", ")}`);
  }
}

/**
 * Adds a user, or gives an existing one these scopes and a new token. Prints the token, once.
 *
 * @throws Error for a name or a scope that cannot be.
 */
async function add(name: string, { scopes = "watch" }: { readonly scopes?: string }): Promise<void> {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,59}$/u.test(name))
    throw new Error(
      `${JSON.stringify(name)} is no name: expected up to 60 letters, digits, spaces, ".", "_", "@", "-"`,
    );
  say(await usersIn(usersFile()).set({ name, ...scopesOf(scopes) }));
}

/**
 * Removes a user, and ends the sessions of their browsers with all open pages.
 *
 * @throws Error when there is no such user.
 */
async function remove(name: string): Promise<void> {
  const sessions = browserSessions(browsersFolder(stateFolder()));
  const theirs = (await sessions.list()).filter(({ user }) => user === name);
  if (!(await usersIn(usersFile()).remove(name))) throw new Error(`there is no user ${oneLine(name, 60)}`);
  await Promise.all(theirs.map(({ id }) => sessions.revoke(id)));
  say(`${name} is removed.`);
}
