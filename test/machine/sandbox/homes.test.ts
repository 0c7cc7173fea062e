// A command with a host sees little of the home. Where the workspace is does not matter: it always sees that.
import { mkdirSync, realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { mustBeHere } from "../../support/here.ts";
import { type World, type WorldOptions, noSandbox, world, worldFolder } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const worlds: World[] = [];
afterAll(() => Promise.all(worlds.map(({ backend }) => backend.close())));

/** Where the workspace is, and homes. Paths below one root. */
const PLACES: readonly (readonly [what: string, place: Required<Pick<WorldOptions, "workDir" | "home">> & Account])[] =
  [
    ["in the home", { workDir: "home/ws", home: "home" }],
    ["deep in the home, below a folder whose content is hidden", { workDir: "home/.config/a/ws", home: "home" }],
    ["the home itself", { workDir: "home", home: "home" }],
    ["above the home", { workDir: "all", home: "all/home" }],
    ["beside the home", { workDir: "ws", home: "home" }],
    ["below a link to the home", { workDir: "link/ws", home: "home" }],
    ["in a home that is a link", { workDir: "home/ws", home: "link" }],
    ["in the account's home, and HOME is another", { workDir: "home/ws", home: "other", account: "home" }],
    ["in HOME, and the account's home is another", { workDir: "home/ws", home: "home", account: "other" }],
    ["in a home, and the account's home is above it", { workDir: "home/ws", home: "home", account: "." }],
    ["in a home of a service, which is a system folder", { workDir: "ws", home: "home", account: "/usr/bin" }],
  ];
interface Account {
  readonly account?: string;
}

describe.skipIf(noSandbox !== undefined)("a workspace", () => {
  test.each(PLACES)("%s is seen by a command with a host: unread, read, and read-only", async (_, place) => {
    const root = worldFolder();
    mkdirSync(join(root, "home"));
    symlinkSync("home", join(root, "link"));
    const { account = place.home } = place;
    const slices: (() => void)[] = [];
    const one = await world({
      root,
      ...place,
      accountHome: account.startsWith("/") ? account : join(root, account),
      search: { patienceMs: 0, later: (slice) => void slices.push(slice) },
      isSensitive: (path) => path.endsWith("/.env"),
    });
    worlds.push(one);
    one.file(join(one.workDir, "a/code.txt"), "code");
    one.file(join(one.workDir, ".env"), "secret");
    one.file(join(one.home, ".cargo/bin/tool"), "tool");
    const kept = one.file(join(one.home, "letters/kept.txt"), "kept");
    const granted = one.file(join(one.home, "granted/file.txt"), "granted");
    symlinkSync(granted, join(one.workDir, "to-granted"));
    const real = (path: string) => realpathSync(path);
    const within = { network: ["example.org"], hideSensitive: true } as const;
    const see = async (more: object = {}) =>
      (
        await one.bash(`pwd; cat a/code.txt .env ${kept} ${one.home}/.cargo/bin/tool to-granted 2>/dev/null; true`, {
          within: { ...within, ...more },
        })
      ).output.split("\n");

    const unread = await see();
    expect(unread[0]).toBe(real(one.workDir));
    expect(unread[1]).toContain("tool");
    expect(unread[1]).not.toMatch(/secret|kept/);

    while (slices.length > 0) slices.shift()?.();
    const isOpen = real(one.home).startsWith(real(one.workDir)); // the workspace is seen as a whole
    const shown = `code${isOpen ? "kept" : ""}tool`;
    expect((await see())[1]).toBe(isOpen ? `${shown}granted` : shown);
    expect((await see({ readOnly: true }))[1]).toBe(isOpen ? `${shown}granted` : shown);
    expect((await see({ read: [real(granted)] }))[1]).toBe(`${shown}granted`);
    const write = [join(real(one.home), "granted")];
    await see({ write }); // the folder is read too
    while (slices.length > 0) slices.shift()?.();
    const script = `echo more >>${real(granted)} && echo x >a/new && cat a/new`;
    expect((await one.bash(script, { within: { ...within, write } })).output).toBe("x\n");
  });
});
