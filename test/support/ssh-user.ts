// The users that tests log in as over ssh.
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { withLockAsync } from "../../scripts/lib/lock.mjs";
import { output } from "./ended.ts";
import { installed } from "./here.ts";
import { keep, keptFolder } from "./watcher.ts";

export type LoginShell = "bash" | "dash" | "busybox" | "zsh";

export interface User {
  readonly name: string;
  readonly home: string;
  /** A file: the holder of a key in it may log in. */
  readonly authorizedKeysFile: string;
  /** Writes the one public key that is accepted. */
  authorize(publicKey: string): void;
  /** Writes a file of the user, with its folders: `write(".profile", "…")`. */
  write(path: string, content: string): void;
  remove(): Promise<void>;
}

/**
 * An ordinary user with the system's usual home. When the user is removed (`remove`, or at the end of the run), so are
 * all of their processes, and their home.
 */
export async function ownUser(loginShell: LoginShell): Promise<User> {
  const name = `handrail-test-${randomBytes(4).toString("hex")}`;
  const home = `/home/${name}`;
  const folder = keptFolder("ssh-user");
  const kept = await keep({
    folder,
    // -1 means every process that they may signal: all of theirs, at once. Then their name can be removed.
    end: `setpriv --reuid "$user" --clear-groups sh -c 'kill -KILL -1'; userdel --force --remove "$user"`,
    env: { user: name },
  });
  const shell = loginShell === "busybox" ? `${home}/.ssh/ash` : (installed(loginShell) ?? loginShell);
  // Without a password, but not locked: sshd rejects locked users, whatever their key.
  const account = ["--create-home", "--home-dir", home, "--shell", shell, "--password", "*"];
  await withLockAsync("users of the system", () => output(["useradd", ...account, name]));
  const uid = Number(await output(["id", "-u", name]));
  const gid = Number(await output(["id", "-g", name]));
  const ssh = join(home, ".ssh");
  mkdirSync(ssh, { mode: 0o700 });
  chownSync(ssh, uid, gid);
  if (loginShell === "busybox") symlinkSync(installed("busybox") ?? "busybox", shell);
  const write = (path: string, content: string) => {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    chownSync(file, uid, gid);
  };
  return {
    name,
    home,
    authorizedKeysFile: join(ssh, "authorized_keys"),
    authorize: (publicKey) => write(".ssh/authorized_keys", publicKey),
    write,
    remove: () => kept.release(),
  };
}

/** The user who runs the tests. Nothing in their home is changed. */
export function currentUser(): User {
  const folder = keptFolder("ssh-user");
  chmodSync(folder, 0o700);
  const authorizedKeysFile = join(folder, "authorized_keys");
  return {
    name: userInfo().username,
    home: userInfo().homedir, // sshd ignores $HOME
    authorizedKeysFile,
    authorize: (publicKey) => writeFileSync(authorizedKeysFile, publicKey),
    write(path) {
      throw new Error(`${path} would be written into the home of who runs the tests`);
    },
    remove: async () => undefined,
  };
}
